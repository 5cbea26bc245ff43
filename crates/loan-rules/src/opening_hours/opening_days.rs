//! The openings of a service point over days: around a date, and in a period.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::day::DayOpening;
use super::record::Calendar;

/// The openings of days, for due dates, hold shelf expirations and overdue fines.
pub trait OpeningDays {
    /// The openings around a date; `None` if there are no opening periods at all.
    fn surrounding(&self, date: Date) -> Option<SurroundingOpenings>;

    /// The opening of a date; closed without a calendar.
    fn on(&self, date: Date) -> DayOpening {
        match self.surrounding(date) {
            Some(SurroundingOpenings { openings: [_, requested, _] }) => requested,
            None => DayOpening::closed(date),
        }
    }
}

/// All calendars of one service point, by start date.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServicePointHours {
    calendars: Vec<Calendar>,
}

/// The previous open day, the requested day and the next open day, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurroundingOpenings {
    pub openings: [DayOpening; 3],
}

/// A page of daily openings, and how many days there are in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllOpenings {
    pub dates: Vec<DayOpening>,
    pub total_records: usize,
}

/// The days requested from `all-openings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WhichDays {
    pub start_date: Date,
    /// Included.
    pub end_date: Date,
    /// Also list days without a calendar; closures by exception are always listed.
    pub include_closed: bool,
    pub offset: usize,
    pub limit: usize,
}

impl SurroundingOpenings {
    /// Open from midnight to midnight, the day before, the day and the day after.
    pub fn always_open(date: Date) -> SurroundingOpenings {
        let open = DayOpening::all_day;
        let (before, after) = (date.yesterday().unwrap_or(Date::MIN), date.tomorrow().unwrap_or(Date::MAX));
        SurroundingOpenings { openings: [open(before), open(date), open(after)] }
    }

    /// The nearest open day before the requested one, else the day before it as a closed day.
    pub fn previous(&self) -> &DayOpening {
        &self.openings[0]
    }

    /// The requested day, open or closed.
    pub fn requested(&self) -> &DayOpening {
        &self.openings[1]
    }

    /// The nearest open day after the requested one, else the day after it as a closed day.
    pub fn next(&self) -> &DayOpening {
        &self.openings[2]
    }
}

impl ServicePointHours {
    /// The opening hours of these calendars, whatever service points they are assigned to.
    pub fn new(calendars: impl IntoIterator<Item = Calendar>) -> ServicePointHours {
        let mut calendars: Vec<Calendar> = calendars.into_iter().collect();
        calendars.sort_by_key(|calendar| calendar.start_date);
        ServicePointHours { calendars }
    }

    /// The hours of one service point, from all calendars of the library.
    pub fn of(service_point: Uuid, calendars: &[Calendar]) -> ServicePointHours {
        let assigned = |calendar: &&Calendar| calendar.assignments.contains(&service_point);
        ServicePointHours::new(calendars.iter().filter(assigned).cloned())
    }

    /// The opening of a date; closed without a calendar.
    pub fn opening_of(&self, date: Date) -> DayOpening {
        self.stated_opening_of(date).unwrap_or_else(|| DayOpening::closed(date))
    }

    /// `GET /calendar/dates/{servicePointId}/surrounding-openings`; searches the whole period of the calendars.
    pub fn surrounding_openings(&self, date: Date) -> SurroundingOpenings {
        let previous = self
            .calendars
            .iter()
            .filter_map(|calendar| calendar.last_open_day_before(date))
            .max_by_key(|day| day.date);
        let next = self
            .calendars
            .iter()
            .filter_map(|calendar| calendar.first_open_day_after(date))
            .min_by_key(|day| day.date);
        SurroundingOpenings {
            openings: [
                previous.unwrap_or_else(|| DayOpening::closed(date.yesterday().unwrap_or(Date::MIN))),
                self.opening_of(date),
                next.unwrap_or_else(|| DayOpening::closed(date.tomorrow().unwrap_or(Date::MAX))),
            ],
        }
    }

