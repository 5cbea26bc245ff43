//! The opening of one day.

use jiff::civil::{Date, Time, Weekday};
use serde::{Deserialize, Serialize};

use super::record::{Calendar, Exception, NormalOpening};

/// A stretch of open time within one day, from its first to its last open minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpeningHours {
    pub start_time: Time,
    pub end_time: Time,
}

/// The opening of one date of a service point, as mod-calendar reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DayOpening {
    pub date: Date,
    /// Open, or closed, from midnight to midnight.
    pub all_day: bool,
    pub open: bool,
    /// Whether an exception applies on this day.
    pub exceptional: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exception_name: Option<String>,
    /// By start time.
    #[serde(default)]
    pub openings: Vec<OpeningHours>,
}

pub(super) const FIRST_MINUTE: Time = Time::constant(0, 0, 0, 0);
pub(super) const LAST_MINUTE: Time = Time::constant(23, 59, 0, 0);

impl DayOpening {
    /// A day without any calendar.
    pub fn closed(date: Date) -> DayOpening {
        DayOpening {
            date,
            all_day: true,
            open: false,
            exceptional: false,
            exception_name: None,
            openings: Vec::new(),
        }
    }

    /// Open from midnight to midnight.
    pub fn all_day(date: Date) -> DayOpening {
        let openings = vec![OpeningHours { start_time: FIRST_MINUTE, end_time: LAST_MINUTE }];
        DayOpening { open: true, openings, ..DayOpening::closed(date) }
    }
}

impl Calendar {
    /// The opening of a date; `None` if the calendar does not cover it or its week is closed that day.
    ///
    /// A closure by exception is an opening record; a closed weekday is not (mod-calendar `all-openings`).
    pub fn opening_of(&self, date: Date) -> Option<DayOpening> {
        if !self.covers(date) {
            return None;
        }
        match self.exceptions.iter().find(|exception| exception.covers(date)) {
            Some(exception) => Some(exception.opening_of(date)),
            None => self.normal_opening_of(date),
        }
    }

    fn normal_opening_of(&self, date: Date) -> Option<DayOpening> {
        let mut openings: Vec<OpeningHours> =
            self.normal_hours.iter().flat_map(|hours| hours.on(date.weekday())).collect();
        if openings.is_empty() {
            return None;
        }
        openings.sort_by_key(|hours| hours.start_time);
        Some(DayOpening {
            date,
            all_day: fill_the_day(&openings),
            open: true,
            exceptional: false,
            exception_name: None,
            openings,
        })
    }
}

impl Exception {
    fn opening_of(&self, date: Date) -> DayOpening {
        let mut openings: Vec<OpeningHours> = self
            .openings
            .iter()
            .filter(|opening| opening.start_date <= date && date <= opening.end_date)
            .map(|opening| OpeningHours {
                start_time: if opening.start_date == date { opening.start_time } else { FIRST_MINUTE },
                end_time: if opening.end_date == date { opening.end_time } else { LAST_MINUTE },
            })
            .collect();
        openings.sort_by_key(|hours| hours.start_time);
        DayOpening {
            date,
            // FOLIO quirk: in an exception, several stretches that together fill the day are not "all day".
            all_day: openings.is_empty() || (openings.len() == 1 && fill_the_day(&openings)),
            open: !openings.is_empty(),
            exceptional: true,
            exception_name: Some(self.name.clone()),
            openings,
        }
    }
}

impl NormalOpening {
    /// The part of this opening on a weekday; two parts if it wraps around a whole week.
    pub(super) fn on(&self, day: Weekday) -> Vec<OpeningHours> {
        let hours = |start_time, end_time| OpeningHours { start_time, end_time };
        let wraps_around_the_week = self.start_day == self.end_day && self.start_time > self.end_time;
        if wraps_around_the_week {
            return if day == self.start_day {
                vec![hours(FIRST_MINUTE, self.end_time), hours(self.start_time, LAST_MINUTE)]
            } else {
                vec![hours(FIRST_MINUTE, LAST_MINUTE)]
            };
        }
        let since_start = self.start_day.until(day);
        let length = self.start_day.until(self.end_day);
        if since_start > length {
            return Vec::new();
        }
        vec![hours(
            if since_start == 0 { self.start_time } else { FIRST_MINUTE },
            if since_start == length { self.end_time } else { LAST_MINUTE },
        )]
    }
}

