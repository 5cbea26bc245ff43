//! From the date that a policy proposes to the due date: closed library, schedule limit, patron expiration.

use carrel_records::Refusal;
use jiff::{SignedDuration, Timestamp};

use super::closed_library::{ClosedLibraryStrategy, Desk, timetable_is_absent};
use super::timetable::{Timetable, date_of, end_of_day};
use super::{Circumstances, DueDate};
use crate::loan_policy::{Interval, LoanPolicy, Period};

/// The due date that follows from a proposed one (mod-circulation `ClosedLibraryStrategyService`).
///
/// `limit` is the date of the applicable schedule, if there is one; a date moved from a closed day does not exceed it.
pub fn adjusted(
    policy: &LoanPolicy,
    proposed: Timestamp,
    limit: Option<Timestamp>,
    circumstances: &Circumstances,
) -> Result<DueDate, Refusal> {
    let desk = desk(policy, circumstances);
    let strategy = ClosedLibraryStrategy::of_loans(policy);
    let due = strategy.adjust(proposed, &desk)?;
    let due = match limit {
        Some(limit) if date_of(due, desk.zone) > date_of(limit, desk.zone) => {
            moving_backward(policy).adjust(limit, &desk)?
        }
        _ => due,
    };
    let at = match circumstances.patron_expires {
        Some(expires) if expires < due => before_patron_expires(strategy, expires, &desk)?,
        _ => due,
    };
    Ok(DueDate { at, changed_by_hold: false, changed_by_near_expire_user: at != due })
}

fn desk<'a>(policy: &LoanPolicy, circumstances: &Circumstances<'a>) -> Desk<'a> {
    let offset = policy.loans_policy.as_ref().and_then(|loans| loans.opening_time_offset.as_ref());
    Desk {
        zone: circumstances.zone,
        calendar: circumstances.calendar,
        now: circumstances.now,
        present: circumstances.now,
        opening_offset: offset.map_or(SignedDuration::ZERO, Period::elapsed),
    }
}

fn moving_backward(policy: &LoanPolicy) -> ClosedLibraryStrategy {
    match policy.loan_period().and_then(Period::interval) {
        Some(Interval::Minutes | Interval::Hours) => ClosedLibraryStrategy::EndOfCurrentHours,
        Some(Interval::Days | Interval::Weeks | Interval::Months) | None => {
            ClosedLibraryStrategy::EndOfPreviousOpenDay
        }
    }
}

