//! Charging for a lost item: accounts for fees with a set amount, a record for a cost that staff must still determine.
//!
//! Used in the transaction that declares an item lost and in the one that bills an item aged to lost. Reads the item's
//! permanent location; adds accounts with their actions, and an actual cost record.

mod decide;

pub use decide::{ActualCost, Charging, Unchargeable, decide};

use super::actual_cost::record;
use crate::desk::charged_item::charged_item;
use crate::desk::{ItemAtDesk, Patron};
use crate::document::text_at;
use crate::records::loans::ACTUAL_COST_RECORD;
use crate::settings::CirculationSettings;
use carrel_fees_fines::charge::{Charge, Charged, ChargedBy, charge};
use carrel_loan_rules::lost_item_policy::Loss;
use carrel_platform::database::Results;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write;
use carrel_platform::{Pipeline, Tenant, TenantProfile};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::HashMap;
use uuid::Uuid;

/// The facts of a charge for a lost item.
#[derive(Debug, Clone, Default)]
pub struct ChargingFacts {
    /// The item's permanent location, otherwise that of its holdings record.
    pub permanent_location: Option<Uuid>,
    /// Id and name of the owner of the fees at the primary service point of that location.
    pub owner: Option<(Uuid, String)>,
    /// Names of the types of the instance's identifiers.
    pub identifier_types: HashMap<Uuid, String>,
    /// Actual cost records may lack required properties.
    pub unchecked_records: bool,
}

/// The statements that read [`ChargingFacts`].
pub struct Steps {
    holdings: usize,
    identifier_types: usize,
}

/// Adds the statements that read the facts; [`read_facts`] reads their rows.
pub fn find_facts(pipeline: &mut Pipeline, item: &ItemAtDesk) -> Steps {
    Steps {
        holdings: pipeline.add(
            "SELECT doc->>'permanentLocationId' AS location FROM holdings_record WHERE id = $1",
            vec![item.holdings_id.into()],
        ),
        identifier_types: pipeline.add(
            "SELECT id, coalesce(doc->>'name', '') AS name FROM identifier_type WHERE id = ANY($1)",
            vec![record::identifier_types(item).into()],
        ),
    }
}

/// The facts of a charge for the item.
pub fn read_facts(
    results: &Results,
    steps: &Steps,
    item: &ItemAtDesk,
    settings: &CirculationSettings,
    profile: TenantProfile,
) -> ChargingFacts {
    let of_holdings = || {
        let location: Option<String> = results.first(steps.holdings)?.get("location");
        Uuid::parse_str(&location?).ok()
    };
    let permanent_location = item.record.permanent_location_id.or_else(of_holdings);
    let location = permanent_location.and_then(|id| settings.locations.get(&id));
    let names = results.rows(steps.identifier_types);
    ChargingFacts {
        permanent_location,
        owner: location.and_then(|location| settings.fees.owner_at(location.primary_service_point?)),
        identifier_types: names.iter().map(|row| (row.get("id"), row.get("name"))).collect(),
        unchecked_records: profile.unchecked_records,
    }
}

/// The loan of a lost item, for its charges.
pub struct LostLoan<'a> {
    pub id: Uuid,
    pub document: &'a Map<String, Value>,
    pub item: &'a ItemAtDesk,
    pub patron: Option<&'a Patron>,
    pub loss: Loss,
    pub lost: Timestamp,
}

/// The service point and user of a charge.
pub struct Charger<'a> {
    pub caller: &'a Caller,
    /// Absent for charges of jobs.
    pub service_point: Option<Uuid>,
    pub charged_by: ChargedBy,
    pub now: Timestamp,
}

/// Adds the statements of the charges; returns the ids of the new accounts and of their records.
pub fn apply(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    loan: &LostLoan,
    charging: &Charging,
    facts: &ChargingFacts,
    by: &Charger,
    settings: &CirculationSettings,
) -> Result<Vec<Charged>, Failure> {
    if let Some(actual_cost) = &charging.actual_cost {
        let document = record::document(loan, actual_cost, &charging.owner, facts, settings);
        let ready = write::complete_new(&ACTUAL_COST_RECORD, document, by.caller, by.now)?;
        write::insert(pipeline, tenant, &ACTUAL_COST_RECORD, &ready, by.now);
    }
    let Ok(user) = Uuid::parse_str(text_at(loan.document, "userId")) else {
        return Err(Failure::internal("the loan of a lost item has a patron"));
    };
    let mut charged = Vec::new();
    for (fee_fine_type, amount) in &charging.fees {
        let fee = Charge {
            user,
            amount: *amount,
            fee_fine_type: fee_fine_type.clone(),
            owner: charging.owner.clone(),
            loan: Some(loan.id),
            item: Some(charged_item(loan.item, settings)),
            service_point: by.service_point,
            charged_by: by.charged_by,
            comments: None,
            notifies_patron: false,
            more: of_loan(loan.document),
        };
        charged.push(charge(pipeline, &fee, by.caller.user_id, by.now));
    }
    Ok(charged)
}

/// The loan's values in an account.
pub fn of_loan(loan: &Map<String, Value>) -> Map<String, Value> {
    let mut kept = Map::new();
    for (account, key) in [("dueDate", "dueDate"), ("returnedDate", "returnDate")] {
        if let Some(date) = time::parse(text_at(loan, key)) {
            kept.insert(account.into(), time::format(date).into());
        }
    }
    for (account, key) in [
        ("loanPolicyId", "loanPolicyId"),
        ("overdueFinePolicyId", "overdueFinePolicyId"),
        ("lostItemFeePolicyId", "lostItemPolicyId"),
    ] {
        if let Some(id) = loan.get(key).filter(|id| id.is_string()) {
            kept.insert(account.into(), id.clone());
        }
    }
    kept
}
