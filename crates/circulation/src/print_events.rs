//! Print events: which pick slips were printed, when and by whom.
//!
//! Routes: `POST /circulation/print-events-entry`, which a library switches on by the setting
//! `printEventLogFeature`; `/print-events-storage/print-events-entry` and `…-status`. Changes print events and, in the same
//! transaction, `printDetails` of the requests.

use crate::records::requests::PRINT_EVENT;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router};
use carrel_records::{Failure, Refusal, time};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/print-events-entry", enter_at_desk);
    router.on("POST", PRINT_EVENT.path, enter);
    router.on("POST", "/print-events-storage/print-events-status", status);
}

/// Slips printed in one go.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    request_ids: Vec<Uuid>,
    requester_id: Uuid,
    requester_name: String,
    print_event_date: String,
}

/// Says the first thing that is wrong: the body, the setting, the requests.
async fn enter_at_desk(call: Call) -> Result<Answer, Failure> {
    let refused = |words: &str| Failure::from(Refusal::new(words).with("", ""));
    let body = call.object()?;
    let known = ["requestIds", "requesterId", "requesterName", "printEventDate"];
    let complete = known.iter().all(|key| body.get(*key).is_some_and(|value| !value.is_null()))
        && body.keys().all(|key| known.contains(&key.as_str()))
        && body["requestIds"].as_array().is_some_and(|ids| !ids.is_empty());
    if !complete {
        // FOLIO quirk: two blanks.
        return Err(refused("Print Event Request  JSON is invalid"));
    }
    let settings = call
        .tenant()?
        .writer()
        .await?
        .query(
            "SELECT doc->'value'->>'enablePrintLog' FROM circulation_settings WHERE doc->>'name' = $1",
            vec!["printEventLogFeature".into()],
        )
        .await?;
    match settings.as_slice() {
        [] => return Err(refused("No configuration found for print event feature")),
        [setting] if setting.get::<_, Option<String>>(0).as_deref() == Some("true") => {}
        [_] => return Err(refused("print event feature is disabled for this tenant")),
        [_, _, ..] => return Err(refused("Multiple configurations found for print event feature")),
    }
    let printed: Printed = call.read_json()?;
    let rows = call
        .tenant()?
        .writer()
        .await?
        .query("SELECT count(*) FROM request WHERE id = ANY($1)", vec![printed.request_ids.clone().into()])
        .await?;
    let found: i64 = rows.first().map_or(0, |row| row.get(0));
    if found != printed.request_ids.len() as i64 {
        return Err(refused("invalid request found"));
    }
    note(&call, printed).await?;
    Ok(Answer::no_content())
}

async fn enter(call: Call) -> Result<Answer, Failure> {
    note(&call, call.read_json()?).await?;
    Ok(Answer::text(StatusCode::CREATED, ""))
}

async fn note(call: &Call, printed: Printed) -> Result<(), Failure> {
    refuse_if_nothing_was_printed(&printed.request_ids)?;
    let Some(moment) = time::parse(&printed.print_event_date) else {
        return Err(Refusal::new("printEventDate must be a date and time")
            .with("printEventDate", printed.print_event_date)
            .into());
    };
    let when = time::format(moment);
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    // The requests are held in one order, so that two desks do not wait for each other.
    let rows = tx
        .query(
            "SELECT id, (SELECT count(*) FROM print_events WHERE request_id = request.id)
             FROM request WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
            vec![printed.request_ids.clone().into()],
        )
        .await?;
    let mut pipeline = Pipeline::new();
    for id in &printed.request_ids {
        let event = json!({
            "requestId": id,
            "requesterId": printed.requester_id,
            "requesterName": printed.requester_name,
            "printEventDate": when,
        });
        let Value::Object(event) = event else { continue };
        let ready = write::prepare_new(&PRINT_EVENT, event, &call.caller, call.now)?;
        write::insert(&mut pipeline, &tenant.id, &PRINT_EVENT, &ready, call.now);
    }
    for row in &rows {
        let (id, before): (Uuid, i64) = (row.get(0), row.get(1));
        let now_printed = printed.request_ids.iter().filter(|printed| **printed == id).count() as i64;
        let details = json!({"printDetails": {
            "printCount": before + now_printed,
            "requesterId": printed.requester_id,
            "isPrinted": true,
            "printEventDate": when,
        }});
        pipeline.add(
            "UPDATE request SET doc = doc || $2 WHERE id = $1",
            vec![id.into(), Bind::Json(details.to_string())],
        );
    }
    tx.send_and_commit(pipeline).await?;
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedFor {
    request_ids: Vec<Uuid>,
}

/// How often the slip of each request was printed, and the last time.
async fn status(call: Call) -> Result<Answer, Failure> {
    let asked: AskedFor = call.read_json()?;
    refuse_if_nothing_was_printed(&asked.request_ids)?;
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            "SELECT DISTINCT ON (request_id) doc, count(*) OVER (PARTITION BY request_id)
             FROM print_events WHERE request_id = ANY($1)
             ORDER BY request_id, (doc->>'printEventDate')::timestamptz DESC",
            vec![asked.request_ids.into()],
        )
        .await?;
    let reported: Vec<Value> = rows
        .iter()
        .map(|row| {
            let last = row.get::<_, Json>(0).parse();
            json!({
                "requestId": last["requestId"],
                "requesterId": last["requesterId"],
                "requesterName": last["requesterName"],
                "count": row.get::<_, i64>(1),
                "printEventDate": last["printEventDate"],
            })
        })
        .collect();
    Ok(Answer::json(&json!({"printEventsStatusResponses": reported, "totalRecords": reported.len()})))
}

fn refuse_if_nothing_was_printed(requests: &[Uuid]) -> Result<(), Failure> {
    if !requests.is_empty() {
        return Ok(());
    }
    Err(Refusal::new("size must be between 1 and 2147483647").with("requestIds", "[]").into())
}