fn before_patron_expires(
    strategy: ClosedLibraryStrategy,
    expires: Timestamp,
    desk: &Desk,
) -> Result<Timestamp, Refusal> {
    match strategy {
        ClosedLibraryStrategy::KeepDate | ClosedLibraryStrategy::KeepDateAndTime => Ok(expires),
        // The day of expiry itself does not count, even if the library is open.
        ClosedLibraryStrategy::EndOfPreviousOpenDay | ClosedLibraryStrategy::EndOfNextOpenDay => {
            let around = desk.openings_around(expires)?;
            let day = around.previous();
            day.open.then(|| end_of_day(day.date, desk.zone)).ok_or_else(timetable_is_absent)
        }
        ClosedLibraryStrategy::EndOfCurrentHours | ClosedLibraryStrategy::BeginningOfNextHours => {
            let table = Timetable::of(&desk.openings_around(expires)?, desk.zone);
            let place = table.find(expires).ok_or_else(timetable_is_absent)?;
            // FOLIO quirk: within open hours, "the end of the previous stretch" is the beginning of these hours.
            Ok(table.before(place).map_or(expires, |previous| previous.end))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, circumstances, weekdays};
    use crate::loan_policy::tests::policy;
    use jiff::tz::TimeZone;
    use serde_json::json;

    fn rolling(interval: &str, strategy: &str) -> LoanPolicy {
        policy(json!({"loansPolicy": {
            "profileId": "Rolling", "period": {"duration": 1, "intervalId": interval},
            "closedLibraryDueDateManagementId": strategy
        }}))
    }

    // 2024-05-10 is a Friday; the library is open 9 to 17 on weekdays.
    const FRIDAY_NOON: &str = "2024-05-10T12:00:00Z";

    #[test]
    fn moving_out_of_a_closed_day_does_not_pass_the_schedule() {
        let table = [
            // The next open day is Monday; the schedule ends on Saturday or Monday.
            ("Days", "END_OF_THE_NEXT_OPEN_DAY", "2024-05-11T23:59:59Z", "2024-05-10T23:59:59Z"),
            ("Days", "END_OF_THE_NEXT_OPEN_DAY", "2024-05-13T10:00:00Z", "2024-05-13T23:59:59Z"),
            (
                "Hours",
                "BEGINNING_OF_THE_NEXT_OPEN_SERVICE_POINT_HOURS",
                "2024-05-11T23:59:59Z",
                "2024-05-10T17:00:00Z",
            ),
            ("Days", "CURRENT_DUE_DATE", "2024-05-11T08:00:00Z", "2024-05-11T23:59:59Z"),
        ];
        for (interval, strategy, limit, expected) in table {
            let hours = weekdays();
            let due = adjusted(
                &rolling(interval, strategy),
                at("2024-05-11T12:00:00Z"),
                Some(at(limit)),
                &circumstances(FRIDAY_NOON, &hours),
            );
            assert_eq!(due.unwrap().at, at(expected), "{strategy} within {limit}");
        }
    }

    #[test]
    fn nothing_is_due_after_the_patrons_account_expires() {
        let table = [
            ("CURRENT_DUE_DATE", "2024-05-13T10:00:00Z", "2024-05-13T10:00:00Z"),
            ("CURRENT_DUE_DATE_TIME", "2024-05-13T10:00:00Z", "2024-05-13T10:00:00Z"),
            ("END_OF_THE_PREVIOUS_OPEN_DAY", "2024-05-13T10:00:00Z", "2024-05-10T23:59:59Z"),
            ("END_OF_THE_NEXT_OPEN_DAY", "2024-05-14T10:00:00Z", "2024-05-13T23:59:59Z"),
            ("END_OF_THE_CURRENT_SERVICE_POINT_HOURS", "2024-05-13T20:00:00Z", "2024-05-13T17:00:00Z"),
            (
                "BEGINNING_OF_THE_NEXT_OPEN_SERVICE_POINT_HOURS",
                "2024-05-12T10:00:00Z",
                "2024-05-10T17:00:00Z",
            ),
            (
                "BEGINNING_OF_THE_NEXT_OPEN_SERVICE_POINT_HOURS",
                "2024-05-13T10:00:00Z",
                "2024-05-13T09:00:00Z",
            ),
        ];
        for (strategy, expires, expected) in table {
            let hours = weekdays();
            let expiring =
                Circumstances { patron_expires: Some(at(expires)), ..circumstances(FRIDAY_NOON, &hours) };
            let due =
                adjusted(&rolling("Days", strategy), at("2024-05-15T12:00:00Z"), None, &expiring).unwrap();
            assert_eq!(due.at, at(expected), "{strategy}, account expires {expires}");
            assert!(due.changed_by_near_expire_user, "{strategy}");
        }
    }

    #[test]
    fn an_account_that_expires_later_changes_nothing() {
        let hours = weekdays();
        let expiring = Circumstances {
            patron_expires: Some(at("2024-06-01T00:00:00Z")),
            ..circumstances(FRIDAY_NOON, &hours)
        };
        let policy = rolling("Days", "CURRENT_DUE_DATE");
        let due = adjusted(&policy, at("2024-05-15T12:00:00Z"), None, &expiring).unwrap();
        assert_eq!(due.at, at("2024-05-15T23:59:59Z"));
        assert!(!due.changed_by_near_expire_user);
    }

    #[test]
    fn days_are_those_of_the_tenants_zone() {
        let hours = weekdays();
        let zone = TimeZone::get("America/New_York").unwrap();
        let here = Circumstances { zone: &zone, ..circumstances(FRIDAY_NOON, &hours) };
        // Saturday 02:00 in UTC is still Friday in New York.
        let due =
            adjusted(&rolling("Days", "END_OF_THE_NEXT_OPEN_DAY"), at("2024-05-11T02:00:00Z"), None, &here);
        assert_eq!(due.unwrap().at, at("2024-05-11T03:59:59Z"));
    }
}
