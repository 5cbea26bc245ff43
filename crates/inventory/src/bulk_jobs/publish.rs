//! Records of a range of ids, published in full for a search engine that rebuilds its index.

use crate::item_state;
use carrel_platform::{Answer, Call, Pipeline, outbox};
use carrel_records::{Failure, Refusal};
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

/// Records in one event.
const AT_ONCE: i64 = 1_000;
const TOPIC: &str = "inventory.reindex-records";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublishRequest {
    id: Option<Uuid>,
    record_type: Option<String>,
    record_ids_range: Option<Range>,
}

#[derive(Deserialize)]
struct Range {
    from: Option<Uuid>,
    to: Option<Uuid>,
}

/// `POST /inventory-reindex-records/publish`.
pub async fn publish(call: Call) -> Result<Answer, Failure> {
    let request: PublishRequest = call.read_json()?;
    let missing = |name: &str| Failure::from(Refusal::new("must not be null").with_null(name));
    let id = request.id.ok_or_else(|| missing("id"))?;
    let kind = request.record_type.ok_or_else(|| missing("recordType"))?;
    let range = request.record_ids_range.ok_or_else(|| missing("recordIdsRange"))?;
    let from = range.from.ok_or_else(|| missing("recordIdsRange.from"))?;
    let to = range.to.ok_or_else(|| missing("recordIdsRange.to"))?;
    let records = records(&kind).ok_or_else(|| {
        Refusal::new("must be one of: instance, item, holdings").with("recordType", kind.clone())
    })?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let sql = format!(
        "INSERT INTO outbox (topic, key, payload, created)
         SELECT $1, $2, json_build_object('records', json_agg(part.doc ORDER BY part.place),
             'recordType', $3::text, 'tenant', $4::text), $5
         FROM (SELECT record.doc, row_number() OVER (ORDER BY record.id) AS place FROM ({records}) record) part
         GROUP BY (part.place - 1) / {AT_ONCE} ORDER BY min(part.place) RETURNING 1"
    );
    let binds = vec![
        TOPIC.into(),
        id.to_string().into(),
        kind.as_str().into(),
        tenant.id.as_str().into(),
        call.now.into(),
        from.into(),
        to.into(),
    ];
    let published = tx.query(sql, binds).await?;
    let mut pipeline = Pipeline::new();
    if published.is_empty() {
        // The requester waits for an event of this range, also if it is empty.
        let nothing = json!({"records": [], "recordType": kind, "tenant": tenant.id});
        outbox::announce(&mut pipeline, TOPIC, id.to_string(), nothing.to_string(), call.now);
    }
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::text(StatusCode::CREATED, ""))
}

/// `id` and `doc` of the records from `$6` to `$7`, in the form of FOLIO's reindex events.
fn records(kind: &str) -> Option<String> {
    Some(match kind {
        "instance" => "SELECT instance.id, instance.doc || jsonb_build_object('isBoundWith', EXISTS (
                 SELECT 1 FROM holdings_record held JOIN bound_with_part part ON part.holdings_record_id = held.id
                 WHERE held.instance_id = instance.id)) AS doc
             FROM instance WHERE instance.id BETWEEN $6 AND $7
                 AND coalesce(instance.doc->>'source', '') NOT LIKE 'CONSORTIUM-%'"
            .to_owned(),
        "holdings" => "SELECT id, doc FROM holdings_record WHERE id BETWEEN $6 AND $7".to_owned(),
        "item" => format!(
            "SELECT item.id, {} || jsonb_build_object('instanceId', held.instance_id) AS doc
             FROM {} JOIN holdings_record held ON held.id = item.holdings_record_id
             WHERE item.id BETWEEN $6 AND $7",
            item_state::DOCUMENT,
            item_state::FROM
        ),
        _ => return None,
    })
}
