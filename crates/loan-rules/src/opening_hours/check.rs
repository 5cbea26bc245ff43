//! Validation of calendars, with the codes and texts of mod-calendar.

use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::overlap::{conflicts_with_another_or_itself, normal_openings_overlap, overlapping};
use super::record::{Calendar, Exception};
use super::wording;

/// One reason why a calendar cannot be saved, in the shape of mod-calendar's error list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalendarError {
    pub code: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    #[serde(rename = "_parameters")]
    pub parameters: Map<String, Value>,
}

const DATE_OVERLAP: &str = "calendarDateOverlap";

impl CalendarError {
    /// Whether another calendar is the reason; mod-calendar then answers 409 for the whole list, otherwise 400.
    pub fn is_conflict(&self) -> bool {
        self.code == DATE_OVERLAP
    }
}

/// All reasons why a calendar cannot be saved, in mod-calendar's order.
///
/// A calendar with the same id among the others is its previous version and is ignored.
pub fn check(calendar: &Calendar, others: &[Calendar]) -> Result<(), Vec<CalendarError>> {
    let mut errors = Vec::new();
    errors.extend(refuse_if_unnamed(calendar));
    errors.extend(refuse_if_dates_are_reversed(calendar));
    errors.extend(refuse_where_service_points_have_another_calendar(calendar, others));
    errors.extend(refuse_if_weekly_hours_overlap(calendar));
    errors.extend(refuse_if_an_exception_is_unnamed(calendar));
    errors.extend(refuse_where_exception_dates_are_reversed(calendar));
    errors.extend(refuse_where_exceptions_leave_the_calendar(calendar));
    errors.extend(refuse_if_exceptions_overlap(calendar));
    errors.extend(refuse_where_openings_leave_their_exception(calendar));
    errors.extend(refuse_where_openings_of_an_exception_overlap(calendar));
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn error(
    code: &'static str,
    message: impl Into<String>,
    data: Option<Value>,
    parameters: Value,
) -> CalendarError {
    let parameters = match parameters {
        Value::Object(parameters) => parameters,
        _ => Map::new(),
    };
    CalendarError { code, message: message.into(), data, parameters }
}

fn refuse_if_unnamed(calendar: &Calendar) -> Option<CalendarError> {
    let parameters = json!({"name": calendar.name});
    calendar
        .name
        .trim()
        .is_empty()
        .then(|| error("calendarNoName", "Please provide a non-empty calendar name", None, parameters))
}

fn refuse_if_dates_are_reversed(calendar: &Calendar) -> Option<CalendarError> {
    let (start, end) = (calendar.start_date, calendar.end_date);
    (start > end).then(|| {
        let message = format!(
            "Start date ({}) cannot be after end date ({})",
            wording::date(start),
            wording::date(end)
        );
        error("calendarInvalidDateRange", message, None, json!({"startDate": start, "endDate": end}))
    })
}

fn refuse_where_service_points_have_another_calendar(
    calendar: &Calendar,
    others: &[Calendar],
) -> Vec<CalendarError> {
    let shared = |other: &Calendar| -> Vec<Uuid> {
        calendar.assignments.iter().filter(|id| other.assignments.contains(id)).copied().collect()
    };
    let mut overlapping: Vec<(&Calendar, Vec<Uuid>)> = others
        .iter()
        .filter(|other| other.id.is_none() || other.id != calendar.id)
        .filter(|other| other.end_date >= calendar.start_date && other.start_date <= calendar.end_date)
        .map(|other| (other, shared(other)))
        .filter(|(_, shared)| !shared.is_empty())
        .collect();
    overlapping.sort_by_key(|(other, _)| other.start_date);
    overlapping
        .into_iter()
        .map(|(other, shared)| {
            let message = format!(
                "This calendar overlaps with another calendar (“{}” from {} to {})",
                other.name,
                wording::date(other.start_date),
                wording::date(other.end_date)
            );
            let parameters = json!({
                "assignments": calendar.assignments,
                "startDate": calendar.start_date,
                "endDate": calendar.end_date
            });
            error(DATE_OVERLAP, message, Some(json!({"conflictingServicePointIds": shared})), parameters)
        })
        .collect()
}

fn refuse_if_weekly_hours_overlap(calendar: &Calendar) -> Option<CalendarError> {
    let conflicts = overlapping(&calendar.normal_hours, normal_openings_overlap);
    (!conflicts.is_empty()).then(|| {
        let openings: Vec<String> =
            conflicts.iter().map(|opening| wording::normal_opening(opening)).collect();
        error(
            "calendarInvalidNormalOpenings",
            format!("The following openings conflict with each other: {}", wording::list(&openings)),
            Some(json!({"conflicts": conflicts})),
            json!({"normalHours": calendar.normal_hours}),
        )
    })
}

fn refuse_if_an_exception_is_unnamed(calendar: &Calendar) -> Option<CalendarError> {
    calendar.exceptions.iter().any(|exception| exception.name.trim().is_empty()).then(|| {
        error(
            "calendarInvalidExceptionName",
            "At least one exception is missing a name",
            None,
            json!({"exceptions": calendar.exceptions}),
        )
    })
}

fn refuse_where_exception_dates_are_reversed(calendar: &Calendar) -> impl Iterator<Item = CalendarError> {
    let reversed = |exception: &&Exception| exception.start_date > exception.end_date;
    calendar.exceptions.iter().filter(reversed).map(|exception| {
        let message = format!(
            "The start date ({}) is after the end date ({}) for exception “{}”",
            wording::date(exception.start_date),
            wording::date(exception.end_date),
            exception.name
        );
        error(
            "calendarInvalidExceptionDateOrder",
            message,
            Some(json!({"range": exception})),
            json!({"exceptions": calendar.exceptions}),
        )
    })
}

fn refuse_where_exceptions_leave_the_calendar(calendar: &Calendar) -> impl Iterator<Item = CalendarError> {
    let observability = |exception: &&Exception| {
        !(calendar.covers(exception.start_date) && calendar.covers(exception.end_date))
    };
    calendar.exceptions.iter().filter(observability).map(|exception| {
        let message = format!(
            "The exception “{}” ({} to {}) is not fully enclosed by the calendar's start and end dates ({} to {})",
            exception.name,
            wording::date(exception.start_date),
            wording::date(exception.end_date),
            wording::date(calendar.start_date),
            wording::date(calendar.end_date)
        );
        error(
            "calendarInvalidExceptionDateBoundary",
            message,
            Some(json!({"range": exception})),
            json!({"exceptions": calendar.exceptions}),
        )
    })
}

fn refuse_if_exceptions_overlap(calendar: &Calendar) -> Option<CalendarError> {
    let conflicts =
        overlapping(&calendar.exceptions, |a, b| a.start_date <= b.end_date && b.start_date <= a.end_date);
    (!conflicts.is_empty()).then(|| {
        let exceptions: Vec<String> =
            conflicts.iter().map(|exception| wording::exception(exception)).collect();
        error(
            "calendarInvalidExceptions",
            format!("The following exceptions conflict with each other: {}", wording::list(&exceptions)),
            Some(json!({"conflicts": conflicts})),
            json!({"exceptions": calendar.exceptions}),
        )
    })
}

fn refuse_where_openings_leave_their_exception(calendar: &Calendar) -> impl Iterator<Item = CalendarError> {
    calendar.exceptions.iter().filter_map(|exception| {
        let observability: Vec<String> = exception
            .openings
            .iter()
            .filter(|opening| !(exception.covers(opening.start_date) && exception.covers(opening.end_date)))
            .map(wording::exception_opening)
            .collect();
        (!observability.is_empty()).then(|| {
            let message = format!(
                "The exception “{}” has {} outside of the exception's bounds: {}",
                exception.name,
                if observability.len() == 1 { "an opening" } else { "openings" },
                wording::list(&observability)
            );
            error(
                "calendarInvalidExceptionOpeningBoundary",
                message,
                None,
                json!({"exceptions": calendar.exceptions}),
            )
        })
    })
}

fn refuse_where_openings_of_an_exception_overlap(calendar: &Calendar) -> impl Iterator<Item = CalendarError> {
    calendar.exceptions.iter().filter_map(|exception| {
        let conflicts: Vec<String> = exception
            .openings
            .iter()
            .enumerate()
            .filter(|(n, opening)| conflicts_with_another_or_itself(*n, opening, &exception.openings))
            .map(|(_, opening)| wording::exception_opening(opening))
            .collect();
        (!conflicts.is_empty()).then(|| {
            let message = format!(
                "The following openings within “{}” conflict with each other: {}",
                exception.name,
                wording::list(&conflicts)
            );
            error(
                "calendarInvalidExceptionOpenings",
                message,
                None,
                json!({"exceptions": calendar.exceptions}),
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening_hours::record::tests::{SERVICE_POINT, calendar, exception, opening};

    fn messages(calendar: &Calendar, others: &[Calendar]) -> Vec<(&'static str, String)> {
        check(calendar, others)
            .err()
            .unwrap_or_default()
            .into_iter()
            .map(|error| (error.code, error.message.replace('\u{202f}', " ")))
            .collect()
    }

    fn only(code: &'static str, message: &str) -> Vec<(&'static str, String)> {
        vec![(code, message.to_string())]
    }

    #[test]
    fn a_sound_calendar_may_be_saved() {
        let mut term = calendar("2022-05-01", "2022-05-31");
        term.normal_hours = vec![
            opening(("MONDAY", "09:00"), ("MONDAY", "11:59")),
            opening(("MONDAY", "12:00"), ("TUESDAY", "02:00")),
        ];
        term.exceptions = vec![exception(
            "Night",
            "2022-05-10",
            "2022-05-11",
            &[["2022-05-10", "18:00", "2022-05-11", "06:00"]],
        )];
        assert_eq!(check(&term, &[]), Ok(()));
    }

    #[test]
    fn names_and_dates_are_needed_in_order() {
        let mut term = calendar("2022-05-02", "2022-05-01");
        term.name = "  ".into();
        assert_eq!(
            messages(&term, &[]),
            [
                ("calendarNoName", "Please provide a non-empty calendar name".to_string()),
                (
                    "calendarInvalidDateRange",
                    "Start date (May 2, 2022) cannot be after end date (May 1, 2022)".to_string()
                ),
            ]
        );
    }

    #[test]
    fn a_service_point_has_one_calendar_at_a_time() {
        let mut other = calendar("2022-05-31", "2022-06-30");
        other.name = "Summer".into();
        other.id = Some(Uuid::from_u128(1));
        let mut term = calendar("2022-05-01", "2022-05-31");
        let errors = check(&term, std::slice::from_ref(&other)).unwrap_err();
        assert_eq!(
            errors[0].message,
            "This calendar overlaps with another calendar (“Summer” from May 31, 2022 to Jun 30, 2022)"
        );
        assert_eq!(errors[0].data, Some(json!({"conflictingServicePointIds": [SERVICE_POINT]})));
        assert!(errors[0].is_conflict());

        term.id = other.id;
        assert_eq!(check(&term, std::slice::from_ref(&other)), Ok(()), "its own older version");
        term.id = None;
        other.assignments = vec![Uuid::nil()];
        assert_eq!(check(&term, &[other]), Ok(()), "another service point");
    }

    #[test]
    fn weekly_hours_that_meet_are_named() {
        let mut term = calendar("2022-05-01", "2022-05-31");
        term.normal_hours = vec![
            opening(("MONDAY", "00:00"), ("MONDAY", "12:30")),
            opening(("TUESDAY", "04:00"), ("TUESDAY", "14:59")),
            opening(("MONDAY", "04:00"), ("MONDAY", "14:59")),
        ];
        assert_eq!(
            messages(&term, &[]),
            only(
                "calendarInvalidNormalOpenings",
                "The following openings conflict with each other: Mon 12:00 AM - Mon 12:30 PM and Mon 4:00 AM - Mon 2:59 PM"
            )
        );
    }

    #[test]
    fn hours_around_the_whole_week_overlap_any_other_day() {
        let mut term = calendar("2022-05-01", "2022-05-31");
        term.normal_hours = vec![
            opening(("MONDAY", "12:00"), ("MONDAY", "07:00")),
            opening(("THURSDAY", "08:00"), ("THURSDAY", "09:00")),
        ];
        assert_eq!(messages(&term, &[]).len(), 1);
        term.normal_hours[1] = opening(("MONDAY", "08:00"), ("MONDAY", "09:00"));
        assert_eq!(messages(&term, &[]), []);
    }

    #[test]
    fn exceptions_are_named_ordered_enclosed_and_apart() {
        let table: [(Vec<Exception>, &'static str, &str); 5] = [
            (
                vec![exception(" ", "2022-05-01", "2022-05-01", &[])],
                "calendarInvalidExceptionName",
                "At least one exception is missing a name",
            ),
            (
                vec![exception("Break", "2022-05-03", "2022-05-02", &[])],
                "calendarInvalidExceptionDateOrder",
                "The start date (May 3, 2022) is after the end date (May 2, 2022) for exception “Break”",
            ),
            (
                vec![exception("Break", "2022-05-30", "2022-06-02", &[])],
                "calendarInvalidExceptionDateBoundary",
                "The exception “Break” (May 30, 2022 to Jun 2, 2022) is not fully enclosed by the calendar's start and end dates (May 1, 2022 to May 31, 2022)",
            ),
            (
                vec![
                    exception("One", "2022-05-01", "2022-05-01", &[]),
                    exception("Two", "2022-05-01", "2022-05-02", &[]),
                ],
                "calendarInvalidExceptions",
                "The following exceptions conflict with each other: “One” on May 1, 2022 and “Two” from May 1, 2022 to May 2, 2022",
            ),
            (
                vec![exception(
                    "Break",
                    "2022-05-01",
                    "2022-05-01",
                    &[["2022-05-01", "00:00", "2022-05-02", "14:59"]],
                )],
                "calendarInvalidExceptionOpeningBoundary",
                "The exception “Break” has an opening outside of the exception's bounds: May 1, 2022 12:00 AM to May 2, 2022 2:59 PM",
            ),
        ];
        for (exceptions, code, message) in table {
            let mut term = calendar("2022-05-01", "2022-05-31");
            term.exceptions = exceptions;
            assert_eq!(messages(&term, &[]), only(code, message));
        }
    }

    #[test]
    fn openings_of_one_exception_are_apart_and_end_after_they_start() {
        let overlap =
            [["2022-05-01", "08:00", "2022-05-01", "12:00"], ["2022-05-01", "12:00", "2022-05-01", "14:00"]];
        let reversed = [["2022-05-01", "18:00", "2022-05-01", "12:00"]];
        for (openings, named) in [
            (
                &overlap[..],
                "May 1, 2022 8:00 AM to May 1, 2022 12:00 PM and May 1, 2022 12:00 PM to May 1, 2022 2:00 PM",
            ),
            (&reversed[..], "May 1, 2022 6:00 PM to May 1, 2022 12:00 PM"),
        ] {
            let mut term = calendar("2022-05-01", "2022-05-31");
            term.exceptions = vec![exception("Break", "2022-05-01", "2022-05-01", openings)];
            let message = format!("The following openings within “Break” conflict with each other: {named}");
            assert_eq!(messages(&term, &[]), only("calendarInvalidExceptionOpenings", &message));
        }
    }
}
