//! mod-calendar's error bodies, which differ from those of the other modules.

use carrel_loan_rules::opening_hours::CalendarError;
use carrel_platform::Answer;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// A failure of the calendar API, in mod-calendar's shape.
#[derive(Debug, Clone, PartialEq)]
pub struct CalendarFailure {
    status: StatusCode,
    errors: Vec<CalendarError>,
}

impl CalendarFailure {
    /// A parameter or a body that cannot be parsed.
    pub fn unreadable(why: impl std::fmt::Display) -> CalendarFailure {
        let message = format!("One of the parameters was the incorrect type: {why}");
        CalendarFailure::one(StatusCode::BAD_REQUEST, "invalidParameter", message, None, json!({}))
    }

    /// Some of the requested calendars do not exist.
    pub fn not_found(requested: &[Uuid], missing: &[Uuid]) -> CalendarFailure {
        CalendarFailure::one(
            StatusCode::NOT_FOUND,
            "calendarNotFound",
            "No calendar was found with the specified query".into(),
            Some(json!({"notFound": missing})),
            json!({"query": requested}),
        )
    }

    /// A calendar that cannot be saved.
    pub fn unsaved(errors: Vec<CalendarError>) -> CalendarFailure {
        let conflict = errors.iter().any(CalendarError::is_conflict);
        let status = if conflict { StatusCode::CONFLICT } else { StatusCode::BAD_REQUEST };
        CalendarFailure { status, errors }
    }

    fn one(
        status: StatusCode,
        code: &'static str,
        message: String,
        data: Option<Value>,
        parameters: Value,
    ) -> CalendarFailure {
        let parameters = match parameters {
            Value::Object(parameters) => parameters,
            _ => Map::new(),
        };
        CalendarFailure { status, errors: vec![CalendarError { code, message, data, parameters }] }
    }

    pub fn answer(&self, now: Timestamp) -> Answer {
        let body = json!({
            "timestamp": now.to_string(),
            "status": self.status.as_u16(),
            "errors": self.errors,
        });
        Answer::json(&body).status(self.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_calendar_is_named() {
        let (known, missing) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let answer = CalendarFailure::not_found(&[known, missing], &[missing]).answer(Timestamp::UNIX_EPOCH);
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
        assert_eq!(body["status"], 404);
        assert_eq!(body["errors"][0]["code"], "calendarNotFound");
        assert_eq!(body["errors"][0]["data"]["notFound"], json!([missing]));
        assert_eq!(body["errors"][0]["_parameters"]["query"], json!([known, missing]));
    }
}
