//! Open and closed stretches of time over the three days around a date.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use crate::opening_hours::{DayOpening, SurroundingOpenings};

/// A stretch of time, its end excluded, in which the service point is open or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub start: Timestamp,
    pub end: Timestamp,
    pub open: bool,
}

/// Stretches in order, beginning and ending with an open one; outside them nothing is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Timetable {
    stretches: Vec<Stretch>,
}

impl Timetable {
    pub fn of(openings: &SurroundingOpenings, zone: &TimeZone) -> Timetable {
        let mut stretches: Vec<Stretch> = Vec::new();
        for opening in openings.openings.iter().flat_map(|day| stretches_of(day, zone)) {
            match stretches.last_mut() {
                Some(before) if before.end == opening.start => before.end = opening.end,
                Some(before) if before.end < opening.start => {
                    let gap = Stretch { start: before.end, end: opening.start, open: false };
                    stretches.extend([gap, opening]);
                }
                _ => stretches.push(opening),
            }
        }
        Timetable { stretches }
    }

    /// The index of the stretch around a moment.
    pub fn find(&self, moment: Timestamp) -> Option<usize> {
        self.stretches.iter().position(|stretch| stretch.start <= moment && moment < stretch.end)
    }

    pub fn get(&self, place: usize) -> Option<Stretch> {
        self.stretches.get(place).copied()
    }

    pub fn before(&self, place: usize) -> Option<Stretch> {
        self.get(place.checked_sub(1)?)
    }

    pub fn after(&self, place: usize) -> Option<Stretch> {
        self.get(place + 1)
    }

    pub fn first(&self) -> Option<Stretch> {
        self.stretches.first().copied()
    }

    pub fn last(&self) -> Option<Stretch> {
        self.stretches.last().copied()
    }
}

fn stretches_of(day: &DayOpening, zone: &TimeZone) -> Vec<Stretch> {
    if !day.open {
        return Vec::new();
    }
    if day.all_day {
        let (start, end) = (start_of_day(day.date, zone), start_of_next_day(day.date, zone));
        return vec![Stretch { start, end, open: true }];
    }
    let at = |time: Time| zone.to_timestamp(day.date.to_datetime(time)).unwrap_or(Timestamp::MAX);
    day.openings
        .iter()
        .map(|hours| {
            let start = at(hours.start_time);
            Stretch { start, end: at(hours.end_time).max(start), open: true }
        })
        .collect()
}

/// The first instant of a day in the zone.
pub(super) fn start_of_day(date: Date, zone: &TimeZone) -> Timestamp {
    zone.to_timestamp(date.to_datetime(Time::midnight())).unwrap_or(Timestamp::MAX)
}

/// The last full second of a day in the zone, 23:59:59 on nearly all days.
pub(super) fn end_of_day(date: Date, zone: &TimeZone) -> Timestamp {
    start_of_next_day(date, zone) - jiff::SignedDuration::from_secs(1)
}

fn start_of_next_day(date: Date, zone: &TimeZone) -> Timestamp {
    date.tomorrow().map_or(Timestamp::MAX, |next| start_of_day(next, zone))
}

/// The date of a moment in the zone.
pub(super) fn date_of(moment: Timestamp, zone: &TimeZone) -> Date {
    zone.to_datetime(moment).date()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, weekly};
    use jiff::civil::date;

    fn shown(hours: &[(&str, &str, &str)], zone: &str, day: Date) -> Vec<String> {
        let zone = TimeZone::get(zone).unwrap();
        let table = Timetable::of(&weekly(hours).surrounding_openings(day), &zone);
        let time = |moment: Timestamp| moment.to_zoned(zone.clone()).strftime("%a %H:%M").to_string();
        table
            .stretches
            .iter()
            .map(|s| {
                format!("{} {} - {}", if s.open { "open" } else { "closed" }, time(s.start), time(s.end))
            })
            .collect()
    }

    // 2024-05-06 is a Monday.
    #[test]
    fn openings_and_the_gaps_between_them_alternate() {
        let hours =
            [("MONDAY", "09:00", "12:00"), ("MONDAY", "13:00", "17:00"), ("WEDNESDAY", "10:00", "16:00")];
        assert_eq!(
            shown(&hours, "Europe/Berlin", date(2024, 5, 7)),
            [
                "open Mon 09:00 - Mon 12:00",
                "closed Mon 12:00 - Mon 13:00",
                "open Mon 13:00 - Mon 17:00",
                "closed Mon 17:00 - Wed 10:00",
                "open Wed 10:00 - Wed 16:00"
            ]
        );
    }

    #[test]
    fn whole_days_reach_to_midnight_and_merge_with_what_follows() {
        let hours =
            [("MONDAY", "00:00", "23:59"), ("TUESDAY", "00:00", "23:59"), ("WEDNESDAY", "00:00", "08:00")];
        assert_eq!(shown(&hours, "UTC", date(2024, 5, 7)), ["open Mon 00:00 - Wed 08:00"]);
    }

    #[test]
    fn without_openings_there_is_no_timetable() {
        assert_eq!(shown(&[], "UTC", date(2024, 5, 7)), [""; 0]);
    }

    #[test]
    fn days_end_a_second_before_the_next_even_when_clocks_change() {
        let table = [
            ("Europe/Berlin", date(2024, 3, 31), "2024-03-31T21:59:59Z"),
            ("Europe/Berlin", date(2024, 10, 27), "2024-10-27T22:59:59Z"),
            ("America/New_York", date(2024, 11, 3), "2024-11-04T04:59:59Z"),
            ("Australia/Lord_Howe", date(2024, 10, 6), "2024-10-06T12:59:59Z"),
            // Beirut's clocks are set forward at midnight, so this day begins at one o'clock.
            ("Asia/Beirut", date(2024, 3, 30), "2024-03-30T21:59:59Z"),
        ];
        for (zone, day, end) in table {
            assert_eq!(end_of_day(day, &TimeZone::get(zone).unwrap()), at(end), "{zone} {day}");
        }
    }
}
