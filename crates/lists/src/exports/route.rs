//! Routes of exports: `/lists/{id}/exports…`.

use crate::answers::lists::{Action, INVALID};
use crate::answers::{Outcome, answered};
use crate::engine;
use crate::engine::jobs::{self, Job, Kind, NewJob};
use crate::saved_lists::{
    self, List, named, refuse_if_inactive, refuse_if_private_of_another, refuse_if_refreshing,
};
use bytes::Bytes;
use carrel_platform::http::Rest;
use carrel_platform::{Answer, Call, Pipeline, Router, Tenant};
use carrel_records::{Failure, time};
use http::StatusCode;
use http::header::CONTENT_DISPOSITION;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/lists/{id}/exports", |call| answered(INVALID, begin(call)));
    router.on("GET", "/lists/{id}/exports/{exportId}", |call| answered(INVALID, find(call)));
    router.on("POST", "/lists/{id}/exports/{exportId}/cancel", |call| answered(INVALID, cancel(call)));
    router.on("GET", "/lists/{id}/exports/{exportId}/download", |call| answered(INVALID, download(call)));
}

async fn begin(call: Call) -> Outcome<Answer> {
    let list = saved_lists::of_permitted_type(&call, call.id(0)?, Action::Export).await?;
    let fields = fields_of(&call)?.unwrap_or_else(|| list.fields.clone());
    // FOLIO quirk: the other actions refuse a private list first.
    refuse_if_inactive(&list, Action::Export)?;
    refuse_if_private_of_another(&list, call.caller.user_id, Action::Export)?;
    refuse_if_refreshing(&list, Action::Export)?;
    let of_list = list.job(Kind::Export, call.caller.user_id);
    // The result and its size as one statement has read them.
    let (result_id, max_size) = list.success.as_ref().map_or((None, 0), |job| (job.result_id, job.records));
    let job = NewJob { fields, result_id, max_size, ..of_list };
    let id = job.id;
    let tenant = call.tenant()?;
    let connection = tenant.writer().await?;
    let mut pipeline = Pipeline::new();
    job.add_to(&mut pipeline);
    connection.send(pipeline).await.map_err(|error| match error.is_unique_violation() {
        true => Action::Export.exporting(list.id, &list.name),
        false => Failure::from(error).into(),
    })?;
    let job = jobs::find(&connection, id, Kind::Export).await?;
    engine::submit(&call.node, &tenant.id);
    let job = job.ok_or_else(|| Failure::internal("a stored export is not found"))?;
    Ok(Answer::created(&view(&job)))
}

/// The fields of the body, which may be missing.
fn fields_of(call: &Call) -> Result<Option<Vec<String>>, Failure> {
    if call.body.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    match call.value()? {
        Value::Null => Ok(None),
        Value::Array(names) if names.is_empty() => Ok(None),
        Value::Array(names) => {
            let text = |name: &Value| name.as_str().map(str::to_owned);
            let names: Option<Vec<String>> = names.iter().map(text).collect();
            names.map(Some).ok_or_else(|| Failure::Invalid("The body is an array of names of fields".into()))
        }
        _ => Err(Failure::Invalid("The body is an array of names of fields".into())),
    }
}

fn view(job: &Job) -> Value {
    let mut shown = json!({
        "exportId": job.id,
        "listId": job.list_id,
        "status": job.status(),
        "startDate": time::format(job.created),
        "fields": job.fields,
    });
    if let Some(ended) = job.ended {
        shown["endDate"] = time::format(ended).into();
    }
    if let Some(user) = job.user_id {
        shown["createdBy"] = user.to_string().into();
    }
    shown
}

/// An export of a list that the caller may export.
async fn export_of(call: &Call, action: Action) -> Outcome<(List, Job)> {
    let (list, id) = (call.id(0)?, call.id(1)?);
    let connection = call.tenant()?.writer().await?;
    let job = jobs::find(&connection, id, Kind::Export).await?;
    drop(connection);
    let job = job.filter(|job| job.list_id == Some(list));
    let job = job.ok_or_else(|| action.export_not_found(list, id))?;
    Ok((saved_lists::permitted(call, list, action).await?, job))
}

async fn find(call: Call) -> Outcome<Answer> {
    let (_, job) = export_of(&call, Action::Export).await?;
    engine::nudge(&call.node, call.tenant()?, &job);
    Ok(Answer::json(&view(&job)))
}

async fn cancel(call: Call) -> Outcome<Answer> {
    let (list, job) = export_of(&call, Action::CancelExport).await?;
    let connection = call.tenant()?.writer().await?;
    match jobs::cancel_of_list(&connection, list.id, Kind::Export, Some(job.id)).await? {
        Some(id) => {
            engine::of(&call.node).cancelled(id);
            Ok(Answer::no_content())
        }
        None => Err(Action::CancelExport.export_not_in_progress(list.id, job.id)),
    }
}

async fn download(call: Call) -> Outcome<Answer> {
    let (list, job) = export_of(&call, Action::Export).await?;
    if job.state != "done" {
        return Err(Action::Export.export_not_found(list.id, job.id));
    }
    let tenant = Arc::clone(call.tenant()?);
    let parts = parts(&tenant, job.id).await?;
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(send_parts(tenant, job.id, parts, sender));
    Ok(Answer { content_type: "application/octet-stream", ..Answer::json_bytes(Vec::new()) }
        .status(StatusCode::OK)
        .header(CONTENT_DISPOSITION, format!("attachment; {}", named(&format!("{}.csv", list.name))))
        .followed_by(Rest::of(receiver)))
}

/// Sends part by part, each read on a new connection, so that a slow client holds none.
async fn send_parts(
    tenant: Arc<Tenant>,
    job: Uuid,
    parts: i64,
    sender: mpsc::Sender<Result<Bytes, std::io::Error>>,
) {
    for n in 0..parts {
        match part(&tenant, job, n).await {
            Ok(bytes) => {
                let sent = tokio::time::timeout(Duration::from_secs(60), sender.send(Ok(bytes))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    return;
                }
            }
            Err(failure) => {
                tracing::warn!(tenant = tenant.id, "the download of an export was aborted: {failure}");
                let _ = sender.send(Err(std::io::Error::other("the download was aborted"))).await;
                return;
            }
        }
    }
}

/// The number of parts of a finished file, which has one at least.
async fn parts(tenant: &Tenant, job: Uuid) -> Result<i64, Failure> {
    let connection = tenant.reader().await?;
    let sql = "SELECT count(*) FROM list_export_part WHERE job_id = $1";
    let rows = connection.query(sql, vec![job.into()]).await?;
    match rows.first().map_or(0, |row| row.get(0)) {
        0 => Err(missing()),
        parts => Ok(parts),
    }
}

/// The answering server has not received the file yet, as after the loss of the primary.
fn missing() -> Failure {
    Failure::Unavailable("The database does not have the whole file now; please repeat the call".into())
}

async fn part(tenant: &Tenant, job: Uuid, n: i64) -> Result<Bytes, Failure> {
    let connection = tenant.reader().await?;
    let sql = "SELECT bytes FROM list_export_part WHERE job_id = $1 AND n = $2";
    let rows = connection.query(sql, vec![job.into(), n.into()]).await?;
    let bytes = rows.first().map(|row| Bytes::from(row.get::<_, Vec<u8>>(0)));
    bytes.ok_or_else(missing)
}
