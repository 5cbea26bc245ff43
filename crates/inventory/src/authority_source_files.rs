//! Authority source files: the thesauri and name files that headings come from, with their prefixes, as
//! mod-entities-links stores them.
//!
//! Routes: `/authority-source-files…`. A library's own file (`local`) numbers its authorities: `POST …/{id}/hrid` gives the
//! next number once. Changes `authority_source_file` and `authority_source_file_number`.

use crate::records::authorities::{
    AUTHORITY_SOURCE_FILE, AUTHORITY_SOURCE_FILE_PATCH, NEW_AUTHORITY_SOURCE_FILE,
};
use carrel_platform::record_store::routes as plain;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Answer, Call, Pipeline, Router, Tx};
use carrel_records::{Failure, Refusal};
use serde_json::{Value, json};
use uuid::Uuid;

pub fn routes(router: &mut Router) {
    const ITEM: &str = "/authority-source-files/{id}";
    router.on("GET", AUTHORITY_SOURCE_FILE.path, |call| plain::list(&AUTHORITY_SOURCE_FILE, call));
    router.on("POST", AUTHORITY_SOURCE_FILE.path, create);
    router.on("GET", ITEM, find);
    router.on("PATCH", ITEM, patch);
    router.on("DELETE", ITEM, delete);
    router.on("POST", "/authority-source-files/{id}/hrid", next_hrid);
}

/// The files that FOLIO has for every library.
macro_rules! first_files {
    () => {
        include_str!("authority_source_files.json")
    };
}

/// The files of a new tenant that has reference records.
pub fn reference_records() -> Vec<(String, Value)> {
    let files: Vec<Value> = serde_json::from_str(first_files!()).expect("the files are JSON");
    files.into_iter().map(|file| (AUTHORITY_SOURCE_FILE.path.to_owned(), file)).collect()
}

/// SQL that gives a tenant of an older release the files of a new one, if it has FOLIO's reference records. They cannot
/// be deleted, so nothing comes back that a library does not want.
macro_rules! add_first_files {
    () => {
        concat!(
            "DO $do$
             DECLARE
                 moment text := to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"+00:00\"');
             BEGIN
                 INSERT INTO authority_source_file (id, doc)
                 SELECT (file->>'id')::uuid, file || jsonb_build_object('_version', 1, 'metadata',
                     jsonb_build_object('createdDate', moment, 'updatedDate', moment))
                 FROM jsonb_array_elements($files$",
            $crate::authority_source_files::first_files!(),
            "$files$) file
                 WHERE EXISTS (SELECT FROM instance_type WHERE id = '6312d172-f0cf-40f6-b27d-9fa8feaf332f')
                 ON CONFLICT DO NOTHING;
             END $do$;
            "
        )
    };
}
pub(crate) use {add_first_files, first_files};

/// Changes of source files wait for each other here, as names, prefixes and addresses are each used once.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtext('authority source files of ' || current_schema()))";

async fn find(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    plain::find(&AUTHORITY_SOURCE_FILE, call).await.map_err(|failure| match failure {
        Failure::NotFound(_) => not_found(id),
        failure => failure,
    })
}

fn not_found(id: Uuid) -> Failure {
    Failure::NotFound(format!("Authority Source File with ID [{id}] was not found"))
}

/// A file of the library's own, with one prefix.
async fn create(call: Call) -> Result<Answer, Failure> {
    let mut sent = call.object()?;
    write::check(&NEW_AUTHORITY_SOURCE_FILE, &mut sent, &call.caller)?;
    let code = sent.remove("code").unwrap_or_default();
    refuse_invalid_code(&code)?;
    let start = start_number(&sent).unwrap_or(1);
    sent.insert("codes".into(), json!([code]));
    sent.insert("source".into(), "local".into());
    sent.insert("hridManagement".into(), json!({"startNumber": start}));
    write_base_url(&mut sent)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    tx.query(LOCK, vec![]).await?;
    let ready = write::prepare_new(&AUTHORITY_SOURCE_FILE, sent, &call.caller, call.now)?;
    refuse_duplicates(&mut tx, ready.id, &ready.document, true).await?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &AUTHORITY_SOURCE_FILE, &ready, call.now);
    pipeline.add(NUMBER, vec![ready.id.into(), start.into()]);
    tx.send_and_commit(pipeline).await?;
    Ok(plain::created(&AUTHORITY_SOURCE_FILE, &ready))
}

