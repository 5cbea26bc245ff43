//! Print events: the printing of pick slips, with time and user.
//!
//! Routes: `POST /circulation/print-events-entry`, which the setting `printEventLogFeature` enables;
//! `/print-events-storage/print-events-entry` and `…-status`. Changes print events and, in the same transaction,
//! `printDetails` of the requests.

use crate::records::PRINT_EVENT;
use carrel_circulation::records::policies::CIRCULATION_SETTING;
use carrel_platform::record_store::read::{self, PageRequest};
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router};
use carrel_records::shape::{NOT_A_UUID, Shape, is_uuid};
use carrel_records::{Failure, Refusal, RefusalCode, time};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::LazyLock;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/print-events-entry", enter_at_desk);
    router.on("POST", PRINT_EVENT.path, enter);
    router.on("POST", "/print-events-storage/print-events-status", status);
}

/// Slips printed together.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Printed {
    request_ids: Vec<String>,
    requester_id: String,
    requester_name: String,
    print_event_date: String,
}

static PRINTED: LazyLock<Shape> = LazyLock::new(|| {
    Shape::parse(
        "requestIds:array<string>(uuid,items=1..)=[]
         requesterId:string(uuid)*
         requesterName:string(like=not-blank)*
         printEventDate:string(date-time)*",
        false,
    )
});
static STATUS: LazyLock<Shape> =
    LazyLock::new(|| Shape::parse("requestIds:array<string>(uuid,items=1..)=[]", false));

/// FOLIO matches settings by this word in their name, so `printEventLogFeature 2` counts as a second one.
static SETTING: LazyLock<PageRequest> = LazyLock::new(|| PageRequest::all("name=printEventLogFeature"));

/// Reports the first error: of the body, the setting, or the requests.
async fn enter_at_desk(call: Call) -> Result<Answer, Failure> {
    let refused = |request: &str| Failure::from(Refusal::new(request).with("", ""));
    let body = call.object()?;
    let known = ["requestIds", "requesterId", "requesterName", "printEventDate"];
    let complete = known.iter().all(|key| body.get(*key).is_some_and(|value| !value.is_null()))
        && body.keys().all(|key| known.contains(&key.as_str()))
        && body["requestIds"].as_array().is_some_and(|ids| !ids.is_empty());
    if !complete {
        // FOLIO quirk: two spaces.
        return Err(refused("Print Event Request  JSON is invalid"));
    }
    let connection = call.tenant()?.writer().await?;
    let settings = read::list(&connection, &CIRCULATION_SETTING, &call.node.records, &SETTING).await?;
    let enabled = |setting: &Json| match &setting.parse()["value"]["enablePrintLog"] {
        Value::String(text) => text.eq_ignore_ascii_case("true"),
        value => *value == true,
    };
    match settings.documents.as_slice() {
        [] => return Err(refused("No configuration found for print event feature")),
        [setting] if enabled(setting) => {}
        [_] => return Err(refused("print event feature is disabled for this tenant")),
        [_, _, ..] => return Err(refused("Multiple configurations found for print event feature")),
    }
    let printed: Printed = call.read_json()?;
    let ids: Option<Vec<Uuid>> = printed.request_ids.iter().map(|id| Uuid::parse_str(id).ok()).collect();
    let ids = ids.ok_or_else(|| refused("invalid request found"))?;
    let requested = ids.len() as i64;
    let rows = connection.query("SELECT count(*) FROM request WHERE id = ANY($1)", vec![ids.into()]).await?;
    drop(connection);
    let found: i64 = rows.first().map_or(0, |row| row.get(0));
    if found != requested {
        return Err(refused("invalid request found"));
    }
    write_events(&call, printed).await?;
    Ok(Answer::no_content())
}

async fn enter(call: Call) -> Result<Answer, Failure> {
    write_events(&call, call.read_checked(&PRINTED)?).await?;
    Ok(Answer::text(StatusCode::CREATED, ""))
}

async fn write_events(call: &Call, printed: Printed) -> Result<(), Failure> {
    let requests = ids("requestIds", &printed.request_ids)?;
    let requester = id("requesterId", &printed.requester_id)?;
    let Some(moment) = time::parse(&printed.print_event_date) else {
        return Err(Refusal::new("printEventDate must be a date and time")
            .with("printEventDate", printed.print_event_date)
            .into());
    };
    let when = time::format(moment);
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    // Requests are locked in a fixed order, so that two calls do not deadlock.
    let rows = tx
        .query(
            "SELECT id, (SELECT count(*) FROM print_events WHERE request_id = request.id)
             FROM request WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE",
            vec![requests.clone().into()],
        )
        .await?;
    let mut pipeline = Pipeline::new();
    for id in &requests {
        let event = json!({
            "requestId": id,
            "requesterId": requester,
            "requesterName": printed.requester_name,
            "printEventDate": when,
        });
        let Value::Object(event) = event else { continue };
        let ready = write::prepare_new(&PRINT_EVENT, event, &call.caller, call.now)?;
        write::insert(&mut pipeline, tenant, &PRINT_EVENT, &ready, call.now);
    }
    for row in &rows {
        let (id, before): (Uuid, i64) = (row.get(0), row.get(1));
        let now_printed = requests.iter().filter(|printed| **printed == id).count() as i64;
        let details = json!({"printDetails": {
            "printCount": before + now_printed,
            "requesterId": requester,
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
struct StatusQuery {
    request_ids: Vec<String>,
}

/// How often the slip of each request was printed, and when last.
async fn status(call: Call) -> Result<Answer, Failure> {
    let query: StatusQuery = call.read_checked(&STATUS)?;
    let requests = ids("requestIds", &query.request_ids)?;
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            "SELECT DISTINCT ON (request_id) doc, count(*) OVER (PARTITION BY request_id)
             FROM print_events WHERE request_id = ANY($1)
             ORDER BY request_id, (doc->>'printEventDate')::timestamptz DESC",
            vec![requests.into()],
        )
        .await?;
    let responses: Vec<Value> = rows
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
    Ok(Answer::json(&json!({"printEventsStatusResponses": responses, "totalRecords": responses.len()})))
}

const SIZE: RefusalCode = RefusalCode::ConstraintSize;
const PATTERN: RefusalCode = RefusalCode::ConstraintPattern;

/// The ids of a list, at least one; a text that is not a UUID is refused as by FOLIO's schema.
fn ids(key: &str, texts: &[String]) -> Result<Vec<Uuid>, Refusal> {
    if texts.is_empty() {
        return Err(Refusal::new("size must be between 1 and 2147483647")
            .with(key, "[]")
            .kind("1")
            .code(SIZE));
    }
    texts.iter().enumerate().map(|(index, text)| id(&format!("{key}[{index}]"), text)).collect()
}

fn id(key: &str, text: &str) -> Result<Uuid, Refusal> {
    Uuid::parse_str(text)
        .ok()
        .filter(|_| is_uuid(text))
        .ok_or_else(|| Refusal::new(NOT_A_UUID).with(key, text).kind("1").code(PATTERN))
}