// Sorted stretches fill the day if each begins in the minute after the previous one.
fn fill_the_day(openings: &[OpeningHours]) -> bool {
    let minute = |time: Time| i32::from(time.hour()) * 60 + i32::from(time.minute());
    let (Some(first), Some(last)) = (openings.first(), openings.last()) else { return false };
    minute(first.start_time) == minute(FIRST_MINUTE)
        && minute(last.end_time) == minute(LAST_MINUTE)
        && openings.windows(2).all(|pair| minute(pair[0].end_time) + 1 == minute(pair[1].start_time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening_hours::record::tests::{calendar, exception, opening};
    use jiff::civil::date;

    fn hours_of(day: &DayOpening) -> Vec<String> {
        day.openings.iter().map(|hours| format!("{}-{}", hours.start_time, hours.end_time)).collect()
    }

    /// From and to, each a weekday and a time.
    type Hours<'a> = ((&'a str, &'a str), (&'a str, &'a str));

    // 2022-05-02 is a Monday.
    fn on_monday(hours: &[Hours]) -> Option<DayOpening> {
        let mut term = calendar("2022-05-01", "2022-05-31");
        term.normal_hours = hours.iter().map(|(from, to)| opening(*from, *to)).collect();
        term.opening_of(date(2022, 5, 2))
    }

    #[test]
    fn weekly_hours_fall_on_their_days() {
        let table: [(&str, &[Hours], &[&str], bool); 8] = [
            ("one day", &[(("MONDAY", "09:00"), ("MONDAY", "16:59"))], &["09:00:00-16:59:00"], false),
            (
                "lunch break, written out of order",
                &[(("MONDAY", "13:00"), ("MONDAY", "17:00")), (("MONDAY", "08:00"), ("MONDAY", "12:00"))],
                &["08:00:00-12:00:00", "13:00:00-17:00:00"],
                false,
            ),
            (
                "past midnight into Monday",
                &[(("SUNDAY", "20:00"), ("MONDAY", "02:00"))],
                &["00:00:00-02:00:00"],
                false,
            ),
            (
                "past midnight out of Monday",
                &[(("MONDAY", "20:00"), ("TUESDAY", "02:00"))],
                &["20:00:00-23:59:00"],
                false,
            ),
            (
                "through Monday",
                &[(("SATURDAY", "20:00"), ("WEDNESDAY", "02:00"))],
                &["00:00:00-23:59:00"],
                true,
            ),
            (
                "two stretches that abut",
                &[(("MONDAY", "00:00"), ("MONDAY", "11:59")), (("MONDAY", "12:00"), ("MONDAY", "23:59"))],
                &["00:00:00-11:59:00", "12:00:00-23:59:00"],
                true,
            ),
            (
                "all week but Monday morning",
                &[(("MONDAY", "12:00"), ("MONDAY", "07:00"))],
                &["00:00:00-07:00:00", "12:00:00-23:59:00"],
                false,
            ),
            (
                "all week but Tuesday morning",
                &[(("TUESDAY", "12:00"), ("TUESDAY", "07:00"))],
                &["00:00:00-23:59:00"],
                true,
            ),
        ];
        for (name, hours, expected, all_day) in table {
            let monday = on_monday(hours).unwrap_or_else(|| panic!("{name}: closed"));
            assert_eq!(hours_of(&monday), expected, "{name}");
            assert!(monday.open && !monday.exceptional, "{name}");
            assert_eq!(monday.all_day, all_day, "{name}");
        }
    }

    #[test]
    fn a_weekday_without_hours_has_no_opening() {
        assert_eq!(on_monday(&[(("TUESDAY", "09:00"), ("SUNDAY", "17:00"))]), None);
    }

    #[test]
    fn an_exception_replaces_the_hours_of_the_week() {
        let mut term = calendar("2022-05-01", "2022-05-31");
        term.normal_hours = vec![opening(("SUNDAY", "00:00"), ("SATURDAY", "23:59"))];
        term.exceptions = vec![
            exception("Holiday", "2022-05-02", "2022-05-02", &[]),
            exception("Night", "2022-05-10", "2022-05-12", &[["2022-05-10", "18:00", "2022-05-12", "06:00"]]),
        ];
        let holiday = term.opening_of(date(2022, 5, 2)).unwrap();
        assert!(!holiday.open && holiday.all_day && holiday.exceptional);
        assert_eq!(holiday.exception_name.as_deref(), Some("Holiday"));
        let night = |day| hours_of(&term.opening_of(date(2022, 5, day)).unwrap());
        assert_eq!(night(10), ["18:00:00-23:59:00"]);
        assert_eq!(night(11), ["00:00:00-23:59:00"]);
        assert_eq!(night(12), ["00:00:00-06:00:00"]);
        assert!(term.opening_of(date(2022, 5, 11)).unwrap().all_day);
    }

    #[test]
    fn a_date_outside_the_calendar_has_no_opening() {
        let mut term = calendar("2022-05-02", "2022-05-03");
        term.normal_hours = vec![opening(("SUNDAY", "00:00"), ("SATURDAY", "23:59"))];
        assert!(term.opening_of(date(2022, 5, 1)).is_none());
        assert!(term.opening_of(date(2022, 5, 3)).is_some());
        assert!(term.opening_of(date(2022, 5, 4)).is_none());
    }

    #[test]
    fn a_closed_day_is_written_with_an_empty_list_and_without_a_name() {
        let json = serde_json::to_value(DayOpening::closed(date(2022, 5, 2))).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"date": "2022-05-02", "allDay": true, "open": false, "exceptional": false, "openings": []})
        );
    }
}
