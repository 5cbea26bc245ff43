//! Loads the settings: all tables in one round trip.

use super::{CheckOutLock, CirculationSettings, Features, FeeSettings, TitleLevelRequests};
use crate::patron_blocks::{Block, GIVEN_BLOCKS};
use crate::patron_notices::NoticePolicies;
use carrel_circulation_rules::Rules;
use carrel_loan_rules::loan_policy::LoanPolicy;
use carrel_loan_rules::opening_hours::{Calendar, ServicePointHours};
use carrel_platform::database::Results;
use carrel_platform::{Json, Pipeline, Tenant, Tx};
use carrel_records::Failure;
use jiff::tz::TimeZone;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// The tables that the settings are read from. A change of any of them increments the settings version.
pub const TABLES: &[&str] = &[
    "circulation_rules",
    "loan_policy",
    "fixed_due_date_schedule",
    "request_policy",
    "patron_notice_policy",
    "overdue_fine_policy",
    "lost_item_fee_policy",
    "owners",
    "feefines",
    "location",
    "locinstitution",
    "loccampus",
    "loclibrary",
    "service_point",
    "material_type",
    "loan_type",
    "groups",
    "departments",
    "addresstype",
    "cancellation_reason",
    "patron_block_conditions",
    "patron_block_limits",
    "calendars",
    "circulation_settings",
    "settings",
    "locale",
    "config_data",
    "stand_in",
];

/// Reads the settings and their version; within a transaction if one is given.
pub async fn load(tenant: &Tenant, tx: Option<&mut Tx>) -> Result<(i64, CirculationSettings), Failure> {
    let mut pipeline = Pipeline::new();
    // Read first: all tables read after it are at least as new.
    let settings_version = pipeline.add("SELECT value FROM settings_version WHERE id = 1", vec![]);
    let mut select = |table: &str, condition: &str| {
        debug_assert!(TABLES.contains(&table), "{table} is cached and does not move the settings version");
        pipeline.add(format!("SELECT doc, id FROM {table} WHERE {condition}"), vec![])
    };
    let settings =
        select("settings", "doc->>'scope' IN ('mod-circulation', 'circulation') AND doc->>'userId' IS NULL");
    let older = select(
        "config_data",
        "doc->>'module' IN ('ORG', 'SETTINGS', 'CHECKOUT', 'LOAN_HISTORY', 'NOTIFICATION_SCHEDULER')
           AND coalesce((doc->>'enabled')::boolean, true) AND doc->>'userId' IS NULL",
    );
    let mut table = |name: &str| select(name, "true");
    let rules = table("circulation_rules");
    let loan_policies = table("loan_policy");
    let schedules = table("fixed_due_date_schedule");
    let request_policies = table("request_policy");
    let notice_policies = table("patron_notice_policy");
    let overdue_fine_policies = table("overdue_fine_policy");
    let lost_item_policies = table("lost_item_fee_policy");
    let fee_owners = table("owners");
    let fee_types = table("feefines");
    let locations = table("location");
    let institutions = table("locinstitution");
    let campuses = table("loccampus");
    let libraries = table("loclibrary");
    let service_points = table("service_point");
    let material_types = table("material_type");
    let loan_types = table("loan_type");
    let patron_groups = table("groups");
    let departments = table("departments");
    let address_types = table("addresstype");
    let cancellation_reasons = table("cancellation_reason");
    let block_conditions = table("patron_block_conditions");
    let block_limits = table("patron_block_limits");
    let calendars = table("calendars");
    let circulation_settings = table("circulation_settings");
    let locale = table("locale");
    let given = tenant
        .profile
        .stand_ins
        .then(|| pipeline.add("SELECT doc FROM stand_in WHERE kind = $1", vec![GIVEN_BLOCKS.into()]));
    let results = match tx {
        Some(tx) => tx.send(pipeline).await,
        None => tenant.writer().await?.send(pipeline).await,
    };
    let results =
        results.map_err(|error| Failure::from(error).while_doing("reading the circulation settings"))?;
    let settings_version: i64 = results.first(settings_version).map_or(0, |row| row.get(0));

    let settings = Settings {
        own: by_name(values(&results, circulation_settings), "name"),
        scoped: by_name(values(&results, settings), "key"),
        older: values(&results, older),
    };
    let loan_policies: HashMap<Uuid, LoanPolicy> = read(&results, loan_policies);
    let settings = CirculationSettings {
        rules: rules_of(tenant, values(&results, rules).first()),
        limits_items: loan_policies
            .values()
            .any(|policy| policy.loans_policy.as_ref().is_some_and(|loans| loans.item_limit.is_some())),
        loan_policies,
        schedules: read(&results, schedules),
        request_policies: documents(&results, request_policies),
        notices: NoticePolicies::read(
            documents(&results, notice_policies).iter().map(|(id, policy)| (*id, &**policy)),
        ),
        overdue_fine_policies: documents(&results, overdue_fine_policies),
        lost_item_policies: documents(&results, lost_item_policies),
        fees: FeeSettings::new(read(&results, fee_owners), read(&results, fee_types)),
        locations: read(&results, locations),
        institutions: read(&results, institutions),
        campuses: read(&results, campuses),
        libraries: read(&results, libraries),
        service_points: read(&results, service_points),
        material_types: read(&results, material_types),
        loan_types: read(&results, loan_types),
        patron_groups: read(&results, patron_groups),
        departments: read(&results, departments),
        address_types: read(&results, address_types),
        cancellation_reasons: read(&results, cancellation_reasons),
        patron_block_conditions: values(&results, block_conditions).into_iter().map(Arc::new).collect(),
        patron_block_limits: values(&results, block_limits).into_iter().map(Arc::new).collect(),
        calendars: hours(read(&results, calendars)),
        zone: zone(values(&results, locale).first(), &settings),
        title_level_requests: settings.title_level_requests(),
        check_out_lock: CheckOutLock::read(settings.scoped.get("checkoutLockFeature").map(|value| &**value)),
        features: Features::read(|name| settings.own(name)),
        settings: settings.own,
        open_without_calendar: tenant.profile.open_without_calendar,
        given_blocks: given.map(|step| given_blocks(values(&results, step))).unwrap_or_default(),
    };
    Ok((settings_version, settings))
}

