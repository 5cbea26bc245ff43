//! Paths of the calendar.

use super::error::CalendarFailure;
use super::{query, store};
use carrel_loan_rules::opening_hours::Calendar;
use carrel_loan_rules::opening_hours::ServicePointHours;
use carrel_platform::{Answer, Call, Json, Router};
use carrel_records::Failure;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/calendar/calendars", list);
    router.on("POST", "/calendar/calendars", create);
    router.on("DELETE", "/calendar/calendars", delete_many);
    router.on("GET", "/calendar/calendars/{calendarId}", find);
    router.on("PUT", "/calendar/calendars/{calendarId}", replace);
    router.on("DELETE", "/calendar/calendars/{calendarId}", delete);
    router.on("GET", "/calendar/dates/{servicePointId}/surrounding-openings", surrounding_openings);
    router.on("GET", "/calendar/dates/{servicePointId}/all-openings", all_openings);
}

/// The answer of a calendar route, with failures in mod-calendar's shape.
fn answer_of(call: &Call, result: Result<Answer, CalendarFailure>) -> Answer {
    result.unwrap_or_else(|unfit| unfit.answer(call.now))
}

fn id(call: &Call) -> Result<Uuid, CalendarFailure> {
    call.id(0).map_err(CalendarFailure::unreadable)
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let search = match query::Search::read(&call.query) {
        Ok(search) => search,
        Err(unfit) => return Ok(unfit.answer(call.now)),
    };
    let connection = call.tenant()?.reader().await?;
    let (calendars, total) = store::search(&connection, search).await?;
    let calendars: Vec<Value> = calendars.iter().map(Json::parse).collect();
    Ok(Answer::json(&json!({"calendars": calendars, "totalRecords": total})))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let id = match id(&call) {
        Ok(id) => id,
        Err(unfit) => return Ok(unfit.answer(call.now)),
    };
    let connection = call.tenant()?.reader().await?;
    let found = store::find(&connection, id).await?;
    Ok(answer_of(&call, found.map(Answer::document)))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let calendar = match body(&call) {
        Ok(calendar) => calendar,
        Err(unfit) => return Ok(unfit.answer(call.now)),
    };
    let saved = store::save(&call, calendar, None).await?;
    Ok(answer_of(&call, saved.map(|ready| Answer::created(&ready.document))))
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let (id, calendar) = match id(&call).and_then(|id| Ok((id, body(&call)?))) {
        Ok(read) => read,
        Err(unfit) => return Ok(unfit.answer(call.now)),
    };
    let saved = store::save(&call, calendar, Some(id)).await?;
    Ok(answer_of(&call, saved.map(|ready| Answer::json(&ready.document))))
}

fn body(call: &Call) -> Result<Calendar, CalendarFailure> {
    serde_json::from_slice(&call.body).map_err(CalendarFailure::unreadable)
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    match id(&call) {
        Ok(id) => delete_all(&call, vec![id]).await,
        Err(unfit) => Ok(unfit.answer(call.now)),
    }
}

async fn delete_many(call: Call) -> Result<Answer, Failure> {
    match query::ids(&call.query, "id") {
        Ok(Some(ids)) => delete_all(&call, ids).await,
        Ok(None) => Ok(CalendarFailure::unreadable("id is required").answer(call.now)),
        Err(unfit) => Ok(unfit.answer(call.now)),
    }
}

async fn delete_all(call: &Call, ids: Vec<Uuid>) -> Result<Answer, Failure> {
    let deleted = store::delete(call, ids).await?;
    Ok(answer_of(call, deleted.map(|()| Answer::no_content())))
}

async fn surrounding_openings(call: Call) -> Result<Answer, Failure> {
    let (point, date) = match id(&call).and_then(|id| Ok((id, query::date(&call.query, "date")?))) {
        Ok(read) => read,
        Err(unfit) => return Ok(unfit.answer(call.now)),
    };
    let hours = hours(&call, point).await?;
    Ok(Answer::json(&hours.surrounding_openings(date)))
}

async fn all_openings(call: Call) -> Result<Answer, Failure> {
    let (point, which) = match id(&call).and_then(|id| Ok((id, query::which_days(&call.query)?))) {
        Ok(read) => read,
        Err(unfit) => return Ok(unfit.answer(call.now)),
    };
    let hours = hours(&call, point).await?;
    Ok(Answer::json(&hours.all_openings(which)))
}

/// A service point without a calendar is closed every day.
async fn hours(call: &Call, point: Uuid) -> Result<ServicePointHours, Failure> {
    let connection = call.tenant()?.reader().await?;
    Ok(ServicePointHours::new(store::of_service_point(&connection, point).await?))
}
