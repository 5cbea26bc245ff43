//! The calendar record in mod-calendar's shape.

use jiff::civil::{Date, DateTime, Time, Weekday};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Opening hours of some service points from a first to a last date, both included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calendar {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    pub name: String,
    pub start_date: Date,
    pub end_date: Date,
    /// The service points with these hours.
    pub assignments: Vec<Uuid>,
    pub normal_hours: Vec<NormalOpening>,
    pub exceptions: Vec<Exception>,
    /// Fields that no rule reads, such as `metadata`; kept so that they survive a replacement.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// One weekly opening; it may run past midnight and over several days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NormalOpening {
    #[serde(with = "weekday")]
    pub start_day: Weekday,
    #[serde(deserialize_with = "whole_minute")]
    pub start_time: Time,
    #[serde(with = "weekday")]
    pub end_day: Weekday,
    /// The last open minute.
    #[serde(deserialize_with = "whole_minute")]
    pub end_time: Time,
}

/// A range of dates, both included, on which the normal hours do not apply; without openings it is a closure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exception {
    pub name: String,
    pub start_date: Date,
    pub end_date: Date,
    pub openings: Vec<ExceptionOpening>,
}

/// One opening within an exception; it may run past midnight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionOpening {
    pub start_date: Date,
    pub start_time: Time,
    pub end_date: Date,
    /// The last open minute.
    pub end_time: Time,
}

impl Calendar {
    /// Whether the date is within the calendar's period.
    pub fn covers(&self, date: Date) -> bool {
        self.start_date <= date && date <= self.end_date
    }
}

impl Exception {
    /// Whether the date is within the exception's period.
    pub fn covers(&self, date: Date) -> bool {
        self.start_date <= date && date <= self.end_date
    }
}

impl ExceptionOpening {
    /// The moment of opening, in the tenant's wall-clock time.
    pub fn start(&self) -> DateTime {
        self.start_date.to_datetime(self.start_time)
    }

    /// The last open minute, in the tenant's wall-clock time.
    pub fn end(&self) -> DateTime {
        self.end_date.to_datetime(self.end_time)
    }
}

// mod-calendar stores weekly hours by the minute; seconds sent by a client are dropped.
fn whole_minute<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
    let time = Time::deserialize(from)?;
    Ok(Time::constant(time.hour(), time.minute(), 0, 0))
}

mod weekday {
    use jiff::civil::Weekday;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    const NAMES: [(&str, Weekday); 7] = [
        ("SUNDAY", Weekday::Sunday),
        ("MONDAY", Weekday::Monday),
        ("TUESDAY", Weekday::Tuesday),
        ("WEDNESDAY", Weekday::Wednesday),
        ("THURSDAY", Weekday::Thursday),
        ("FRIDAY", Weekday::Friday),
        ("SATURDAY", Weekday::Saturday),
    ];

    pub fn serialize<S: Serializer>(day: &Weekday, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(NAMES[day.to_sunday_zero_offset() as usize].0)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Weekday, D::Error> {
        let name = String::deserialize(from)?;
        NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(&name))
            .map(|(_, day)| *day)
            .ok_or_else(|| D::Error::custom(format!("Unexpected value '{name}'")))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    /// A calendar for one service point from `start` to `end`, closed until hours are added.
    pub(crate) fn calendar(start: &str, end: &str) -> Calendar {
        serde_json::from_value(json!({
            "name": "Term", "startDate": start, "endDate": end,
            "assignments": [SERVICE_POINT], "normalHours": [], "exceptions": []
        }))
        .unwrap()
    }

    pub(crate) const SERVICE_POINT: &str = "44444444-4444-4444-8444-444444444444";

    pub(crate) fn opening(from: (&str, &str), to: (&str, &str)) -> NormalOpening {
        serde_json::from_value(
            json!({"startDay": from.0, "startTime": from.1, "endDay": to.0, "endTime": to.1}),
        )
        .unwrap()
    }

    pub(crate) fn exception(name: &str, start: &str, end: &str, openings: &[[&str; 4]]) -> Exception {
        let openings: Vec<Value> = openings
            .iter()
            .map(|[d1, t1, d2, t2]| json!({"startDate": d1, "startTime": t1, "endDate": d2, "endTime": t2}))
            .collect();
        serde_json::from_value(
            json!({"name": name, "startDate": start, "endDate": end, "openings": openings}),
        )
        .unwrap()
    }

    #[test]
    fn a_calendar_record_keeps_its_unknown_fields_and_its_shape() {
        let record = json!({
            "id": "11111111-1111-4111-8111-111111111111", "name": "Spring",
            "startDate": "2022-01-08", "endDate": "2022-05-09",
            "assignments": [SERVICE_POINT],
            "normalHours": [{"startDay": "MONDAY", "startTime": "07:00:00", "endDay": "FRIDAY", "endTime": "22:00:00"}],
            "exceptions": [{"name": "Break", "startDate": "2022-03-01", "endDate": "2022-03-05", "openings": []}],
            "metadata": {"createdDate": "2022-01-01T00:00:00.000+00:00"}
        });
        let calendar: Calendar = serde_json::from_value(record.clone()).unwrap();
        assert_eq!(serde_json::to_value(&calendar).unwrap(), record);
    }

    #[test]
    fn seconds_of_weekly_hours_are_dropped_and_weekdays_may_be_written_small() {
        let read = opening(("monday", "07:00:59"), ("Friday", "22:00"));
        assert_eq!(read, opening(("MONDAY", "07:00"), ("FRIDAY", "22:00:00")));
    }
}
