//! Calendars and moments for the tests of this use case.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Circumstances;
use crate::opening_hours::ServicePointHours;
use crate::opening_hours::tests::{calendar, opening};

pub(crate) fn at(moment: &str) -> Timestamp {
    moment.parse().unwrap()
}

/// A service point open at the same hours every week of 2020 to 2039: weekday, from, to.
pub(crate) fn weekly(hours: &[(&str, &str, &str)]) -> ServicePointHours {
    let mut years = calendar("2020-01-01", "2039-12-31");
    years.normal_hours = hours.iter().map(|(day, from, to)| opening((day, from), (day, to))).collect();
    ServicePointHours::new([years])
}

pub(crate) fn weekdays() -> ServicePointHours {
    weekly(&["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"].map(|day| (day, "09:00", "17:00")))
}

static UTC: TimeZone = TimeZone::UTC;

/// Now, in UTC, for a patron whose account does not expire.
pub(crate) fn circumstances<'a>(now: &str, calendar: &'a ServicePointHours) -> Circumstances<'a> {
    Circumstances { now: at(now), zone: &UTC, calendar, patron_expires: None }
}
