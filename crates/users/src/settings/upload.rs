//! Many settings at once: created where scope, key and user are new, else replaced.

use super::access::{Operation, is_allowed_on};
use super::entries::forbidden;
use crate::records::settings::SETTINGS_ENTRY;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::Failure;
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("PUT", "/settings/upload", upload);
}

async fn upload(call: Call) -> Result<Answer, Failure> {
    let entries: Vec<Document> = serde_json::from_value(call.value()?)
        .map_err(|error| Failure::Invalid(format!("The body is not a list of settings: {error}")))?;
    for entry in &entries {
        if entry.contains_key("id") {
            return Err(Failure::Invalid("No id must supplied for upload".into()));
        }
        if !call.caller.profile.unlimited_permissions
            && !is_allowed_on(&call.caller, Operation::Write, &Value::Object(entry.clone()))
        {
            return Err(forbidden());
        }
    }
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let (mut inserted, mut updated) = (0, 0);
    // One after the other, as a key may come twice, in one transaction.
    for entry in entries {
        let mut pipeline = Pipeline::new();
        match find_stored(&mut tx, &entry).await? {
            None => {
                let ready =
                    write::prepare_new(&SETTINGS_ENTRY, with_id(entry, &call), &call.caller, call.now)?;
                write::insert(&mut pipeline, tenant, &SETTINGS_ENTRY, &ready, call.now);
                inserted += 1;
            }
            Some((id, before)) => {
                let mut entry = entry;
                entry.insert("id".into(), id.to_string().into());
                let before = before.parse();
                let ready =
                    write::prepare_replacement(&SETTINGS_ENTRY, id, entry, &before, &call.caller, call.now)?;
                write::update(&mut pipeline, tenant, &SETTINGS_ENTRY, &ready, &before, call.now);
                updated += 1;
            }
        }
        tx.send(pipeline).await?;
    }
    tx.commit().await?;
    Ok(Answer::json(&json!({"inserted": inserted, "updated": updated})))
}

fn with_id(mut entry: Document, call: &Call) -> Document {
    entry.insert("id".into(), Uuid::new_v7(write::uuid_time(call.now)).to_string().into());
    entry
}

async fn find_stored(tx: &mut Tx, entry: &Document) -> Result<Option<(Uuid, Json)>, Failure> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let user = text("userId").and_then(|id| Uuid::parse_str(id).ok());
    let rows = tx
        .query(
            "SELECT id, doc FROM settings
             WHERE doc->>'scope' = $1 AND doc->>'key' = $2 AND user_id IS NOT DISTINCT FROM $3::uuid
             FOR NO KEY UPDATE",
            vec![
                text("scope").unwrap_or_default().into(),
                text("key").unwrap_or_default().into(),
                user.into(),
            ],
        )
        .await?;
    Ok(rows.first().map(|row| (row.get("id"), row.get("doc"))))
}
