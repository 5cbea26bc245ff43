//! Closed-library due date management: moves dates on which the library is closed.

use carrel_records::{Refusal, RefusalCode};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::timetable::{Stretch, Timetable, date_of, end_of_day, start_of_day};
use crate::loan_policy::LoanPolicy;
use crate::opening_hours::{OpeningDays, SurroundingOpenings};

/// How a date is moved if the library is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedLibraryStrategy {
    /// Keep the date, due at the end of the day.
    KeepDate,
    /// Keep date and time.
    KeepDateAndTime,
    /// End of the day if open, else of the previous open day.
    EndOfPreviousOpenDay,
    /// End of the day if open, else of the next open day.
    EndOfNextOpenDay,
    /// Kept within open hours, else the end of the hours that are current now.
    EndOfCurrentHours,
    /// Kept within open hours, else the beginning of the next open hours plus the opening offset.
    BeginningOfNextHours,
}

/// The facts of a strategy.
#[derive(Clone, Copy)]
pub(super) struct Desk<'a> {
    pub zone: &'a TimeZone,
    pub calendar: &'a dyn OpeningDays,
    pub now: Timestamp,
    /// The time whose hours count as current.
    pub present: Timestamp,
    /// The time from opening to the due date.
    pub opening_offset: SignedDuration,
}

impl ClosedLibraryStrategy {
    /// The strategy of a loan policy; an unknown one keeps the date (mod-circulation `DueDateManagement`).
    pub fn of_loans(policy: &LoanPolicy) -> ClosedLibraryStrategy {
        let Some(loans) = &policy.loans_policy else { return ClosedLibraryStrategy::KeepDateAndTime };
        match loans.closed_library_due_date_management_id.as_deref() {
            Some("CURRENT_DUE_DATE_TIME") => ClosedLibraryStrategy::KeepDateAndTime,
            Some("END_OF_THE_PREVIOUS_OPEN_DAY") => ClosedLibraryStrategy::EndOfPreviousOpenDay,
            Some("END_OF_THE_NEXT_OPEN_DAY") => ClosedLibraryStrategy::EndOfNextOpenDay,
            Some("END_OF_THE_CURRENT_SERVICE_POINT_HOURS") => ClosedLibraryStrategy::EndOfCurrentHours,
            Some("BEGINNING_OF_THE_NEXT_OPEN_SERVICE_POINT_HOURS") => {
                ClosedLibraryStrategy::BeginningOfNextHours
            }
            _ => ClosedLibraryStrategy::KeepDate,
        }
    }

    /// The strategy of a service point's hold shelf; an unknown one keeps the date.
    pub fn of_hold_shelf(name: Option<&str>) -> ClosedLibraryStrategy {
        match name.unwrap_or_default().to_ascii_lowercase().as_str() {
            "keep_the_current_due_date_time" => ClosedLibraryStrategy::KeepDateAndTime,
            "move_to_the_end_of_the_previous_open_day" => ClosedLibraryStrategy::EndOfPreviousOpenDay,
            "move_to_the_end_of_the_next_open_day" => ClosedLibraryStrategy::EndOfNextOpenDay,
            "move_to_end_of_current_service_point_hours" => ClosedLibraryStrategy::EndOfCurrentHours,
            "move_to_beginning_of_next_open_service_point_hours" => {
                ClosedLibraryStrategy::BeginningOfNextHours
            }
            _ => ClosedLibraryStrategy::KeepDate,
        }
    }

    pub(super) fn adjust(self, date: Timestamp, desk: &Desk) -> Result<Timestamp, Refusal> {
        match self {
            ClosedLibraryStrategy::KeepDate => Ok(end_of_day(date_of(date, desk.zone), desk.zone)),
            ClosedLibraryStrategy::KeepDateAndTime => Ok(date),
            ClosedLibraryStrategy::EndOfPreviousOpenDay => {
                let around = desk.openings_around(date)?;
                let day = if around.requested().open { around.requested() } else { around.previous() };
                day.open.then(|| end_of_day(day.date, desk.zone)).ok_or_else(timetable_is_absent)
            }
            ClosedLibraryStrategy::EndOfNextOpenDay => {
                let around = desk.openings_around(date)?;
                let day = if around.requested().open { around.requested() } else { around.next() };
                day.open.then(|| end_of_day(day.date, desk.zone)).ok_or_else(timetable_is_absent)
            }
            ClosedLibraryStrategy::EndOfCurrentHours => {
                let table = Timetable::of(&desk.openings_around(date)?, desk.zone);
                end_of_current_hours(date, &table, desk).ok_or_else(timetable_is_absent)
            }
            ClosedLibraryStrategy::BeginningOfNextHours => {
                let table = Timetable::of(&desk.openings_around(date)?, desk.zone);
                beginning_of_next_hours(date, &table, desk).ok_or_else(timetable_is_absent)
            }
        }
    }
}

