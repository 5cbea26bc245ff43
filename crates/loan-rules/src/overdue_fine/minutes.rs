//! Overdue time in minutes: all of it, or only that within opening hours.

use crate::opening_hours::OpeningDays;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Days that are looked up, at most (some hundred years). Of a longer time the last ones count.
const MOST_DAYS: i32 = 36_600;

/// Minutes between two moments, each truncated to its minute; zero if the second is earlier.
pub(super) fn between(from: Timestamp, to: Timestamp) -> u64 {
    let minute = |moment: Timestamp| moment.as_second().div_euclid(60);
    u64::try_from(minute(to) - minute(from)).unwrap_or(0)
}

/// Minutes between two moments within opening hours.
///
/// FOLIO quirk: an opening ends at the beginning of its last open minute, so a day that is open around the clock has
/// 1,439 minutes.
pub(super) fn open_between(
    calendar: &dyn OpeningDays,
    zone: &TimeZone,
    due: Timestamp,
    until: Timestamp,
) -> u64 {
    let day = |moment: Timestamp| moment.to_zoned(zone.clone()).date();
    let (due, until) = (cut_to_milliseconds(due), cut_to_milliseconds(until));
    let moment_at = |date: Date, time: Time| {
        date.to_datetime(time).to_zoned(zone.clone()).map(|zoned| zoned.timestamp()).ok()
    };
    let minutes_of = |date: Date| -> u64 {
        let opening = calendar.on(date);
        let hours = opening.openings.iter().filter(|_| opening.open);
        let minutes = hours.filter_map(|hours| {
            let start = moment_at(date, hours.start_time)?.max(due);
            let end = moment_at(date, hours.end_time)?.min(until);
            Some(between(start, end))
        });
        minutes.sum()
    };
    let (first, last) = (day(due), day(until));
    let days = (last - first).get_days();
    (0..=days.min(MOST_DAYS))
        .filter_map(|before| last.checked_sub(Span::new().days(before)).ok())
        .map(minutes_of)
        .sum()
}

fn cut_to_milliseconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(moment.as_millisecond()).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, weekly};
    use crate::opening_hours::{DayOpening, ServicePointHours, SurroundingOpenings};

    /// Open around the clock.
    struct Always;

    impl OpeningDays for Always {
        fn surrounding(&self, date: Date) -> Option<SurroundingOpenings> {
            Some(SurroundingOpenings::always_open(date))
        }
    }

    fn minutes(calendar: &dyn OpeningDays, zone: &str, due: &str, until: &str) -> u64 {
        let zone = TimeZone::get(zone).expect("a time zone");
        open_between(calendar, &zone, at(due), at(until))
    }

    #[test]
    fn both_moments_are_cut_to_their_minute() {
        assert_eq!(between(at("2024-05-06T12:00:59Z"), at("2024-05-06T12:01:00Z")), 1);
        assert_eq!(between(at("2024-05-06T12:01:00Z"), at("2024-05-06T12:01:59Z")), 0);
        assert_eq!(between(at("2024-05-06T12:01:00Z"), at("2024-05-06T12:00:00Z")), 0);
    }

    /// Two stretches a day, from 8 to 12 and from 14 to 19 o'clock.
    fn with_a_break() -> ServicePointHours {
        let days = ["WEDNESDAY", "THURSDAY", "FRIDAY"];
        let hours: Vec<_> =
            days.iter().flat_map(|day| [(*day, "08:00", "12:00"), (*day, "14:00", "19:00")]).collect();
        weekly(&hours)
    }

    #[test]
    fn closed_hours_do_not_count() {
        let table = [
            ("within one stretch", "2020-04-08T09:00:00Z", "2020-04-08T10:30:30Z", 90),
            ("over the break", "2020-04-08T11:30:00Z", "2020-04-08T14:15:00Z", 45),
            ("due before it opens", "2020-04-08T01:00:00Z", "2020-04-08T09:00:00Z", 60),
            ("returned after it closes", "2020-04-08T18:00:00Z", "2020-04-08T23:00:00Z", 60),
            ("three days", "2020-04-08T14:00:00Z", "2020-04-10T15:00:00Z", 300 + 540 + 300),
            ("due on a closed day", "2020-04-05T12:00:00Z", "2020-04-08T08:30:00Z", 30),
            ("closed all the time", "2020-04-11T00:00:00Z", "2020-04-14T23:00:00Z", 0),
        ];
        for (name, due, until, expected) in table {
            assert_eq!(minutes(&with_a_break(), "UTC", due, until), expected, "{name}");
        }
    }

    #[test]
    fn opening_hours_are_those_of_the_tenants_zone() {
        let (due, until) = ("2020-04-08T12:00:00Z", "2020-04-08T13:00:00Z");
        assert_eq!(minutes(&with_a_break(), "America/New_York", due, until), 60);
        assert_eq!(minutes(&with_a_break(), "UTC", due, until), 0);
    }

    #[test]
    fn an_hour_that_the_clocks_skip_is_not_counted() {
        let night = weekly(&[("SUNDAY", "00:00", "06:00")]);
        let (due, until) = ("2024-03-30T12:00:00Z", "2024-03-31T12:00:00Z");
        assert_eq!(minutes(&night, "Europe/Berlin", due, until), 300);
    }

    #[test]
    fn a_day_around_the_clock_lacks_its_last_minute() {
        assert_eq!(minutes(&Always, "UTC", "2024-05-06T12:00:00Z", "2024-05-08T12:00:00Z"), 719 + 1439 + 720);
        assert_eq!(DayOpening::all_day(jiff::civil::date(2024, 5, 6)).openings.len(), 1);
    }

    #[test]
    fn a_due_date_long_ago_costs_no_more_than_a_century() {
        assert_eq!(minutes(&Always, "UTC", "0001-01-01T00:00:00Z", "2024-01-01T00:00:00Z"), 36_600 * 1439);
    }
}
