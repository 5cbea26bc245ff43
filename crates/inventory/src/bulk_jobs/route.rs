//! Routes, requests and answers.

use super::step::{self, IN_PROGRESS, Kind};
use super::{BULK_JOBS, migration, publish};
use crate::fields::filled;
use carrel_platform::database::Json;
use carrel_platform::record_store::{routes as plain, write};
use carrel_platform::{Answer, Call, Pipeline, Router, jobs};
use carrel_records::{Failure, Refusal, time};
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    for kind in Kind::ALL {
        let path = kind.record().path;
        let one = format!("{path}/{{id}}");
        router.on("POST", path, move |call| begin(kind, call));
        router.on("GET", &one, move |call| plain::find(kind.record(), call));
        router.on("DELETE", &one, move |call| cancel(kind, call));
        if kind != Kind::Iteration {
            router.on("GET", path, move |call| plain::list(kind.record(), call));
        }
    }
    router.on("GET", "/inventory-storage/migrations", |_: Call| async {
        Ok(Answer::json(&json!({
            "asyncMigrations": [{"migrations": [migration::NAME], "affectedEntities": [migration::AFFECTS]}],
            "totalRecords": 1,
        })))
    });
    router.on("POST", "/inventory-reindex-records/publish", publish::publish);
}

/// Stores the bulk job; the background job executes it.
async fn begin(kind: Kind, call: Call) -> Result<Answer, Failure> {
    let mut document = match kind {
        Kind::Reindex => json!({"published": 0, "resourceName": "Instance"}),
        Kind::Iteration => json!({"messagesPublished": 0, "jobParams": parameters(&call)?}),
        Kind::Migration => {
            let migrations = migrations(&call)?;
            json!({"migrations": migrations, "affectedEntities": [migration::AFFECTS],
                "published": [], "processed": []})
        }
    };
    let id = Uuid::new_v7(write::uuid_time(call.now));
    document["id"] = id.to_string().into();
    document["jobStatus"] = IN_PROGRESS.into();
    document["submittedDate"] = time::format(call.now).into();
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    write::insert_text(&mut pipeline, kind.record(), id, document.to_string());
    tenant.begin().await?.send_and_commit(pipeline).await?;
    schedule_job(&call).await?;
    // FOLIO quirk: only an iteration is answered with 201.
    let status = if kind == Kind::Iteration { StatusCode::CREATED } else { StatusCode::OK };
    Ok(Answer::json(&document).status(status))
}

/// The topic and the type of the events.
fn parameters(call: &Call) -> Result<Value, Failure> {
    let body = call.object()?;
    let topic =
        filled(&body, "topicName").ok_or_else(|| Refusal::new("must not be null").with_null("topicName"))?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    if topic.len() > 200 || !topic.chars().all(is_name) {
        return Err(Refusal::new("must be the name of a topic").with("topicName", topic).into());
    }
    let event = filled(&body, "eventType").unwrap_or("ITERATE");
    if !["UPDATE", "DELETE", "CREATE", "DELETE_ALL", "REINDEX", "ITERATE", "MIGRATION"].contains(&event) {
        return Err(Refusal::new("must be a type of event").with("eventType", event).into());
    }
    Ok(json!({"eventType": event, "topicName": topic}))
}

/// The requested migrations, all of which must be known.
fn migrations(call: &Call) -> Result<Vec<String>, Failure> {
    let body = call.object()?;
    let names: Vec<String> = body
        .get("migrations")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned))
        .collect();
    if names.is_empty() || names.iter().any(|name| name != migration::NAME) {
        return Err(Failure::Invalid(format!(
            "One or more migrations are not available. Migrations: {}",
            names.join(" ")
        )));
    }
    Ok(names)
}

/// Cancels a bulk job; it stops before its next step.
async fn cancel(kind: Kind, call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let stored: Option<Json> = write::lock(&mut tx, kind.record(), id).await?;
    let Some(mut document) = stored.map(|stored| stored.parse()) else {
        return Err(Failure::NotFound("Not found".into()));
    };
    let words = kind.words();
    if kind == Kind::Reindex && document["jobStatus"] == words.done {
        return Err(Failure::Invalid("The job has been finished".into()));
    }
    if document["jobStatus"] == IN_PROGRESS {
        document["jobStatus"] = words.to_cancel.into();
        let mut pipeline = Pipeline::new();
        step::write(&mut pipeline, kind, id, &document);
        tx.send_and_commit(pipeline).await?;
        schedule_job(&call).await?;
    }
    Ok(Answer::no_content())
}

/// Schedules the background job for now, on any node.
async fn schedule_job(call: &Call) -> Result<(), Failure> {
    let tenant = call.tenant()?;
    jobs::soon(&call.node.platform().await?, &tenant.id, BULK_JOBS.name).await?;
    jobs::hint(tenant, BULK_JOBS.name);
    Ok(())
}