impl Desk<'_> {
    pub fn openings_around(&self, moment: Timestamp) -> Result<SurroundingOpenings, Refusal> {
        self.calendar.surrounding(date_of(moment, self.zone)).ok_or_else(|| {
            Refusal::new("Calendar open periods are not found").code(RefusalCode::CalendarOpenPeriodsNotFound)
        })
    }
}

pub(super) fn timetable_is_absent() -> Refusal {
    Refusal::new("Calendar timetable is absent for requested date").code(RefusalCode::CalendarTimetableAbsent)
}

fn end_of_current_hours(date: Timestamp, table: &Timetable, desk: &Desk) -> Option<Timestamp> {
    let place = table.find(date)?;
    if table.get(place)?.open {
        return Some(date);
    }
    let present = table.find(desk.present)?;
    let ended = table.before(place)?;
    // FOLIO uses an opening of the previous night even if it is over, so that a loan begins overdue.
    if ended.end > desk.now && carries_on_the_evening(ended, table, desk.zone) {
        return Some(ended.end);
    }
    let current = table.get(present)?;
    Some(if current.open { current.end } else { table.after(present)?.end })
}

/// Whether this opening continues one that lasted until midnight of the day before.
///
/// The calendar stores an opening past midnight as two, the first ending 23:59 and the second beginning 00:00; the
/// minute between them is not a closing.
fn carries_on_the_evening(opening: Stretch, table: &Timetable, zone: &TimeZone) -> bool {
    let Some(first) = table.first() else { return false };
    let (evening, night) = (zone.to_datetime(first.end), zone.to_datetime(opening.start));
    let days_apart = (night.date() - evening.date()).get_days().abs();
    let ends_at_midnight = (evening.hour(), evening.minute()) == (23, 59);
    let begins_at_midnight = opening.start == start_of_day(night.date(), zone);
    days_apart <= 1 && ends_at_midnight && begins_at_midnight
}

