//! Notes for staff on a patron.

use carrel_platform::{Pipeline, record_store::write::uuid_time};
use carrel_records::metadata;
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

/// Adds a general note on the patron; without a note type "General note" none is added.
pub fn add(pipeline: &mut Pipeline, patron: &str, words: &'static str, by: Option<Uuid>, now: Timestamp) {
    let id = Uuid::new_v7(uuid_time(now));
    let note = json!({
        "id": id, "title": words, "content": words, "domain": "users", "type": "General note",
        "links": [{"id": patron, "type": "user"}], "metadata": metadata::created(by, now),
    });
    pipeline.add(
        "INSERT INTO note (id, doc)
         SELECT $1, jsonb_set($2::jsonb, '{typeId}', ('\"' || kind.id::text || '\"')::jsonb)
         FROM note_type kind WHERE kind.doc->>'name' = 'General note' LIMIT 1",
        vec![id.into(), (&note).into()],
    );
}