/// Settings from the three collections in which FOLIO has stored them, newest first.
struct Settings {
    own: HashMap<String, Arc<Value>>,
    scoped: HashMap<String, Arc<Value>>,
    older: Vec<Value>,
}

impl Settings {
    fn own(&self, name: &str) -> Option<&Value> {
        self.own.get(name).map(|value| &**value)
    }

    fn own_or_scoped(&self, name: &str) -> Option<&Value> {
        self.own.get(name).or_else(|| self.scoped.get(name)).map(|value| &**value)
    }

    fn older(&self, name: &str) -> Option<Value> {
        let entry = self.older.iter().find(|entry| entry["configName"] == name)?;
        match entry.get("value")? {
            Value::String(text) => serde_json::from_str(text).ok(),
            value => Some(value.clone()),
        }
    }

    fn title_level_requests(&self) -> TitleLevelRequests {
        TitleLevelRequests::read(
            self.own_or_scoped("generalTlr"),
            self.own_or_scoped("regularTlr"),
            self.own_or_scoped("TLR").or(self.older("TLR").as_ref()),
        )
    }
}

fn by_name(entries: Vec<Value>, key: &str) -> HashMap<String, Arc<Value>> {
    let named =
        |entry: Value| Some((entry.get(key)?.as_str()?.to_owned(), Arc::new(entry.get("value")?.clone())));
    entries.into_iter().filter_map(named).collect()
}

fn rules_of(tenant: &Tenant, stored: Option<&Value>) -> Rules {
    let text = stored.and_then(|rules| rules.get("rulesAsText")?.as_str()).unwrap_or_default();
    Rules::parse(text).unwrap_or_else(|error| {
        // Text written by the storage route is not validated; if it is invalid, look-ups report blank rules.
        tracing::error!(tenant = tenant.id, "the circulation rules cannot be read: {error}");
        Rules::parse("").expect("blank rules can be read")
    })
}

fn given_blocks(patrons: Vec<Value>) -> HashMap<Uuid, Vec<Block>> {
    let of_patron = |mut patron: Value| {
        let id = patron["id"].as_str().and_then(|id| Uuid::parse_str(id).ok())?;
        Some((id, serde_json::from_value(patron["automatedPatronBlocks"].take()).ok()?))
    };
    patrons.into_iter().filter_map(of_patron).collect()
}

fn values(results: &Results, step: usize) -> Vec<Value> {
    results.documents(step).iter().map(Json::parse).collect()
}

/// Records by id; a malformed one is omitted and logged.
fn read<T: DeserializeOwned>(results: &Results, step: usize) -> HashMap<Uuid, T> {
    let mut records = HashMap::new();
    for row in results.rows(step) {
        let (document, id): (Json, Uuid) = (row.get(0), row.get(1));
        match document.read() {
            Ok(record) => {
                records.insert(id, record);
            }
            Err(error) => tracing::warn!("record {id} cannot be used in decisions: {error}"),
        }
    }
    records
}

fn documents(results: &Results, step: usize) -> HashMap<Uuid, Arc<Value>> {
    read::<Value>(results, step).into_iter().map(|(id, value)| (id, Arc::new(value))).collect()
}

fn hours(calendars: HashMap<Uuid, Calendar>) -> HashMap<Uuid, ServicePointHours> {
    let calendars: Vec<Calendar> = calendars.into_values().collect();
    let assigned: HashSet<Uuid> =
        calendars.iter().flat_map(|calendar| calendar.assignments.clone()).collect();
    assigned.into_iter().map(|id| (id, ServicePointHours::of(id, &calendars))).collect()
}

/// The tenant's time zone: from its locale, otherwise from the older configuration, otherwise UTC.
fn zone(locale: Option<&Value>, settings: &Settings) -> TimeZone {
    let name = locale
        .and_then(|locale| locale.get("timezone")?.as_str().map(str::to_owned))
        .or_else(|| Some(settings.older("localeSettings")?.get("timezone")?.as_str()?.to_owned()));
    name.and_then(|name| TimeZone::get(&name).ok()).unwrap_or(TimeZone::UTC)
}
