//! Fixed due date schedule: loans of a span of dates are all due on one date.

use carrel_records::time;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, de::Error};

/// What the rules read of a fixed due date schedule record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FixedDueDateSchedule {
    pub id: Option<String>,
    pub name: Option<String>,
    pub schedules: Vec<Schedule>,
}

/// A range of dates and its due date.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Schedule {
    #[serde(deserialize_with = "instant")]
    pub from: Timestamp,
    #[serde(deserialize_with = "instant")]
    pub to: Timestamp,
    #[serde(deserialize_with = "instant")]
    pub due: Timestamp,
}

impl FixedDueDateSchedule {
    /// The due date for this moment, from the first range that contains it.
    pub fn due_date_for(&self, moment: Timestamp) -> Option<Timestamp> {
        self.schedules.iter().find(|schedule| schedule.is_around(moment)).map(|schedule| schedule.due)
    }
}

impl Schedule {
    // FOLIO quirk: the first and the last millisecond of a range are outside it.
    fn is_around(&self, moment: Timestamp) -> bool {
        let moment = moment.as_millisecond();
        self.from.as_millisecond() < moment && moment < self.to.as_millisecond()
    }
}

fn instant<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(from)?;
    time::parse(&text).ok_or_else(|| D::Error::custom(format!("\"{text}\" is not a date and time")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    pub(crate) fn schedule(spans: &[[&str; 3]]) -> FixedDueDateSchedule {
        let spans: Vec<_> =
            spans.iter().map(|[from, to, due]| json!({"from": from, "to": to, "due": due})).collect();
        serde_json::from_value(json!({"name": "Terms", "schedules": spans})).unwrap()
    }

    #[test]
    fn the_first_span_around_a_moment_gives_the_due_date() {
        let terms = schedule(&[
            ["2024-01-01T00:00:00.000+0000", "2024-01-31T23:59:59.000+0000", "2024-02-10T23:59:59.000+0000"],
            ["2024-01-20T00:00:00Z", "2024-02-20T23:59:59Z", "2024-03-10T23:59:59Z"],
        ]);
        let table = [
            ("2023-12-31T23:59:59.999Z", None),
            ("2024-01-01T00:00:00Z", None),
            ("2024-01-01T00:00:00.001Z", Some("2024-02-10T23:59:59Z")),
            ("2024-01-25T12:00:00Z", Some("2024-02-10T23:59:59Z")),
            ("2024-01-31T23:59:59Z", Some("2024-03-10T23:59:59Z")),
            ("2024-02-20T23:59:59Z", None),
        ];
        for (moment, due) in table {
            let found = terms.due_date_for(moment.parse().unwrap());
            assert_eq!(found, due.map(|due: &str| due.parse().unwrap()), "{moment}");
        }
    }

    #[test]
    fn a_schedule_without_spans_gives_no_date() {
        let empty: FixedDueDateSchedule = serde_json::from_value(json!({"name": "Empty"})).unwrap();
        assert_eq!(empty.due_date_for(Timestamp::UNIX_EPOCH), None);
    }
}
