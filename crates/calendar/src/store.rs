//! Finds, creates, replaces and deletes calendars.

use super::error::CalendarFailure;
use super::query::Search;
use crate::records::CALENDAR;
use carrel_loan_rules::opening_hours::Calendar;
use carrel_loan_rules::opening_hours::check;
use carrel_platform::record_store::write::{self, Document, Ready};
use carrel_platform::{Bind, Call, Connection, Json, Pipeline, Tx};
use carrel_records::Failure;
use jiff::civil::Date;
use serde_json::{Value, json};
use uuid::Uuid;

/// A page of calendars by start date, and the number of all that match.
pub async fn search(connection: &Connection, search: Search) -> Result<(Vec<Json>, i64), Failure> {
    const MATCHING: &str = "FROM calendars
        WHERE ($1::uuid[] IS NULL OR id = ANY($1)) AND ($2::text[] IS NULL OR doc->'assignments' ?| $2)
          AND ($3::text IS NULL OR doc->>'endDate' >= $3) AND ($4::text IS NULL OR doc->>'startDate' <= $4)";
    let day = |date: Option<Date>| Bind::from(date.map(|date| date.to_string()));
    let points: Option<Vec<String>> =
        search.service_points.map(|points| points.iter().map(Uuid::to_string).collect());
    let binds = vec![search.ids.into(), points.into(), day(search.start_date), day(search.end_date)];
    let mut pipeline = Pipeline::new();
    let counted = pipeline.add(format!("SELECT count(*) {MATCHING}"), binds.clone());
    let mut binds = binds;
    binds.extend([search.limit.into(), search.offset.into()]);
    let page = pipeline.add(
        format!("SELECT doc {MATCHING} ORDER BY doc->>'startDate', id LIMIT $5::bigint OFFSET $6::bigint"),
        binds,
    );
    let results = connection.send(pipeline).await?;
    Ok((results.documents(page), results.first(counted).map_or(0, |row| row.get(0))))
}

/// The calendars of a service point.
pub async fn of_service_point(connection: &Connection, point: Uuid) -> Result<Vec<Calendar>, Failure> {
    let rows = connection
        .query("SELECT doc FROM calendars WHERE doc->'assignments' ? $1", vec![point.to_string().into()])
        .await?;
    Ok(rows.iter().filter_map(|row| row.get::<_, Json>(0).read().ok()).collect())
}

/// The calendar as it is stored.
pub async fn find(connection: &Connection, id: Uuid) -> Result<Result<Json, CalendarFailure>, Failure> {
    let rows = connection.query("SELECT doc FROM calendars WHERE id = $1", vec![id.into()]).await?;
    Ok(rows.first().map(|row| row.get(0)).ok_or_else(|| CalendarFailure::not_found(&[id], &[id])))
}

/// Creates a calendar; with an id, replaces the calendar with that id.
pub async fn save(
    call: &Call,
    mut calendar: Calendar,
    replaced: Option<Uuid>,
) -> Result<Result<Ready, CalendarFailure>, Failure> {
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    serialize_writers(&mut tx).await?;
    let stored = match replaced {
        None => None,
        Some(id) => match write::lock(&mut tx, &CALENDAR, id).await? {
            Some(stored) => Some((id, stored.parse())),
            None => return Ok(Err(CalendarFailure::not_found(&[id], &[id]))),
        },
    };
    calendar.id = replaced;
    if let Err(errors) = check(&calendar, &sharing_points(&mut tx, &calendar).await?) {
        return Ok(Err(CalendarFailure::unsaved(errors)));
    }
    calendar.rest.clear();
    let document = as_document(&calendar)?;
    let mut pipeline = Pipeline::new();
    let ready = match stored {
        None => {
            let ready = write::prepare_new(&CALENDAR, document, &call.caller, call.now)?;
            write::insert(&mut pipeline, tenant, &CALENDAR, &ready, call.now);
            ready
        }
        Some((id, stored)) => {
            let ready = write::prepare_replacement(&CALENDAR, id, document, &stored, &call.caller, call.now)?;
            write::update(&mut pipeline, tenant, &CALENDAR, &ready, &stored, call.now);
            ready
        }
    };
    tx.send_and_commit(pipeline).await?;
    Ok(Ok(ready))
}

/// Deletes all of them, or none if one is missing.
pub async fn delete(call: &Call, ids: Vec<Uuid>) -> Result<Result<(), CalendarFailure>, Failure> {
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let rows =
        tx.query("DELETE FROM calendars WHERE id = ANY($1) RETURNING id", vec![ids.clone().into()]).await?;
    let deleted: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();
    let missing: Vec<Uuid> = ids.iter().filter(|id| !deleted.contains(id)).copied().collect();
    if !missing.is_empty() {
        return Ok(Err(CalendarFailure::not_found(&ids, &missing)));
    }
    tx.commit().await?;
    Ok(Ok(()))
}

/// Serializes writers, so that two overlapping calendars cannot be saved at the same time: every save updates the row
/// of the settings version, so its lock is taken first.
async fn serialize_writers(tx: &mut Tx) -> Result<(), Failure> {
    tx.query("SELECT value FROM settings_version WHERE id = 1 FOR UPDATE", vec![]).await?;
    Ok(())
}

async fn sharing_points(tx: &mut Tx, calendar: &Calendar) -> Result<Vec<Calendar>, Failure> {
    let points: Vec<String> = calendar.assignments.iter().map(Uuid::to_string).collect();
    let rows =
        tx.query("SELECT doc FROM calendars WHERE doc->'assignments' ?| $1", vec![points.into()]).await?;
    Ok(rows.iter().filter_map(|row| row.get::<_, Json>(0).read().ok()).collect())
}

fn as_document(calendar: &Calendar) -> Result<Document, Failure> {
    match json!(calendar) {
        Value::Object(document) => Ok(document),
        _ => Err(Failure::internal("a calendar is an object")),
    }
}
