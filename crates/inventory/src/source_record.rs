//! Source records: the MARC record of an instance, stored under the instance's id.
//!
//! Routes: GET, PUT and DELETE of `/instance-storage/instances/{id}/source-record/marc-json`, DELETE of
//! `/instance-storage/instances/{id}/source-record`. Changes `instance_source_marc` and, as FOLIO does, the
//! instance's `sourceRecordFormat` and version. It is deleted with its instance.

use crate::records::instances::{INSTANCE, MARC_JSON};
use carrel_platform::database::Json;
use carrel_platform::record_store::read;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Answer, Bind, Call, Pipeline, Router};
use carrel_records::Failure;
use serde_json::Value;

/// The instance's `sourceRecordFormat` while it has a source record.
const FORMAT: &str = "MARC-JSON";

/// Connects the routes.
pub fn routes(router: &mut Router) {
    let marc = "/instance-storage/instances/{id}/source-record/marc-json";
    router.on("GET", marc, show);
    router.on("PUT", marc, replace);
    router.on("DELETE", marc, delete);
    router.on("DELETE", "/instance-storage/instances/{id}/source-record", delete);
}

/// Keeps the stored format in a replaced instance: only the routes of the source record change it.
pub fn keep_format(new: &mut Document, old: Option<&Value>) {
    match old.and_then(|old| old.get("sourceRecordFormat")) {
        Some(format) => new.insert("sourceRecordFormat".into(), format.clone()),
        None => new.remove("sourceRecordFormat"),
    };
}

async fn show(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    match read::find(&connection, &MARC_JSON, call.id(0)?).await? {
        Some(record) => Ok(Answer::document(record)),
        None => Err(Failure::NotFound("Not found".into())),
    }
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut record = call.object()?;
    record.insert("id".into(), id.to_string().into());
    write::check(&MARC_JSON, &mut record, &call.caller)?;
    let mut tx = call.tenant()?.begin().await?;
    if write::lock(&mut tx, &INSTANCE, id).await?.is_none() {
        return Err(Failure::NotFound(format!("There is no instance {id}")));
    }
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "INSERT INTO instance_source_marc (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET doc = $2",
        vec![id.into(), Bind::from(&Value::Object(record))],
    );
    pipeline.add(
        "UPDATE instance SET doc = doc || jsonb_build_object('sourceRecordFormat', $2::text,
             '_version', coalesce((doc->>'_version')::int, 0) + 1) WHERE id = $1",
        vec![id.into(), FORMAT.into()],
    );
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut tx = call.tenant()?.begin().await?;
    // Locks the instance first, in the same order as the writers of source records.
    write::lock(&mut tx, &INSTANCE, id).await?;
    let sql = "DELETE FROM instance_source_marc WHERE id = $1 RETURNING doc";
    let gone: Option<Json> = tx.query(sql, vec![id.into()]).await?.first().map(|row| row.get(0));
    if gone.is_none() {
        return Err(Failure::NotFound("Not found".into()));
    }
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "UPDATE instance SET doc = (doc - 'sourceRecordFormat')
             || jsonb_build_object('_version', coalesce((doc->>'_version')::int, 0) + 1) WHERE id = $1",
        vec![id.into()],
    );
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_replaced_instance_keeps_its_source_record_format() {
        let saved = |sent: Value, old: Value| {
            let Value::Object(mut new) = sent else { panic!("an object") };
            keep_format(&mut new, Some(&old));
            Value::Object(new)
        };
        let with = json!({"sourceRecordFormat": FORMAT});
        assert_eq!(saved(json!({}), with.clone()), with);
        assert_eq!(saved(with, json!({})), json!({}));
    }
}
