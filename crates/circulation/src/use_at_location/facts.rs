//! The item, locked, and its open loan.

use super::UseAtLocationRequest;
use crate::desk::{ItemAtDesk, item};
use crate::records::loans::OPEN;
use crate::settings::CirculationSettings;
use carrel_platform::{Json, Pipeline, Tenant, Tx};
use carrel_records::Failure;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// The facts of the decision.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub item: Option<ItemAtDesk>,
    /// The open loan as stored.
    pub loan: Option<Map<String, Value>>,
    pub borrower_barcode: Option<String>,
}

/// Locks the item and reads all facts.
pub async fn gather(
    tenant: &Arc<Tenant>,
    command: &UseAtLocationRequest,
) -> Result<(Tx, Facts, Arc<CirculationSettings>), Failure> {
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let barcode = command.item_barcode();
    pipeline.add(LOCK_ITEM.as_str(), vec![barcode.into()]);
    let facts = pipeline.add(SELECT.as_str(), vec![barcode.into()]);
    let results = tx.send(pipeline).await?;
    let row = results.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
    let settings_version: i64 = row.get(0);
    tenant.saw_settings_version(settings_version);
    let settings = CirculationSettings::at_least_within(tenant, &mut tx, settings_version).await?;
    let loan = match row.get::<_, Option<Json>>(1).map(|json| json.parse()) {
        Some(Value::Object(loan)) => Some(loan),
        _ => None,
    };
    let facts = Facts { loan, borrower_barcode: row.get(2), item: ItemAtDesk::read(row, 3)? };
    Ok((tx, facts, settings))
}

static LOCK_ITEM: LazyLock<String> = LazyLock::new(|| item::lock("$1::text"));

static SELECT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT (SELECT value FROM settings_version WHERE id = 1), loan.doc, borrower.doc->>'barcode', {columns}
         FROM (SELECT 1) one
         LEFT JOIN ({tables}) ON {item}
         LEFT JOIN loan ON loan.item_id = item.id AND loan.{OPEN}
         LEFT JOIN users borrower ON borrower.id = loan.user_id",
        columns = item::COLUMNS,
        tables = item::TABLES,
        item = item::barcode_is("$1::text"),
    )
});