const NUMBER: &str = "INSERT INTO authority_source_file_number (id, next) VALUES ($1, $2)
    ON CONFLICT (id) DO UPDATE SET next = excluded.next";

/// Changes what is sent and leaves the rest. Files that FOLIO brings keep their names and prefixes.
async fn patch(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut sent = call.object()?;
    sent.retain(|_, value| !value.is_null());
    write::check(&AUTHORITY_SOURCE_FILE_PATCH, &mut sent, &call.caller)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    tx.query(LOCK, vec![]).await?;
    let Some(stored) = write::lock(&mut tx, &AUTHORITY_SOURCE_FILE, id).await? else {
        return Err(not_found(id));
    };
    let stored = stored.parse();
    let start = start_number(&sent);
    if stored["source"] == "folio" {
        refuse_change_of_folios(&sent, start)?;
    }
    let Value::Object(mut changed) = stored.clone() else {
        return Err(Failure::internal("a stored source file is an object"));
    };
    if let Some(code) = sent.remove("code") {
        refuse_invalid_code(&code)?;
        changed.insert("codes".into(), json!([code]));
    }
    changed.extend(sent);
    write_base_url(&mut changed)?;
    refuse_duplicates(&mut tx, id, &changed, false).await?;
    let ready =
        write::prepare_replacement(&AUTHORITY_SOURCE_FILE, id, changed, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &AUTHORITY_SOURCE_FILE, &ready, &stored, call.now);
    if let Some(start) = start.filter(|start| stored["hridManagement"]["startNumber"] != *start) {
        pipeline.add(NUMBER, vec![id.into(), start.into()]);
    }
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

fn refuse_change_of_folios(sent: &Document, start: Option<i64>) -> Result<(), Failure> {
    let text = |name: &str| sent.get(name).and_then(Value::as_str).map(str::to_owned);
    let changes = [
        ("name", text("name")),
        ("code", text("code")),
        ("hridManagement.startNumber", start.map(|start| start.to_string())),
    ];
    let mut refusal =
        Refusal::new("Unable to patch. Authority source file source is FOLIO or it has authority references");
    let mut is_refused = false;
    for (name, value) in changes {
        if let Some(value) = value {
            refusal = refusal.with(name, value);
            is_refused = true;
        }
    }
    if is_refused { Err(refusal.into()) } else { Ok(()) }
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let (id, tenant) = (call.id(0)?, call.tenant()?);
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &AUTHORITY_SOURCE_FILE, id).await? else {
        return Err(not_found(id));
    };
    if stored.parse()["source"] == "folio" {
        return Err(Refusal::new("Cannot delete Authority source file with source 'folio'")
            .with("source", "FOLIO")
            .into());
    }
    write::delete(tx, tenant, &AUTHORITY_SOURCE_FILE, id, &call.node.records, call.now).await?;
    Ok(Answer::no_content())
}

async fn next_hrid(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut tx = call.tenant()?.begin().await?;
    let Some(stored) = write::lock(&mut tx, &AUTHORITY_SOURCE_FILE, id).await? else {
        return Err(not_found(id));
    };
    let stored = stored.parse();
    let rows = tx
        .query(
            "UPDATE authority_source_file_number SET next = next + 1 WHERE id = $1 RETURNING next - 1 AS number",
            vec![id.into()],
        )
        .await?;
    let code =
        stored["codes"].as_array().filter(|codes| codes.len() == 1).and_then(|codes| codes[0].as_str());
    let (Some(code), Some(row)) = (code, rows.first()) else {
        let message = format!(
            "Cannot get next HRID for source file [id: {id}, cause: source file doesn't support HRID generation]"
        );
        return Err(Refusal::new(message).into());
    };
    let hrid = format!("{code}{}", row.get::<_, i64>("number"));
    tx.send_and_commit(Pipeline::new()).await?;
    Ok(Answer::json(&json!({"id": id, "hrid": hrid})))
}

