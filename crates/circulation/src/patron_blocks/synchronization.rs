//! Synchronization of patron blocks: recomputes what each patron has and owes, and reports where that differs from what
//! the desks count.
//!
//! Routes: `POST /automated-patron-blocks/synchronization/job` (asks for one), `GET …/job/{syncJobId}`,
//! `POST …/start`; the job `patron-block-synchronization` does the same as the last every minute. Reads loans, item
//! states and accounts; changes only the records of these jobs.
//!
//! In FOLIO this rebuilds the stored summaries. Here blocks are counted from loans and fees/fines themselves, so a
//! difference is an error: of Carrel, or of data that came with a wrong item status. It is logged, and listed under
//! `errors`.

use super::{Counts, facts};
use crate::records::patron_blocks::SYNCHRONIZATION_JOB;
use crate::settings::CirculationSettings;
use carrel_platform::jobs::Job;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router, Tenant};
use carrel_records::{Failure, metadata};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Recomputes patrons' counts for the requested jobs.
pub static SYNCHRONIZATION: Job = Job {
    name: "patron-block-synchronization",
    every: Duration::from_secs(60),
    // A longer run continues at its position.
    deadline: Duration::from_secs(1_800),
    run: |run| {
        Box::pin(async move {
            let done = synchronize(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{done} synchronizations done"))
        })
    },
};

/// Patrons of one transaction.
const PAGE: i64 = 500;
/// Differences that one job lists; all of them are logged.
const MAX_ERRORS: usize = 100;

pub(super) fn connect(router: &mut Router) {
    router.on("POST", SYNCHRONIZATION_JOB.path, create);
    router.on("GET", &format!("{}/{{syncJobId}}", SYNCHRONIZATION_JOB.path), find);
    router.on("POST", "/automated-patron-blocks/synchronization/start", |call| async move {
        synchronize(call.tenant()?, call.now).await?;
        Ok(Answer::text(StatusCode::ACCEPTED, ""))
    });
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut sent = call.object()?;
    write::check(&SYNCHRONIZATION_JOB, &mut sent, &call.caller)?;
    let (scope, user) = (sent["scope"].clone(), sent.get("userId").filter(|user| !user.is_null()));
    if scope == "user" && user.is_none() {
        return Ok(Answer::text(
            StatusCode::UNPROCESSABLE_ENTITY,
            "UserId is required for synchronization job with scope: USER",
        ));
    }
    let id = Uuid::new_v7(write::uuid_time(call.now));
    let mut job = Map::new();
    job.insert("id".into(), json!(id));
    job.insert("scope".into(), scope.clone());
    job.extend(user.map(|user| ("userId".to_owned(), user.clone())));
    job.insert("status".into(), "open".into());
    // FOLIO quirk: the totals stay zero.
    for number in [
        "totalNumberOfLoans",
        "totalNumberOfFeesFines",
        "numberOfProcessedLoans",
        "numberOfProcessedFeesFines",
    ] {
        job.insert(number.into(), 0.into());
    }
    job.insert("errors".into(), json!([]));
    job.insert("metadata".into(), metadata::created(call.caller.user_id, call.now));
    let connection = call.tenant()?.writer().await?;
    connection
        .query(
            "INSERT INTO synchronization_jobs (id, doc) VALUES ($1, $2)",
            vec![id.into(), (&Value::Object(job)).into()],
        )
        .await?;
    Ok(Answer::created(&json!({"id": id, "scope": scope, "status": "open"})))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let connection = call.tenant()?.reader().await?;
    let rows =
        connection.query("SELECT doc FROM synchronization_jobs WHERE id = $1", vec![id.into()]).await?;
    match rows.first() {
        Some(row) => Ok(Answer::document(row.get::<_, Json>("doc"))),
        None => Err(Failure::NotFound("This synchronization request does not exist".into())),
    }
}

/// Works on the jobs that were asked for, the oldest first, until none is left; returns how many were completed.
///
/// A page of patrons is one transaction, which also stores the position behind it. So a job that was interrupted goes
/// on, and of two nodes one waits for the other's page.
pub async fn synchronize(tenant: &Arc<Tenant>, now: Timestamp) -> Result<usize, Failure> {
    let mut completed = 0;
    while let Some(is_complete) = work_on_a_page(tenant, now).await? {
        completed += usize::from(is_complete);
    }
    Ok(completed)
}

/// Processes a page; returns whether the oldest job is then complete, or `None` if there is no job.
async fn work_on_a_page(tenant: &Arc<Tenant>, now: Timestamp) -> Result<Option<bool>, Failure> {
    let settings = CirculationSettings::of(tenant).await?;
    let mut tx = tenant.begin().await?;
    let jobs = tx
        .query(
            "SELECT id, doc, synchronized_to FROM synchronization_jobs
             WHERE doc->>'status' IN ('open', 'in-progress') ORDER BY id LIMIT 1 FOR UPDATE",
            vec![],
        )
        .await?;
    let Some(row) = jobs.first() else {
        tx.commit().await?;
        return Ok(None);
    };
    let id: Uuid = row.get("id");
    let Value::Object(mut job) = row.get::<_, Json>("doc").parse() else {
        return Err(Failure::internal("a synchronization job is an object"));
    };
    let position: Option<Uuid> = row.get("synchronized_to");
    let rows = tx.query(page_sql(), page_binds(&job, position)).await?;
    let mut differing = Vec::new();
    let (mut loans, mut fees) = (0, 0);
    for row in &rows {
        let counted = facts::read(row.get("counted_loans"), row.get("counted_fees"), &settings, now);
        let recomputed = facts::read(row.get("recomputed_loans"), row.get("counted_fees"), &settings, now);
        loans += counted.loans.len();
        fees += counted.fees.len();
        let differences = Counts::of(&counted).differences(&Counts::of(&recomputed));
        if !differences.is_empty() {
            let user: Uuid = row.get("user_id");
            tracing::error!(tenant = tenant.id, user.id = %user, "the counts of automated blocks are wrong: {differences:?}");
            differing.push(format!("User {user}: {}", differences.join(", ")));
        }
    }
    let reached: Option<Uuid> = rows.last().map(|row| row.get("user_id"));
    let is_complete = (rows.len() as i64) < PAGE;
    note_progress(&mut job, is_complete, loans, fees, differing);
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "UPDATE synchronization_jobs SET doc = $2, synchronized_to = $3 WHERE id = $1",
        vec![id.into(), (&Value::Object(job)).into(), reached.or(position).into()],
    );
    tx.send_and_commit(pipeline).await?;
    Ok(Some(is_complete))
}

