//! The cached settings of a tenant: all slowly changing records that desk decisions use (circulation rules, policies,
//! schedules, calendars, locations, service points, types, groups, settings), read as a whole at one settings version.
//!
//! A desk action reads the settings version with its facts. If it is newer than that of the cached settings, they are
//! read again before the decision, so that no decision uses outdated rules.

mod features;
mod fees;
mod load;
mod names;
mod notices;

pub use features::{CheckOutLock, Features, TitleLevelRequests};
#[cfg(test)]
pub use fees::fees_of;
pub use fees::{FeeOwner, FeeSettings, FeeType};
pub use load::TABLES;
pub use names::{Location, Named, ServicePoint};
pub use notices::{Format, NoticeConfig, NoticeEvent, NoticePolicies, Timing};

use carrel_circulation_rules::{AppliedConditions, Facts, PolicyKind, Rules};
use carrel_loan_rules::loan_policy::{FixedDueDateSchedule, LoanPolicy, LoanTerms};
use carrel_loan_rules::opening_hours::{
    Calendar, DayOpening, OpeningDays, ServicePointHours, SurroundingOpenings,
};
use carrel_loan_rules::patron_blocks::Block;
use carrel_platform::{Tenant, Tx};
use carrel_records::Failure;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

/// Kind of the stored blocks that a public test suite gives to patrons of a tenant with stand-ins.
pub const GIVEN_BLOCKS: &str = "automated patron blocks";

/// The rules and slowly changing records of a tenant at one settings version.
pub struct CirculationSettings {
    pub rules: Rules,
    pub loan_policies: HashMap<Uuid, LoanPolicy>,
    pub schedules: HashMap<Uuid, FixedDueDateSchedule>,
    /// Documents as stored; the use case that needs them reads their fields.
    pub request_policies: HashMap<Uuid, Arc<Value>>,
    pub notices: NoticePolicies,
    pub overdue_fine_policies: HashMap<Uuid, Arc<Value>>,
    pub lost_item_policies: HashMap<Uuid, Arc<Value>>,
    pub fees: FeeSettings,
    pub locations: HashMap<Uuid, Location>,
    pub institutions: HashMap<Uuid, Named>,
    pub campuses: HashMap<Uuid, Named>,
    pub libraries: HashMap<Uuid, Named>,
    pub service_points: HashMap<Uuid, ServicePoint>,
    pub material_types: HashMap<Uuid, Named>,
    pub loan_types: HashMap<Uuid, Named>,
    pub patron_groups: HashMap<Uuid, Named>,
    pub departments: HashMap<Uuid, Named>,
    pub address_types: HashMap<Uuid, Named>,
    pub cancellation_reasons: HashMap<Uuid, Named>,
    pub patron_block_conditions: Vec<Arc<Value>>,
    pub patron_block_limits: Vec<Arc<Value>>,
    calendars: HashMap<Uuid, ServicePointHours>,
    pub zone: TimeZone,
    pub title_level_requests: TitleLevelRequests,
    pub check_out_lock: CheckOutLock,
    pub features: Features,
    /// Other circulation settings by name.
    pub settings: HashMap<String, Arc<Value>>,
    /// Some loan policy limits the number of items, so a check-out must count loans.
    pub limits_items: bool,
    /// A service point without a calendar is always open, as in tenants for public test suites.
    pub open_without_calendar: bool,
    /// Blocks that a public test suite has set in a tenant with stand-ins.
    pub given_blocks: HashMap<Uuid, Vec<Block>>,
}

/// The inputs of the circulation rules.
#[derive(Debug, Clone, Copy)]
pub struct RuleInputs {
    pub material_type: Option<Uuid>,
    pub loan_type: Option<Uuid>,
    pub patron_group: Option<Uuid>,
    pub location: Option<Uuid>,
}

/// A policy matched by the rules.
#[derive(Debug, Clone)]
pub struct Matched {
    pub id: Uuid,
    pub conditions: AppliedConditions,
}