fn start_number(sent: &Document) -> Option<i64> {
    sent.get("hridManagement").and_then(|management| management["startNumber"].as_i64())
}

fn refuse_invalid_code(code: &Value) -> Result<(), Failure> {
    let text = code.as_str().unwrap_or_default();
    if !text.is_empty() && text.chars().all(char::is_alphabetic) {
        return Ok(());
    }
    Err(Refusal::new("Authority Source File prefix should be non-empty sequence of letters")
        .with("code", text)
        .into())
}

/// An address has its protocol, no `www.`, and a slash at its end; an empty one is removed.
fn write_base_url(document: &mut Document) -> Result<(), Failure> {
    let Some(url) = document.get("baseUrl").and_then(Value::as_str) else { return Ok(()) };
    if url.is_empty() {
        document.remove("baseUrl");
        return Ok(());
    }
    let Some((protocol, rest)) = url.split_once("://").filter(|(_, rest)| !rest.is_empty()) else {
        return Err(Refusal::new(format!("no protocol: {url}")).with("baseUrl", url).into());
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let rest = rest.strip_prefix("www.").unwrap_or(rest).trim_end_matches('/');
    let written = format!("{protocol}://{rest}/");
    document.insert("baseUrl".into(), written.into());
    Ok(())
}

/// Another file with the id, name, address or one of the prefixes.
async fn refuse_duplicates(tx: &mut Tx, id: Uuid, document: &Document, is_new: bool) -> Result<(), Failure> {
    let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
    let rows = tx
        .query(
            "SELECT EXISTS (SELECT FROM authority_source_file WHERE id = $1) AS has_id,
                 coalesce(bool_or(doc->>'name' = $2), false) AS has_name,
                 coalesce(bool_or(split_part(doc->>'baseUrl', '://', 2) = split_part($3::text, '://', 2)), false) AS has_url,
                 coalesce(bool_or(doc->'codes' ?| ARRAY(SELECT jsonb_array_elements_text($4::jsonb))), false) AS has_code
             FROM authority_source_file WHERE id <> $1",
            vec![
                id.into(),
                text("name").into(),
                text("baseUrl").into(),
                (&document.get("codes").cloned().unwrap_or_default()).into(),
            ],
        )
        .await?;
    let Some(row) = rows.first() else { return Ok(()) };
    for (column, message, counts) in [
        ("has_id", "Authority Source File with the given 'id' already exists.", is_new),
        ("has_name", "Authority source file with the given 'name' already exists.", true),
        ("has_url", "Authority source file with the given 'baseUrl' already exists.", true),
        ("has_code", "Authority source file with the given 'code' already exists.", true),
    ] {
        if counts && row.get::<_, bool>(column) {
            return Err(Refusal::new(message).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_in_one_way() {
        let written = |url: &str| {
            let mut document = Document::new();
            document.insert("baseUrl".into(), url.into());
            write_base_url(&mut document).map(|()| document.get("baseUrl").cloned()).map_err(|_| ())
        };
        assert_eq!(written("http://www.a.org/x?y"), Ok(Some("http://a.org/x/".into())));
        assert_eq!(written("https://a.org/"), Ok(Some("https://a.org/".into())));
        assert_eq!(written(""), Ok(None));
        assert_eq!(written("a.org"), Err(()));
    }

    #[test]
    fn a_prefix_consists_of_letters() {
        let is_refused = |code: &str| refuse_invalid_code(&code.into()).is_err();
        assert!(is_refused("") && is_refused("a1") && is_refused("a b"));
        assert!(!is_refused("fst"));
    }
}