fn note_progress(
    job: &mut Map<String, Value>,
    is_complete: bool,
    loans: usize,
    fees: usize,
    differing: Vec<String>,
) {
    job.insert("status".into(), if is_complete { "done" } else { "in-progress" }.into());
    for (number, more) in [("numberOfProcessedLoans", loans), ("numberOfProcessedFeesFines", fees)] {
        let before = job.get(number).and_then(Value::as_u64).unwrap_or_default();
        job.insert(number.into(), (before + more as u64).into());
    }
    if let Some(errors) = job.entry("errors").or_insert_with(|| json!([])).as_array_mut() {
        let remaining = MAX_ERRORS.saturating_sub(errors.len());
        errors.extend(differing.into_iter().take(remaining).map(Value::from));
    }
}

/// The next patrons with a loan or a fee/fine, each with both counts.
fn page_sql() -> String {
    format!(
        "WITH patron AS (
             SELECT user_id FROM (
                 (SELECT DISTINCT user_id FROM loan WHERE user_id > $1 AND user_id <= $2 ORDER BY user_id LIMIT {PAGE})
                 UNION
                 (SELECT DISTINCT user_id FROM accounts WHERE user_id > $1 AND user_id <= $2
                  ORDER BY user_id LIMIT {PAGE})) both_kinds
             ORDER BY user_id LIMIT {PAGE})
         SELECT patron.user_id, {counted_loans} AS counted_loans, {counted_fees} AS counted_fees,
             {recomputed_loans} AS recomputed_loans
         FROM patron ORDER BY patron.user_id",
        counted_loans = facts::open_loans_sql("patron.user_id"),
        counted_fees = facts::open_fees_sql("patron.user_id"),
        recomputed_loans = facts::recomputed_loans_sql("patron.user_id"),
    )
}

/// Bounds of the remaining patrons: all after the position, or the one patron of the job.
fn page_binds(job: &Map<String, Value>, position: Option<Uuid>) -> Vec<Bind> {
    let only = job.get("userId").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
    match only.filter(|_| job.get("scope").is_some_and(|scope| scope == "user")) {
        Some(user) => vec![Uuid::from_u128(user.as_u128().saturating_sub(1)).into(), user.into()],
        None => vec![position.unwrap_or(Uuid::nil()).into(), Uuid::max().into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_added_up_and_errors_are_bounded() {
        let mut job = Map::new();
        note_progress(&mut job, false, 2, 1, vec!["one".into()]);
        note_progress(&mut job, true, 3, 0, vec!["another".into(); 200]);
        assert_eq!(
            (&job["status"], &job["numberOfProcessedLoans"], &job["numberOfProcessedFeesFines"]),
            (&json!("done"), &json!(5), &json!(1))
        );
        assert_eq!(job["errors"].as_array().map(Vec::len), Some(MAX_ERRORS));
    }

    #[test]
    fn a_job_for_one_user_reads_that_user_only() {
        let user = Uuid::from_u128(7);
        let job = json!({"scope": "user", "userId": user});
        let binds = page_binds(job.as_object().expect("an object"), None);
        assert!(matches!(binds[..], [Bind::Uuid(from), Bind::Uuid(to)] if from.as_u128() == 6 && to == user));
    }
}
