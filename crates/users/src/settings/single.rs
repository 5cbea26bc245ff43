//! Record types of which a tenant has one record.

use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Bind, Call, Json, Pipeline};
use carrel_records::{Failure, RecordType};
use serde_json::Value;
use uuid::Uuid;

/// The stored record without its id; `None` before it is first stored.
pub async fn find(call: &Call, record: &RecordType) -> Result<Option<Value>, Failure> {
    let sql = format!("SELECT doc FROM {} ORDER BY id LIMIT 1", record.table);
    let rows = call.tenant()?.reader().await?.query(sql, vec![]).await?;
    Ok(rows.first().map(|row| {
        let mut value = row.get::<_, Json>("doc").parse();
        if let Some(document) = value.as_object_mut() {
            document.remove("id");
        }
        value
    }))
}

/// Stores or replaces the record; the first one gets the id `first_id`.
pub async fn store(
    call: &Call,
    record: &'static RecordType,
    first_id: Uuid,
    mut document: Document,
) -> Result<(), Failure> {
    document.remove("id");
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let sql = format!("SELECT id FROM {} ORDER BY id LIMIT 1 FOR NO KEY UPDATE", record.table);
    let id = tx.query(sql, vec![]).await?.first().map_or(first_id, |row| row.get("id"));
    document.insert("id".into(), id.to_string().into());
    let ready = write::prepare_new(record, document, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    pipeline.add(
        format!(
            "INSERT INTO {} (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET doc = EXCLUDED.doc",
            record.table
        ),
        vec![id.into(), Bind::Json(Value::Object(ready.document).to_string())],
    );
    tx.send_and_commit(pipeline).await?;
    Ok(())
}
