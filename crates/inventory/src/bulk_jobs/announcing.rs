//! Publishes an event for each instance, a thousand in a step.

use super::step::{BulkJob, Kind, Visited};
use carrel_platform::{Bind, Pipeline, Tx};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::json;

/// Reads the next instances and adds their events.
pub async fn visit(tx: &mut Tx, tenant: &str, kind: Kind, bulk_job: &BulkJob) -> Result<Visited, Failure> {
    let (topic, event, counted) = match kind {
        Kind::Iteration => {
            let parameters = &bulk_job.document["jobParams"];
            let text = |name: &str, other: &str| parameters[name].as_str().unwrap_or(other).to_owned();
            (text("topicName", ""), text("eventType", "ITERATE"), "messagesPublished")
        }
        Kind::Reindex | Kind::Migration => {
            ("inventory.instance".to_owned(), "REINDEX".to_owned(), "published")
        }
    };
    let ids = bulk_job.next(tx, "SELECT id FROM instance WHERE id > $1 ORDER BY id LIMIT $2::bigint").await?;
    let mut changes = Pipeline::new();
    changes.add(
        "INSERT INTO outbox (topic, key, payload, created)
         SELECT $1, one.id::text, $3::json, $4 FROM unnest($2::uuid[]) WITH ORDINALITY AS one (id, place)
         ORDER BY one.place",
        vec![
            topic.into(),
            ids.clone().into(),
            Bind::from(&json!({"type": event, "tenant": tenant})),
            Timestamp::now().into(),
        ],
    );
    let mut document = bulk_job.document.clone();
    document[counted] = (document[counted].as_i64().unwrap_or(0) + ids.len() as i64).into();
    Ok(Visited { ids, changes, document })
}
