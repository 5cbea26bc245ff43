//! FOLIO's only migration: items without an order number within their holdings record get one, sorted by barcode.

use super::step::{BulkJob, Visited};
use carrel_platform::{Pipeline, Tx};
use carrel_records::Failure;
use serde_json::{Value, json};

/// FOLIO's name of the migration.
pub const NAME: &str = "itemOrderMigration";
/// What it changes.
pub const AFFECTS: &str = "ITEM";

/// Reads the next holdings records and adds the statements that number their items.
pub async fn visit(tx: &mut Tx, bulk_job: &BulkJob) -> Result<Visited, Failure> {
    // Locked as by writers of items, who reserve order numbers there.
    let ids = bulk_job
        .next(
            tx,
            "SELECT id FROM holdings_record
             WHERE id > $1 AND EXISTS (SELECT 1 FROM item WHERE item.holdings_record_id = holdings_record.id)
             ORDER BY id LIMIT $2::bigint FOR NO KEY UPDATE",
        )
        .await?;
    let mut changes = Pipeline::new();
    changes.add(
        "UPDATE item SET doc = jsonb_set(jsonb_set(item.doc, '{order}', numbered.place::text::jsonb),
             '{_version}', (coalesce((item.doc->>'_version')::integer, 0) + 1)::text::jsonb)
         FROM (SELECT one.id, row_number() OVER (PARTITION BY one.holdings_record_id
                   ORDER BY lower(one.doc->>'barcode'), one.id) AS place
               FROM item one WHERE one.holdings_record_id = ANY($1)) numbered
         WHERE item.id = numbered.id AND item.doc->>'order' IS DISTINCT FROM numbered.place::text",
        vec![ids.clone().into()],
    );
    changes.add(
        "INSERT INTO item_order (holdings_id, last_place)
         SELECT item.holdings_record_id, count(*)::integer FROM item WHERE item.holdings_record_id = ANY($1)
         GROUP BY item.holdings_record_id ORDER BY item.holdings_record_id
         ON CONFLICT (holdings_id) DO UPDATE SET last_place = excluded.last_place",
        vec![ids.clone().into()],
    );
    let mut document = bulk_job.document.clone();
    for name in ["published", "processed"] {
        let before = document[name][0]["count"].as_i64().unwrap_or(0);
        document[name] = counts(before + ids.len() as i64);
    }
    Ok(Visited { ids, changes, document })
}

fn counts(number: i64) -> Value {
    json!([{"migrationName": NAME, "count": number}])
}
