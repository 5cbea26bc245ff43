//! Reversing the fees of a lost item that is found at check-in, renewed by override, or lost in another way.
//!
//! Reads and locks the loan's fees with their actions and its actual cost records; refunds payments and transfers,
//! cancels the rest and the open record, and adds the records of fees/fines and events, in the transaction of the
//! cause.

mod decide;

use super::{lost_date, policy_of, staff};
use crate::patron_notices::{self, About, NoticeEvent};
use crate::records::loans::ACTUAL_COST_RECORD;
use crate::settings::CirculationSettings;
use carrel_fees_fines::lost_item_fees::{self, LossFees, Reversal};
use carrel_platform::database::Results;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write;
use carrel_platform::{Json, Pipeline, Tenant, Tx};
use carrel_records::{Failure, time};
use decide::{CostRecord, dropped};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// Why the fees of a loss are reversed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Returned,
    Renewed,
    /// Staff declare an item lost that has aged to lost.
    DeclaredLost,
}

impl Cause {
    /// The payment status of cancelled fees.
    const fn of_fees(self) -> &'static str {
        match self {
            Cause::Returned => "Cancelled item returned",
            Cause::Renewed => "Cancelled item renewed",
            Cause::DeclaredLost => "Cancelled item declared lost",
        }
    }

    /// The reason in a cancelled actual cost record.
    const fn of_record(self) -> &'static str {
        match self {
            Cause::Returned => "Lost item was returned",
            Cause::Renewed => "Lost item was renewed",
            Cause::DeclaredLost => "Aged to lost item was declared lost",
        }
    }
}

/// The user, service point and time of the finding.
pub struct FoundBy<'a> {
    pub cause: Cause,
    pub caller: &'a Caller,
    pub service_point: Option<Uuid>,
    pub now: Timestamp,
}

/// The facts of a reversal, locked.
pub struct ReversalFacts {
    fees: LossFees,
    records: Vec<(CostRecord, Value)>,
    /// The name of the staff member.
    source: Option<String>,
}

/// The statements that lock and read [`ReversalFacts`].
pub struct Steps {
    fees: (usize, usize),
    records: usize,
    staff: usize,
}

/// Adds the statements that lock and read the facts of a loan, whose item is locked; [`read_facts`] reads their rows.
pub fn find_facts(pipeline: &mut Pipeline, loan: Uuid, staff_member: Option<Uuid>) -> Steps {
    Steps {
        fees: lost_item_fees::lock_fees(pipeline, loan),
        records: pipeline.add(
            "SELECT id, doc FROM actual_cost_record WHERE loan_id = $1
             ORDER BY doc->>'lossDate' DESC, id DESC FOR NO KEY UPDATE",
            vec![loan.into()],
        ),
        staff: staff::find(pipeline, staff_member),
    }
}

pub fn read_facts(results: &Results, steps: &Steps) -> ReversalFacts {
    let record = |row: &tokio_postgres::Row| {
        let (id, document): (Uuid, Value) = (row.get("id"), row.get::<_, Json>("doc").parse());
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
        let record = CostRecord {
            id,
            is_open: text("/status") == Some("Open"),
            created: text("/metadata/createdDate").and_then(time::parse),
            account: text("/feeFine/accountId").and_then(|id| Uuid::parse_str(id).ok()),
        };
        (record, document)
    };
    ReversalFacts {
        fees: LossFees::of(results, steps.fees),
        records: results.rows(steps.records).iter().map(record).collect(),
        source: staff::name(results, steps.staff),
    }
}

/// Adds the statements that reverse the fees of the loan by its policy.
pub fn apply(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    (id, loan): (Uuid, &Map<String, Value>),
    facts: &ReversalFacts,
    found: &FoundBy,
    settings: &CirculationSettings,
) -> Result<(), Failure> {
    let records: Vec<CostRecord> = facts.records.iter().map(|(record, _)| record.clone()).collect();
    let policy = policy_of(loan, settings);
    let dropped = dropped(&policy, lost_date(loan), &facts.fees.fees, &records, found.now);
    let reversal = Reversal {
        reason: found.cause.of_fees(),
        service_point: found.service_point,
        source: facts.source.clone(),
    };
    let actions = lost_item_fees::reverse(
        pipeline,
        tenant,
        found.caller,
        found.now,
        &facts.fees,
        &dropped.accounts,
        &reversal,
    )?;
    let cancelled = facts.records.iter().find(|(record, _)| Some(record.id) == dropped.record);
    if let Some((record, Value::Object(document))) = cancelled {
        let mut changed = document.clone();
        changed.insert("status".into(), "Cancelled".into());
        changed.insert("additionalInfoForStaff".into(), found.cause.of_record().into());
        changed.remove("additionalInfoForPatron");
        let stored = Value::Object(document.clone());
        let ready = write::complete_replacement(
            &ACTUAL_COST_RECORD,
            record.id,
            changed,
            &stored,
            found.caller,
            found.now,
        )?;
        write::update(pipeline, tenant, &ACTUAL_COST_RECORD, &ready, &stored, found.now);
    }
    if found.cause == Cause::Returned {
        notify(pipeline, id, &actions, settings, found.now);
    }
    Ok(())
}

/// Adds the causes of notices: refunds and cancellations, not the credits that precede refunds.
fn notify(
    pipeline: &mut Pipeline,
    loan: Uuid,
    actions: &[Value],
    settings: &CirculationSettings,
    now: Timestamp,
) {
    for action in actions {
        let is_credit = action["typeAction"].as_str().is_some_and(|kind| kind.starts_with("Credited"));
        let id = action["id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
        if let Some(action) = id.filter(|_| !is_credit) {
            let about = About::FeeFineAction { action, loan, session: None };
            let notices = settings.notice_causes(&[NoticeEvent::AgedToLostReturned], about);
            patron_notices::record(pipeline, &notices, now);
        }
    }
}

/// Reverses the fees of a loan within a transaction that has locked its item and changes item and loan.
pub async fn reverse(
    tx: &mut Tx,
    tenant: &Tenant,
    loan: Uuid,
    found: &FoundBy<'_>,
    settings: &CirculationSettings,
) -> Result<(), Failure> {
    let mut pipeline = Pipeline::new();
    let document = pipeline.add("SELECT doc FROM loan WHERE id = $1 FOR NO KEY UPDATE", vec![loan.into()]);
    let steps = find_facts(&mut pipeline, loan, found.caller.user_id);
    let results = tx.send(pipeline).await?;
    let Some(Value::Object(document)) = results.document(document).map(|loan| loan.parse()) else {
        return Ok(());
    };
    let mut pipeline = Pipeline::new();
    apply(&mut pipeline, tenant, (loan, &document), &read_facts(&results, &steps), found, settings)?;
    if !pipeline.is_empty() {
        tx.send(pipeline).await?;
    }
    Ok(())
}
