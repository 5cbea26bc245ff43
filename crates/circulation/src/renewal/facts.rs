//! Everything that the decision needs, in one round trip. Item and loan are locked first.

use super::{By, RenewalRequest};
use crate::desk::{ItemAtDesk, item};
use crate::loans::find::{self, LoanAtDesk};
use crate::patron_blocks::{self, Action};
use crate::records::loans::OPEN;
use crate::settings::CirculationSettings;
use carrel_platform::{Bind, Json, Pipeline, Tenant, Tx};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::{Arc, LazyLock};

/// The facts of the decision.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub item: Option<ItemAtDesk>,
    /// The item's open loan, with patron and queue.
    pub loan: Option<LoanAtDesk>,
    pub manual_blocks: Vec<Value>,
    /// The patron's loans and accounts; only if a limit applies.
    pub counted: Option<patron_blocks::Facts>,
}

pub async fn gather(
    tenant: &Arc<Tenant>,
    command: &RenewalRequest,
    now: Timestamp,
) -> Result<(Tx, Facts, Arc<CirculationSettings>), Failure> {
    let item: Bind = match command.by {
        By::Barcode => command.item_barcode.clone().unwrap_or_default().into(),
        By::Id => find::id_bind(command.item_id.as_deref().unwrap_or_default()),
    };
    let (tx, results, step, settings) = find::gather(tenant, |settings| {
        let variant = &STATEMENTS[usize::from(command.by == By::Id)]
            [usize::from(settings.title_level_requests.enabled())]
            [usize::from(Action::Renewing.is_limited(settings))];
        let mut pipeline = Pipeline::new();
        pipeline.add(variant.lock_item.as_str(), vec![item.clone()]);
        pipeline.add(variant.lock_loan.as_str(), vec![item.clone()]);
        let facts = pipeline.add(variant.facts.as_str(), vec![item.clone()]);
        (pipeline, facts)
    })
    .await?;
    let row = results.first(step).ok_or_else(|| Failure::internal("facts are one row"))?;
    let manual_blocks = Json::elements(row.get(1));
    let facts = Facts {
        manual_blocks,
        counted: Action::Renewing
            .is_limited(&settings)
            .then(|| patron_blocks::read(row.get(2), row.get(3), &settings, now)),
        loan: find::open_loan(row, 4)?,
        item: ItemAtDesk::read(row, 4 + find::BEFORE_ITEM)?,
    };
    Ok((tx, facts, settings))
}

/// The statements of a renewal.
struct Statements {
    lock_item: String,
    lock_loan: String,
    facts: String,
}

/// Indexed by: item by id; title-level queue; facts for automated blocks.
static STATEMENTS: LazyLock<[[[Statements; 2]; 2]; 2]> = LazyLock::new(|| {
    [item::barcode_is("$1::text"), "item.id = $1".to_owned()].map(|item| {
        [false, true].map(|title_level| [false, true].map(|counts| statements_of(&item, title_level, counts)))
    })
});

fn statements_of(item: &str, title_level: bool, counts: bool) -> Statements {
    let (loans, fees) = if counts {
        (patron_blocks::open_loans_sql("loan.user_id"), patron_blocks::open_fees_sql("loan.user_id"))
    } else {
        ("NULL::jsonb".to_owned(), "NULL::jsonb".to_owned())
    };
    Statements {
        lock_item: format!(
            "SELECT 1 FROM item_state WHERE item_id IN (SELECT item.id FROM item WHERE {item})
             ORDER BY item_id FOR NO KEY UPDATE"
        ),
        lock_loan: format!(
            "SELECT 1 FROM loan WHERE {OPEN} AND item_id IN (SELECT item.id FROM item WHERE {item})
             ORDER BY id FOR NO KEY UPDATE"
        ),
        facts: format!(
            "SELECT (SELECT value FROM settings_version WHERE id = 1),
                 (SELECT jsonb_agg(b.doc) FROM manualblocks b WHERE b.user_id = loan.user_id),
                 {loans}, {fees}, {columns}
             FROM (SELECT 1) one
             LEFT JOIN ({tables}) ON {item}
             LEFT JOIN loan ON loan.item_id = item.id AND loan.{OPEN}
             LEFT JOIN users patron ON patron.id = loan.user_id
             ORDER BY loan.id NULLS LAST LIMIT 1",
            columns = find::open_loan_columns(title_level),
            tables = item::TABLES,
        ),
    }
}
