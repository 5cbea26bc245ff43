//! The request of a report: a period in the tenant's time zone, and filters.

use super::MOST_ROWS;
use super::format::Format;
use carrel_platform::{Answer, Bind};
use carrel_records::Failure;
use http::StatusCode;
use jiff::civil::Date;
use jiff::{Span, Timestamp};
use serde_json::{Map, Value};
use tokio_postgres::Row;

/// A report's answer, or the text of a 422.
pub type ReportResult<T> = Result<T, &'static str>;

pub const INVALID_DATES: &str = "Invalid startDate or endDate parameter";

/// First and last day, both included; an absent one sets no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    first: Option<Date>,
    last: Option<Date>,
}

impl Period {
    pub fn read(body: &Map<String, Value>) -> ReportResult<Period> {
        let day = |name: &str| match body.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() == 10 => {
                text.parse().map(Some).map_err(|_| INVALID_DATES)
            }
            Some(_) => Err(INVALID_DATES),
        };
        Ok(Period { first: day("startDate")?, last: day("endDate")? })
    }

    pub fn has_end_only(&self) -> bool {
        self.first.is_none() && self.last.is_some()
    }

    /// The beginning of the first day and the end of the last one.
    pub fn bounds(&self, format: &Format) -> (Option<Timestamp>, Option<Timestamp>) {
        let beginning = |day: Date| Some(day.to_zoned(format.zone.clone()).ok()?.timestamp());
        let end = self.last.and_then(|day| day.checked_add(Span::new().days(1)).ok());
        (self.first.and_then(beginning), end.and_then(beginning))
    }
}

/// The texts of a list; `None` if it is absent, empty or null.
pub fn texts(body: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    let texts: Vec<String> =
        body.get(name)?.as_array()?.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect();
    Some(texts).filter(|texts| !texts.is_empty())
}

/// A list as a bound value, `NULL` if there is none.
pub fn bind(texts: Option<Vec<String>>) -> Bind {
    texts.map_or(Bind::Null, Bind::Texts)
}

/// FOLIO quirk: errors in a report's parameters are plain text.
pub fn unprocessable(text: &str) -> Answer {
    Answer::text(StatusCode::UNPROCESSABLE_ENTITY, text)
}

/// Refuses a report that would use too much memory.
pub fn refuse_if_too_long(rows: &[Row]) -> Result<(), Failure> {
    if rows.len() > MOST_ROWS {
        let text = format!("The report has more than {MOST_ROWS} rows: choose a shorter period");
        return Err(Failure::TooLarge(text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_period_has_whole_days_of_the_zone() {
        let body = json!({"startDate": "2026-03-01", "endDate": "2026-03-01"});
        let period = Period::read(body.as_object().expect("an object")).expect("two days");
        let format = Format::of("en-US", "America/New_York", "USD");
        let (from, to) = period.bounds(&format);
        assert_eq!(from.map(|time| time.to_string()), Some("2026-03-01T05:00:00Z".into()));
        assert_eq!(to.map(|time| time.to_string()), Some("2026-03-02T05:00:00Z".into()));
    }

    #[test]
    fn a_day_is_a_date_and_nothing_else() {
        for day in [json!("2026-13-01"), json!("yesterday"), json!("2026-01-01T00:00:00Z"), json!(5)] {
            let body = json!({"startDate": day});
            assert_eq!(Period::read(body.as_object().expect("an object")), Err(INVALID_DATES), "{day}");
        }
    }
}