    /// `GET /calendar/dates/{servicePointId}/all-openings`.
    pub fn all_openings(&self, which: WhichDays) -> AllOpenings {
        let mut answer = AllOpenings { dates: Vec::new(), total_records: 0 };
        let Some((first, last)) = self.span_within(which) else { return answer };
        for date in days(first, last) {
            let Some(day) = self
                .stated_opening_of(date)
                .or_else(|| which.include_closed.then(|| DayOpening::closed(date)))
            else {
                continue;
            };
            if answer.total_records >= which.offset && answer.dates.len() < which.limit {
                answer.dates.push(day);
            }
            answer.total_records += 1;
        }
        answer
    }

    fn stated_opening_of(&self, date: Date) -> Option<DayOpening> {
        self.calendars.iter().find_map(|calendar| calendar.opening_of(date))
    }

    // Without closed days there is nothing to list outside of the calendars, however long the period.
    fn span_within(&self, which: WhichDays) -> Option<(Date, Date)> {
        if which.include_closed {
            return Some((which.start_date, which.end_date));
        }
        let first = self.calendars.iter().map(|calendar| calendar.start_date).min()?;
        let last = self.calendars.iter().map(|calendar| calendar.end_date).max()?;
        Some((which.start_date.max(first), which.end_date.min(last)))
    }
}

impl OpeningDays for ServicePointHours {
    fn surrounding(&self, date: Date) -> Option<SurroundingOpenings> {
        Some(self.surrounding_openings(date))
    }

    fn on(&self, date: Date) -> DayOpening {
        self.opening_of(date)
    }
}

impl Calendar {
    fn last_open_day_before(&self, date: Date) -> Option<DayOpening> {
        let (first, last) = self.span_of_openings()?;
        days(first, last.min(date.yesterday().ok()?)).rev().find_map(|day| self.open_day(day))
    }

    fn first_open_day_after(&self, date: Date) -> Option<DayOpening> {
        let (first, last) = self.span_of_openings()?;
        days(first.max(date.tomorrow().ok()?), last).find_map(|day| self.open_day(day))
    }

    fn open_day(&self, date: Date) -> Option<DayOpening> {
        self.opening_of(date).filter(|day| day.open)
    }

    // Without weekly hours only exceptions can open a day, which limits the search.
    fn span_of_openings(&self) -> Option<(Date, Date)> {
        if !self.normal_hours.is_empty() {
            return Some((self.start_date, self.end_date));
        }
        let open = || self.exceptions.iter().filter(|exception| !exception.openings.is_empty());
        let first = open().map(|exception| exception.start_date).min()?;
        let last = open().map(|exception| exception.end_date).max()?;
        Some((first.max(self.start_date), last.min(self.end_date)))
    }
}

