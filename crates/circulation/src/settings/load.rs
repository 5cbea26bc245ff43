//! Loads the settings: all tables in one round trip.

use super::{
    CheckOutLock, CirculationSettings, Features, FeeSettings, GIVEN_BLOCKS, NoticePolicies,
    TitleLevelRequests,
};
use carrel_circulation_rules::Rules;
use carrel_loan_rules::loan_policy::LoanPolicy;
use carrel_loan_rules::opening_hours::{Calendar, ServicePointHours};
use carrel_loan_rules::patron_blocks::Block;
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
    STAND_INS,
];

/// Documents that a test suite has written to simulated modules.
const STAND_INS: &str = "stand_in";

/// Reads the settings and their version; within a transaction if one is given.
pub async fn load(tenant: &Tenant, tx: Option<&mut Tx>) -> Result<(i64, CirculationSettings), Failure> {
    let mut pipeline = Pipeline::new();
    // Read first: all tables read after it are at least as new.
    let settings_version = pipeline.add("SELECT value FROM settings_version WHERE id = 1", vec![]);
    let steps: HashMap<&str, usize> = TABLES
        .iter()
        // Only a lenient tenant has stored documents of simulated modules.
        .filter(|table| tenant.profile.stand_ins || **table != STAND_INS)
        .map(|table| {
            let sql = format!("SELECT doc, id FROM {table} WHERE {}", condition(table));
            (*table, pipeline.add(sql, vec![]))
        })
        .collect();
    let results = match tx {
        Some(tx) => tx.send(pipeline).await,
        None => tenant.writer().await?.send(pipeline).await,
    };
    let results =
        results.map_err(|error| Failure::from(error).while_doing("reading the circulation settings"))?;
    let settings_version: i64 = results.first(settings_version).map_or(0, |row| row.get("value"));
    Ok((settings_version, settings_of(tenant, &Tables { results, steps })))
}

/// The rows of a table that circulation uses.
fn condition(table: &str) -> String {
    match table {
        "settings" => {
            "doc->>'scope' IN ('mod-circulation', 'circulation') AND doc->>'userId' IS NULL".to_owned()
        }
        "config_data" => {
            "doc->>'module' IN ('ORG', 'SETTINGS', 'CHECKOUT', 'LOAN_HISTORY', 'NOTIFICATION_SCHEDULER')
             AND coalesce((doc->>'enabled')::boolean, true) AND doc->>'userId' IS NULL"
                .to_owned()
        }
        STAND_INS => format!("kind = '{GIVEN_BLOCKS}'"),
        _ => "true".to_owned(),
    }
}

fn settings_of(tenant: &Tenant, tables: &Tables) -> CirculationSettings {
    let settings = Settings {
        own: by_name(tables.values("circulation_settings"), "name"),
        scoped: by_name(tables.values("settings"), "key"),
        older: tables.values("config_data"),
    };
    let loan_policies: HashMap<Uuid, LoanPolicy> = tables.read("loan_policy");
    let has_item_limit =
        |policy: &LoanPolicy| policy.loans_policy.as_ref().is_some_and(|loans| loans.item_limit.is_some());
    CirculationSettings {
        rules: rules_of(tenant, tables.values("circulation_rules").first()),
        limits_items: loan_policies.values().any(has_item_limit),
        loan_policies,
        schedules: tables.read("fixed_due_date_schedule"),
        request_policies: tables.documents("request_policy"),
        notices: NoticePolicies::read(
            tables.documents("patron_notice_policy").iter().map(|(id, policy)| (*id, &**policy)),
        ),
        overdue_fine_policies: tables.documents("overdue_fine_policy"),
        lost_item_policies: tables.documents("lost_item_fee_policy"),
        fees: FeeSettings::new(tables.read("owners"), tables.read("feefines")),
        locations: tables.read("location"),
        institutions: tables.read("locinstitution"),
        campuses: tables.read("loccampus"),
        libraries: tables.read("loclibrary"),
        service_points: tables.read("service_point"),
        material_types: tables.read("material_type"),
        loan_types: tables.read("loan_type"),
        patron_groups: tables.read("groups"),
        departments: tables.read("departments"),
        address_types: tables.read("addresstype"),
        cancellation_reasons: tables.read("cancellation_reason"),
        patron_block_conditions: tables.values("patron_block_conditions").into_iter().map(Arc::new).collect(),
        patron_block_limits: tables.values("patron_block_limits").into_iter().map(Arc::new).collect(),
        calendars: hours(tables.read("calendars")),
        zone: zone(tables.values("locale").first(), &settings),
        title_level_requests: settings.title_level_requests(),
        check_out_lock: CheckOutLock::read(settings.scoped.get("checkoutLockFeature").map(|value| &**value)),
        features: Features::read(|name| settings.own(name)),
        settings: settings.own,
        open_without_calendar: tenant.profile.open_without_calendar,
        given_blocks: given_blocks(tables.values(STAND_INS)),
    }
}

/// The rows that were read, by table.
struct Tables {
    results: Results,
    steps: HashMap<&'static str, usize>,
}

impl Tables {
    /// The step that has read a table; none if the tenant has no such rows.
    fn step(&self, table: &str) -> Option<usize> {
        debug_assert!(TABLES.contains(&table), "{table} is cached and does not move the settings version");
        self.steps.get(table).copied()
    }

    fn values(&self, table: &str) -> Vec<Value> {
        let step = self.step(table);
        step.map(|step| self.results.documents(step).iter().map(Json::parse).collect()).unwrap_or_default()
    }

    /// Records by id; a malformed one is omitted and logged.
    fn read<T: DeserializeOwned>(&self, table: &str) -> HashMap<Uuid, T> {
        let mut records = HashMap::new();
        let Some(step) = self.step(table) else { return records };
        for row in self.results.rows(step) {
            let (document, id): (Json, Uuid) = (row.get("doc"), row.get("id"));
            match document.read() {
                Ok(record) => {
                    records.insert(id, record);
                }
                Err(error) => tracing::warn!("{table} {id} cannot be used in decisions: {error}"),
            }
        }
        records
    }

    fn documents(&self, table: &str) -> HashMap<Uuid, Arc<Value>> {
        self.read::<Value>(table).into_iter().map(|(id, value)| (id, Arc::new(value))).collect()
    }
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
