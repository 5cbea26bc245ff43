//! Until when a requested item stays on the hold shelf.

use carrel_records::Refusal;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::ZONE_OF_LOAN_PERIODS;
use super::closed_library::{ClosedLibraryStrategy, Desk};
use super::timetable::{date_of, end_of_day};
use crate::loan_policy::{Interval, Period};
use crate::opening_hours::OpeningDays;

/// The hold shelf settings of a service point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldShelf<'a> {
    /// `holdShelfExpiryPeriod`; absent or without interval it counts days, without duration none.
    pub expiry_period: Option<&'a Period>,
    /// `holdShelfClosedLibraryDateManagement`.
    pub closed_library_date_management: Option<&'a str>,
}

/// When a request that becomes "Open - Awaiting pickup" now expires (mod-circulation `UpdateRequestQueue`).
///
/// The calendar is that of the pickup service point; periods run in the tenant's zone.
pub fn hold_shelf_expiration(
    now: Timestamp,
    shelf: &HoldShelf,
    zone: &TimeZone,
    calendar: &dyn OpeningDays,
) -> Result<Timestamp, Refusal> {
    let interval = shelf.expiry_period.and_then(Period::interval).unwrap_or(Interval::Days);
    let duration = shelf.expiry_period.and_then(|period| period.duration).unwrap_or(0);
    let expires = interval.after(duration, now, zone).unwrap_or(now);
    let expires = if interval.is_short() { expires } else { end_of_day(date_of(expires, zone), zone) };
    let strategy = match ClosedLibraryStrategy::of_hold_shelf(shelf.closed_library_date_management) {
        // Service points from before this setting have no strategy, yet hours and minutes mean a time.
        ClosedLibraryStrategy::KeepDate if interval.is_short() => ClosedLibraryStrategy::KeepDateAndTime,
        strategy => strategy,
    };
    strategy.adjust(expires, &desk(now, expires, shelf.expiry_period, zone, calendar))
}

/// When an item held for use at the location expires, by the loan policy's period
/// (`holdShelfExpiryPeriodForUseAtLocation`) and the service point's strategy.
pub fn use_at_location_expiration(
    now: Timestamp,
    period: &Period,
    closed_library_date_management: Option<&str>,
    zone: &TimeZone,
    calendar: &dyn OpeningDays,
) -> Result<Timestamp, Refusal> {
    let interval = period.interval_id.as_deref().and_then(Interval::named).unwrap_or(Interval::Minutes);
    let duration = period.duration.unwrap_or(0);
    let expires = interval.after(duration, now, &ZONE_OF_LOAN_PERIODS).unwrap_or(now);
    ClosedLibraryStrategy::of_hold_shelf(closed_library_date_management)
        .adjust(expires, &desk(now, expires, Some(period), zone, calendar))
}

fn desk<'a>(
    now: Timestamp,
    expires: Timestamp,
    period: Option<&Period>,
    zone: &'a TimeZone,
    calendar: &'a dyn OpeningDays,
) -> Desk<'a> {
    Desk {
        zone,
        calendar,
        now,
        // FOLIO quirk: the hours at the expiration itself count as current, and the expiry period also serves as the
        // offset from the next opening.
        present: expires,
        opening_offset: period.map_or(SignedDuration::ZERO, Period::elapsed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::due_date::fixtures::{at, weekdays};
    use carrel_records::RefusalCode;

    // 2024-05-10 is a Friday; the library is open 9 to 17 on weekdays, Berlin is two hours ahead of UTC.
    const FRIDAY_NOON: &str = "2024-05-10T10:00:00Z";

    fn expiration(period: Option<Period>, strategy: Option<&str>) -> String {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let shelf = HoldShelf { expiry_period: period.as_ref(), closed_library_date_management: strategy };
        let expires = hold_shelf_expiration(at(FRIDAY_NOON), &shelf, &zone, &weekdays()).unwrap();
        expires.to_zoned(zone).strftime("%a %-d %H:%M:%S").to_string()
    }

    #[test]
    fn days_last_to_their_end_and_hours_to_the_minute() {
        let table = [
            (Some(Period::of(3, Interval::Days)), None, "Mon 13 23:59:59"),
            (Some(Period::of(1, Interval::Weeks)), Some("Keep_the_current_due_date_time"), "Fri 17 23:59:59"),
            (Some(Period::of(2, Interval::Hours)), None, "Fri 10 14:00:00"),
            (Some(Period::of(2, Interval::Hours)), Some("Keep_the_current_due_date"), "Fri 10 14:00:00"),
            (None, None, "Fri 10 23:59:59"),
            (Some(Period { duration: Some(1), interval_id: None }), None, "Sat 11 23:59:59"),
        ];
        for (period, strategy, expected) in table {
            assert_eq!(expiration(period.clone(), strategy), expected, "{period:?} {strategy:?}");
        }
    }

    #[test]
    fn an_expiration_on_a_closed_day_follows_the_service_points_strategy() {
        let two_days = || Some(Period::of(2, Interval::Days));
        let six_hours = || Some(Period::of(6, Interval::Hours));
        let table = [
            (two_days(), "Move_to_the_end_of_the_previous_open_day", "Fri 10 23:59:59"),
            (two_days(), "Move_to_the_end_of_the_next_open_day", "Mon 13 23:59:59"),
            (six_hours(), "Move_to_end_of_current_service_point_hours", "Mon 13 17:00:00"),
            (six_hours(), "Move_to_beginning_of_next_open_service_point_hours", "Mon 13 15:00:00"),
        ];
        for (period, strategy, expected) in table {
            assert_eq!(expiration(period, Some(strategy)), expected, "{strategy}");
        }
    }

    #[test]
    fn a_calendar_without_openings_is_refused() {
        let shelf = HoldShelf {
            expiry_period: None,
            closed_library_date_management: Some("Move_to_the_end_of_the_next_open_day"),
        };
        let nowhere = crate::opening_hours::ServicePointHours::default();
        let refusal = hold_shelf_expiration(at(FRIDAY_NOON), &shelf, &TimeZone::UTC, &nowhere).unwrap_err();
        assert_eq!(refusal.code, Some(RefusalCode::CalendarTimetableAbsent));
    }

    #[test]
    fn items_for_use_at_the_location_expire_by_the_loan_policy() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let expiration = |period, strategy| {
            use_at_location_expiration(at(FRIDAY_NOON), &period, strategy, &zone, &weekdays()).unwrap()
        };
        let hours = Period::of(2, Interval::Hours);
        assert_eq!(
            expiration(hours.clone(), Some("Keep_the_current_due_date_time")),
            at("2024-05-10T12:00:00Z")
        );
        assert_eq!(expiration(hours, None), at("2024-05-10T21:59:59Z"));
        assert_eq!(
            expiration(Period::of(1, Interval::Days), Some("Move_to_the_end_of_the_next_open_day")),
            at("2024-05-13T21:59:59Z")
        );
    }
}