/// Cached settings with their version, which are refreshed if the facts of a decision were read at a newer one.
pub struct CachedSettings {
    settings_version: i64,
    pub settings: Arc<CirculationSettings>,
}

impl CachedSettings {
    /// Replaces the settings if the facts, whose first column is the settings version, were read at a newer one. The
    /// caller checks whether the statement of the facts is still right under the new settings.
    ///
    /// Uses the transaction's connection: the transaction holds locks, and waiting for a second connection could
    /// deadlock with transactions that hold the connections and wait for its locks.
    pub async fn refresh(&mut self, tenant: &Tenant, tx: &mut Tx, facts: &Row) -> Result<(), Failure> {
        let settings_version: i64 = facts.get(0);
        tenant.saw_settings_version(settings_version);
        if settings_version > self.settings_version {
            self.settings = CirculationSettings::at_least_within(tenant, tx, settings_version).await?;
            self.settings_version = settings_version;
        }
        Ok(())
    }
}

impl CirculationSettings {
    /// The tenant's settings, at least as new as the settings version.
    pub async fn at_least(
        tenant: &Tenant,
        settings_version: i64,
    ) -> Result<Arc<CirculationSettings>, Failure> {
        if let Some((known, settings)) = tenant.cache.get::<CirculationSettings>()
            && known >= settings_version
        {
            return Ok(settings);
        }
        Ok(CirculationSettings::read(tenant, None).await?.1)
    }

    /// [`at_least`] within a transaction that has begun, on its connection.
    pub async fn at_least_within(
        tenant: &Tenant,
        tx: &mut Tx,
        settings_version: i64,
    ) -> Result<Arc<CirculationSettings>, Failure> {
        if let Some((known, settings)) = tenant.cache.get::<CirculationSettings>()
            && known >= settings_version
        {
            return Ok(settings);
        }
        Ok(CirculationSettings::read(tenant, Some(tx)).await?.1)
    }

    /// The tenant's settings for reads, as new as this node knows.
    pub async fn of(tenant: &Tenant) -> Result<Arc<CirculationSettings>, Failure> {
        let settings_version = tenant.settings_version().await?;
        CirculationSettings::at_least(tenant, settings_version).await
    }

    /// The cached settings, however old, to gather facts with.
    pub async fn cached(tenant: &Tenant) -> Result<CachedSettings, Failure> {
        let (settings_version, settings) = match tenant.cache.get::<CirculationSettings>() {
            Some(known) => known,
            None => CirculationSettings::read(tenant, None).await?,
        };
        Ok(CachedSettings { settings_version, settings })
    }

    async fn read(tenant: &Tenant, tx: Option<&mut Tx>) -> Result<(i64, Arc<CirculationSettings>), Failure> {
        let (settings_version, settings) = load::load(tenant, tx).await?;
        let settings = Arc::new(settings);
        tenant.cache.put(settings_version, Arc::clone(&settings));
        Ok((settings_version, settings))
    }

    /// The policy of a kind for these inputs.
    pub fn matching(&self, what: &RuleInputs, kind: PolicyKind) -> Result<Matched, Failure> {
        let mut texts = [[0u8; 36]; 7];
        let location = what.location.and_then(|id| self.locations.get(&id));
        let ids = [
            what.material_type,
            what.loan_type,
            what.patron_group,
            what.location,
            location.and_then(|location| location.library_id),
            location.and_then(|location| location.campus_id),
            location.and_then(|location| location.institution_id),
        ];
        let [material_type, loan_type, patron_group, location, library, campus, institution] =
            as_texts(&ids, &mut texts);
        let facts = Facts { material_type, loan_type, patron_group, location, library, campus, institution };
        let matched =
            self.rules.matching(&facts, kind).map_err(|blank| Failure::Misconfigured(blank.to_string()))?;
        let id = Uuid::parse_str(matched.policy).map_err(|_| {
            Failure::Misconfigured(format!(
                "The circulation rules name '{}', which is no policy id",
                matched.policy
            ))
        })?;
        Ok(Matched { id, conditions: matched.conditions })
    }