fn beginning_of_next_hours(date: Timestamp, table: &Timetable, desk: &Desk) -> Option<Timestamp> {
    let place = table.find(date)?;
    if table.get(place)?.open {
        return Some(date);
    }
    let opening = table.after(place)?;
    let due = opening.start.checked_add(desk.opening_offset).unwrap_or(Timestamp::MAX);
    let Some(place) = table.find(due) else { return Some(table.last()?.end) };
    if table.get(place)?.open { Some(due) } else { Some(table.before(place)?.end) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, weekly};
    use crate::loan_policy::tests::policy;
    use ClosedLibraryStrategy::*;
    use serde_json::json;

    const OFFICE_HOURS: [(&str, &str, &str); 4] = [
        ("MONDAY", "09:00", "12:00"),
        ("MONDAY", "13:00", "17:00"),
        ("TUESDAY", "09:00", "17:00"),
        ("THURSDAY", "09:00", "17:00"),
    ];

    /// A time in the week of Monday 2024-05-06, as "6 16:30"; the zone is UTC.
    fn moment(text: &str) -> Timestamp {
        let (day, time) = text.split_once(' ').unwrap();
        at(&format!("2024-05-{day:0>2}T{time}:00Z"))
    }

    fn adjusted(
        strategy: ClosedLibraryStrategy,
        hours: &[(&str, &str, &str)],
        due: &str,
        present: &str,
        offset_hours: i64,
    ) -> Result<String, RefusalCode> {
        let desk = Desk {
            zone: &TimeZone::UTC,
            calendar: &weekly(hours),
            now: moment(present),
            present: moment(present),
            opening_offset: SignedDuration::from_hours(offset_hours),
        };
        strategy
            .adjust(moment(due), &desk)
            .map(|due| due.strftime("%-d %H:%M:%S").to_string())
            .map_err(|refusal| refusal.code.expect("a code"))
    }

    #[test]
    fn dates_are_kept_or_moved_to_the_end_of_an_open_day() {
        let table = [
            (KeepDate, "8 16:30", "8 23:59:59"),
            (KeepDateAndTime, "8 16:30", "8 16:30:00"),
            (EndOfPreviousOpenDay, "7 20:00", "7 23:59:59"),
            (EndOfPreviousOpenDay, "8 16:30", "7 23:59:59"),
            (EndOfPreviousOpenDay, "12 16:30", "9 23:59:59"),
            (EndOfNextOpenDay, "7 20:00", "7 23:59:59"),
            (EndOfNextOpenDay, "8 16:30", "9 23:59:59"),
            (EndOfNextOpenDay, "10 00:00", "13 23:59:59"),
        ];
        for (strategy, due, expected) in table {
            assert_eq!(
                adjusted(strategy, &OFFICE_HOURS, due, due, 0).unwrap(),
                expected,
                "{strategy:?} {due}"
            );
        }
    }

    #[test]
    fn due_times_move_to_the_end_of_the_current_hours() {
        let table = [
            ("6 10:00", "6 09:30", "6 10:00:00"),
            ("6 12:30", "6 09:30", "6 12:00:00"),
            ("6 18:00", "6 13:30", "6 17:00:00"),
            ("6 18:00", "6 12:30", "6 17:00:00"),
            // The current time decides, not the due date.
            ("7 18:00", "6 09:30", "6 12:00:00"),
            ("8 10:00", "7 18:00", "9 17:00:00"),
        ];
        for (due, present, expected) in table {
            let found = adjusted(EndOfCurrentHours, &OFFICE_HOURS, due, present, 0);
            assert_eq!(found.as_deref(), Ok(expected), "due {due}, now {present}");
        }
    }

    #[test]
    fn hours_past_midnight_are_one_opening() {
        let night =
            [("MONDAY", "18:00", "23:59"), ("TUESDAY", "00:00", "02:00"), ("WEDNESDAY", "09:00", "17:00")];
        let found = adjusted(EndOfCurrentHours, &night, "7 03:00", "6 20:00", 0);
        assert_eq!(found.as_deref(), Ok("7 02:00:00"));
        let day_after =
            [("MONDAY", "18:00", "23:00"), ("TUESDAY", "00:00", "02:00"), ("WEDNESDAY", "09:00", "17:00")];
        let found = adjusted(EndOfCurrentHours, &day_after, "7 03:00", "6 20:00", 0);
        assert_eq!(found.as_deref(), Ok("6 23:00:00"));
    }

    #[test]
    fn due_times_move_to_the_beginning_of_the_next_hours() {
        let table = [
            ("6 10:00", 0, "6 10:00:00"),
            ("6 12:30", 0, "6 13:00:00"),
            ("6 18:00", 2, "7 11:00:00"),
            // Past closing time: the end of the hours before the gap.
            ("6 12:30", 6, "6 17:00:00"),
            // After the last stretch: its end.
            ("8 12:00", 9, "9 17:00:00"),
        ];
        for (due, offset, expected) in table {
            let found = adjusted(BeginningOfNextHours, &OFFICE_HOURS, due, due, offset);
            assert_eq!(found.as_deref(), Ok(expected), "due {due}, offset {offset} hours");
        }
    }

    #[test]
    fn a_calendar_without_openings_is_refused_where_openings_are_needed() {
        for strategy in [EndOfPreviousOpenDay, EndOfNextOpenDay, EndOfCurrentHours, BeginningOfNextHours] {
            let found = adjusted(strategy, &[], "6 10:00", "6 10:00", 0);
            assert_eq!(found, Err(RefusalCode::CalendarTimetableAbsent), "{strategy:?}");
        }
        assert!(adjusted(KeepDate, &[], "6 10:00", "6 10:00", 0).is_ok());
    }

    #[test]
    fn the_present_moment_must_be_near_the_due_date() {
        let found = adjusted(EndOfCurrentHours, &OFFICE_HOURS, "15 12:00", "6 10:00", 0);
        assert_eq!(found, Err(RefusalCode::CalendarTimetableAbsent));
    }

    #[test]
    fn strategies_are_read_from_policies_and_service_points() {
        let of = |id: &str| {
            ClosedLibraryStrategy::of_loans(&policy(
                json!({"loansPolicy": {"closedLibraryDueDateManagementId": id}}),
            ))
        };
        let table = [
            ("CURRENT_DUE_DATE", KeepDate),
            ("CURRENT_DUE_DATE_TIME", KeepDateAndTime),
            ("END_OF_THE_PREVIOUS_OPEN_DAY", EndOfPreviousOpenDay),
            ("END_OF_THE_NEXT_OPEN_DAY", EndOfNextOpenDay),
            ("END_OF_THE_CURRENT_SERVICE_POINT_HOURS", EndOfCurrentHours),
            ("BEGINNING_OF_THE_NEXT_OPEN_SERVICE_POINT_HOURS", BeginningOfNextHours),
            ("else", KeepDate),
        ];
        for (id, strategy) in table {
            assert_eq!(of(id), strategy, "{id}");
        }
        assert_eq!(ClosedLibraryStrategy::of_loans(&policy(json!({}))), KeepDateAndTime);
        let table = [
            (None, KeepDate),
            (Some("Keep_the_current_due_date"), KeepDate),
            (Some("Keep_the_current_due_date_time"), KeepDateAndTime),
            (Some("Move_to_the_end_of_the_previous_open_day"), EndOfPreviousOpenDay),
            (Some("Move_to_the_end_of_the_next_open_day"), EndOfNextOpenDay),
            (Some("Move_to_end_of_current_service_point_hours"), EndOfCurrentHours),
            (Some("Move_to_beginning_of_next_open_service_point_hours"), BeginningOfNextHours),
        ];
        for (name, strategy) in table {
            assert_eq!(ClosedLibraryStrategy::of_hold_shelf(name), strategy, "{name:?}");
        }
    }
}