// Both ends included; empty if they are in the wrong order.
fn days(first: Date, last: Date) -> impl DoubleEndedIterator<Item = Date> {
    let length = (last - first).get_days();
    (0..=length).filter_map(move |n| first.checked_add(jiff::Span::new().days(n)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening_hours::record::tests::{SERVICE_POINT, calendar, exception, opening};
    use jiff::civil::date;
    use proptest::prelude::*;

    fn weekdays_in_may() -> Calendar {
        let mut term = calendar("2022-05-01", "2022-05-31");
        term.normal_hours = vec![opening(("MONDAY", "09:00"), ("MONDAY", "17:00"))];
        for day in ["TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"] {
            term.normal_hours.push(opening((day, "09:00"), (day, "17:00")));
        }
        term
    }

    fn around(hours: &ServicePointHours, day: Date) -> [(String, bool); 3] {
        hours.surrounding_openings(day).openings.map(|day| (day.date.to_string(), day.open))
    }

    fn open_flags(days: [(&str, bool); 3]) -> [(String, bool); 3] {
        days.map(|(day, open)| (day.to_string(), open))
    }

    #[test]
    fn without_calendars_the_neighboring_days_are_closed() {
        assert_eq!(
            around(&ServicePointHours::default(), date(2021, 1, 2)),
            open_flags([("2021-01-01", false), ("2021-01-02", false), ("2021-01-03", false)])
        );
    }

    #[test]
    fn open_days_around_a_weekend_are_friday_and_monday() {
        let hours = ServicePointHours::new([weekdays_in_may()]);
        assert_eq!(
            around(&hours, date(2022, 5, 7)),
            open_flags([("2022-05-06", true), ("2022-05-07", false), ("2022-05-09", true)])
        );
    }

    #[test]
    fn closures_by_exception_are_stepped_over_but_reported_for_the_requested_day() {
        let mut term = weekdays_in_may();
        term.exceptions = vec![exception("Holiday", "2022-05-05", "2022-05-10", &[])];
        let hours = ServicePointHours::new([term]);
        assert_eq!(
            around(&hours, date(2022, 5, 9)),
            open_flags([("2022-05-04", true), ("2022-05-09", false), ("2022-05-11", true)])
        );
        assert!(hours.surrounding_openings(date(2022, 5, 9)).requested().exceptional);
    }

    #[test]
    fn the_search_goes_on_in_other_calendars_however_far() {
        let mut autumn = calendar("2023-09-01", "2023-09-30");
        autumn.exceptions = vec![exception(
            "Gala",
            "2023-09-10",
            "2023-09-11",
            &[["2023-09-10", "20:00", "2023-09-10", "23:00"]],
        )];
        let hours = ServicePointHours::new([autumn, weekdays_in_may()]);
        assert_eq!(
            around(&hours, date(2022, 6, 15)),
            open_flags([("2022-05-31", true), ("2022-06-15", false), ("2023-09-10", true)])
        );
        assert_eq!(
            around(&hours, date(2023, 9, 11)),
            open_flags([("2023-09-10", true), ("2023-09-11", false), ("2023-09-12", false)])
        );
    }

    #[test]
    fn hours_are_those_of_the_assigned_service_point() {
        let here = SERVICE_POINT.parse().unwrap();
        let calendars = [weekdays_in_may()];
        assert!(ServicePointHours::of(here, &calendars).opening_of(date(2022, 5, 2)).open);
        assert!(!ServicePointHours::of(Uuid::nil(), &calendars).opening_of(date(2022, 5, 2)).open);
    }

    #[test]
    fn all_openings_lists_open_days_and_exceptional_closures_a_page_at_a_time() {
        let mut term = weekdays_in_may();
        term.exceptions = vec![exception("Holiday", "2022-05-05", "2022-05-05", &[])];
        let hours = ServicePointHours::new([term]);
        let which = WhichDays {
            start_date: date(2022, 4, 28),
            end_date: date(2022, 5, 8),
            include_closed: false,
            offset: 1,
            limit: 3,
        };
        let listed = |which| {
            let page = hours.all_openings(which);
            (page.dates.iter().map(|day| day.date.day()).collect::<Vec<_>>(), page.total_records)
        };
        assert_eq!(listed(which), (vec![3, 4, 5], 5));
        assert_eq!(listed(WhichDays { limit: 0, ..which }), (vec![], 5));
        assert_eq!(
            listed(WhichDays { include_closed: true, offset: 0, limit: 10, ..which }),
            (vec![28, 29, 30, 1, 2, 3, 4, 5, 6, 7], 11)
        );
        assert_eq!(
            listed(WhichDays { end_date: date(2022, 4, 1), include_closed: true, ..which }),
            (vec![], 0)
        );
    }

    proptest! {
        #[test]
        fn no_open_day_lies_between_a_day_and_its_neighbors(open in 0u8..128, closure in 0i32..40, length in 0i32..12, day in -20i32..80) {
            let mut term = calendar("2022-05-01", "2022-06-30");
            for (n, name) in ["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"].iter().enumerate() {
                if open & (1 << n) != 0 {
                    term.normal_hours.push(opening((name, "09:00"), (name, "17:00")));
                }
            }
            let nth = |n: i32| date(2022, 5, 1).checked_add(jiff::Span::new().days(n)).unwrap();
            term.exceptions = vec![exception("Closed", &nth(closure).to_string(), &nth(closure + length).to_string(), &[])];
            let hours = ServicePointHours::new([term]);
            let asked = nth(day);
            let answer = hours.surrounding_openings(asked);
            prop_assert!(answer.previous().date < asked && asked < answer.next().date);
            for between in days(answer.previous().date, answer.next().date) {
                let opening = hours.opening_of(between);
                prop_assert!(!opening.open || answer.openings.contains(&opening));
            }
        }
    }
}