    /// A loan policy with its schedules.
    pub fn loan_terms(&self, id: Uuid) -> Result<LoanTerms<'_>, Failure> {
        let policy = self.loan_policies.get(&id).ok_or_else(|| {
            Failure::Misconfigured(format!(
                "Loan policy {id} could not be found, please check circulation rules"
            ))
        })?;
        let schedule = |id: Option<&String>| {
            id.and_then(|id| Uuid::parse_str(id).ok()).and_then(|id| self.schedules.get(&id))
        };
        Ok(LoanTerms {
            policy,
            schedule: schedule(
                policy.loans_policy.as_ref().and_then(|loans| loans.fixed_due_date_schedule_id.as_ref()),
            ),
            alternate_renewal_schedule: schedule(
                policy
                    .renewals_policy
                    .as_ref()
                    .and_then(|renewals| renewals.alternate_fixed_due_date_schedule_id.as_ref()),
            ),
        })
    }

    /// The opening days of a service point.
    pub fn calendar(&self, service_point: Uuid) -> Opening<'_> {
        Opening { hours: self.calendars.get(&service_point), open_without: self.open_without_calendar }
    }

    /// Whether the service point serves the location.
    pub fn serves(&self, service_point: Uuid, location: Uuid) -> bool {
        self.locations.get(&location).is_some_and(|location| {
            location.primary_service_point == Some(service_point)
                || location.service_point_ids.contains(&service_point)
        })
    }
}

/// A service point's calendar, or its substitute.
pub struct Opening<'a> {
    hours: Option<&'a ServicePointHours>,
    open_without: bool,
}

impl OpeningDays for Opening<'_> {
    fn surrounding(&self, date: Date) -> Option<SurroundingOpenings> {
        match self.hours {
            Some(hours) => hours.surrounding(date),
            None if self.open_without => Some(SurroundingOpenings::always_open(date)),
            None => ServicePointHours::new(Vec::<Calendar>::new()).surrounding(date),
        }
    }

    fn on(&self, date: Date) -> DayOpening {
        match self.hours {
            Some(hours) => hours.on(date),
            None if self.open_without => DayOpening::all_day(date),
            None => DayOpening::closed(date),
        }
    }
}

/// Writes ids as text without allocating; an absent one is empty, which matches no id in the rules.
fn as_texts<'a>(ids: &[Option<Uuid>; 7], texts: &'a mut [[u8; 36]; 7]) -> [&'a str; 7] {
    let mut written = [""; 7];
    for ((id, text), place) in ids.iter().zip(texts.iter_mut()).zip(written.iter_mut()) {
        if let Some(id) = id {
            *place = id.as_hyphenated().encode_lower(text);
        }
    }
    written
}

impl CirculationSettings {
    /// Settings of a tenant that has no records yet.
    pub fn blank() -> CirculationSettings {
        CirculationSettings {
            rules: Rules::parse("").expect("blank rules can be read"),
            loan_policies: HashMap::new(),
            schedules: HashMap::new(),
            request_policies: HashMap::new(),
            notices: NoticePolicies::default(),
            overdue_fine_policies: HashMap::new(),
            lost_item_policies: HashMap::new(),
            fees: FeeSettings::default(),
            locations: HashMap::new(),
            institutions: HashMap::new(),
            campuses: HashMap::new(),
            libraries: HashMap::new(),
            service_points: HashMap::new(),
            material_types: HashMap::new(),
            loan_types: HashMap::new(),
            patron_groups: HashMap::new(),
            departments: HashMap::new(),
            address_types: HashMap::new(),
            cancellation_reasons: HashMap::new(),
            patron_block_conditions: Vec::new(),
            patron_block_limits: Vec::new(),
            calendars: HashMap::new(),
            zone: TimeZone::UTC,
            title_level_requests: TitleLevelRequests::default(),
            check_out_lock: CheckOutLock::read(None),
            features: Features::default(),
            settings: HashMap::new(),
            limits_items: false,
            open_without_calendar: true,
            given_blocks: HashMap::new(),
        }
    }
}
