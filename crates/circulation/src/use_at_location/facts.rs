//! The item and its open loan, with the item locked as by every scan.

use super::Order;
use crate::desk::{ItemAtDesk, item};
use crate::records::loans::OPEN;
use crate::rulebook::Rulebook;
use carrel_platform::{Flight, Json, Tenant, Tx};
use carrel_records::Failure;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// What is known when the decision is made.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub item: Option<ItemAtDesk>,
    /// The open loan as stored.
    pub loan: Option<Map<String, Value>>,
    pub borrower_barcode: Option<String>,
}

/// Locks the item and reads all facts.
pub async fn gather(tenant: &Arc<Tenant>, order: &Order) -> Result<(Tx, Facts, Arc<Rulebook>), Failure> {
    let mut tx = tenant.begin().await?;
    let mut flight = Flight::new();
    let barcode = order.item_barcode();
    flight.add(LOCK_ITEM.as_str(), vec![barcode.into()]);
    let facts = flight.add(SELECT.as_str(), vec![barcode.into()]);
    let landed = tx.fly(flight).await?;
    let row = landed.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
    let stamp: i64 = row.get(0);
    tenant.saw_stamp(stamp);
    let book = Rulebook::at_least(tenant, stamp).await?;
    let loan = match row.get::<_, Option<Json>>(1).map(|json| json.parse()) {
        Some(Value::Object(loan)) => Some(loan),
        _ => None,
    };
    let facts = Facts { loan, borrower_barcode: row.get(2), item: ItemAtDesk::read(row, 3)? };
    Ok((tx, facts, book))
}

static LOCK_ITEM: LazyLock<String> = LazyLock::new(|| item::lock("$1::text"));

static SELECT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT (SELECT value FROM stamp WHERE id = 1), loan.doc, borrower.doc->>'barcode', {columns}
         FROM (SELECT 1) one
         LEFT JOIN ({tables}) ON {item}
         LEFT JOIN loan ON loan.item_id = item.id AND loan.{OPEN}
         LEFT JOIN users borrower ON borrower.id = loan.user_id",
        columns = item::COLUMNS,
        tables = item::TABLES,
        item = item::barcode_is("$1::text"),
    )
});
