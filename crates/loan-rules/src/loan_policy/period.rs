//! A period of time in a policy: "3 Weeks".

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use serde::{Deserialize, Serialize};

/// A duration and the name of its interval; either may be absent in old records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Period {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<i64>,
    /// Minutes, Hours, Days, Weeks or Months.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_id: Option<String>,
}

/// The intervals that periods are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    Minutes,
    Hours,
    Days,
    Weeks,
    Months,
}

/// Why a period cannot be used for a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeriodFault {
    /// Duration or interval is absent.
    Incomplete,
    UnknownInterval(String),
    /// Zero, negative, or beyond the range of dates.
    InvalidDuration(i64),
}

impl Interval {
    /// The interval of exactly this name, as loan policies write it.
    pub fn named(name: &str) -> Option<Interval> {
        Some(match name {
            "Minutes" => Interval::Minutes,
            "Hours" => Interval::Hours,
            "Days" => Interval::Days,
            "Weeks" => Interval::Weeks,
            "Months" => Interval::Months,
            _ => return None,
        })
    }

    /// The interval of this name in any letter case, as service points are read.
    pub fn named_in_any_case(name: &str) -> Option<Interval> {
        let all = [Interval::Minutes, Interval::Hours, Interval::Days, Interval::Weeks, Interval::Months];
        all.into_iter().find(|interval| interval.name().eq_ignore_ascii_case(name))
    }

    /// Minutes and hours make short-term loans, which are due at a time and not at the end of a day.
    pub fn is_short(self) -> bool {
        match self {
            Interval::Minutes | Interval::Hours => true,
            Interval::Days | Interval::Weeks | Interval::Months => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Interval::Minutes => "Minutes",
            Interval::Hours => "Hours",
            Interval::Days => "Days",
            Interval::Weeks => "Weeks",
            Interval::Months => "Months",
        }
    }

    /// Minutes of one interval; a day has 24 hours and a month 31 days (mod-circulation `Period`).
    fn minutes(self) -> i64 {
        match self {
            Interval::Minutes => 1,
            Interval::Hours => 60,
            Interval::Days => 24 * 60,
            Interval::Weeks => 7 * 24 * 60,
            Interval::Months => 31 * 24 * 60,
        }
    }

    /// The moment this many intervals later on the zone's calendar; `None` beyond the range of dates.
    ///
    /// Days, weeks and months keep the time of day; the end of a month stays within a shorter month.
    pub fn after(self, count: i64, from: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let span = match self {
            Interval::Minutes => Span::new().try_minutes(count),
            Interval::Hours => Span::new().try_hours(count),
            Interval::Days => Span::new().try_days(count),
            Interval::Weeks => Span::new().try_weeks(count),
            Interval::Months => Span::new().try_months(count),
        };
        let later = from.to_zoned(zone.clone()).checked_add(span.ok()?).ok()?;
        Some(later.timestamp())
    }
}

impl Period {
    /// A period of this many intervals.
    pub fn of(duration: i64, interval: Interval) -> Period {
        Period { duration: Some(duration), interval_id: Some(interval.name().into()) }
    }

    /// The moment one period after `from` on the zone's calendar.
    pub fn after(&self, from: Timestamp, zone: &TimeZone) -> Result<Timestamp, PeriodFault> {
        let (Some(name), Some(duration)) = (&self.interval_id, self.duration) else {
            return Err(PeriodFault::Incomplete);
        };
        if duration <= 0 {
            return Err(PeriodFault::InvalidDuration(duration));
        }
        let interval = Interval::named(name).ok_or_else(|| PeriodFault::UnknownInterval(name.clone()))?;
        interval.after(duration, from, zone).ok_or(PeriodFault::InvalidDuration(duration))
    }

    /// The interval, in any letter case.
    pub fn interval(&self) -> Option<Interval> {
        Interval::named_in_any_case(self.interval_id.as_deref()?)
    }

    /// The period as elapsed time, with days of 24 hours and months of 31 days; nothing if incomplete.
    pub fn elapsed(&self) -> SignedDuration {
        let minutes = |interval: Interval| self.duration.unwrap_or(0).saturating_mul(interval.minutes());
        let seconds = self.interval().map_or(0, minutes).saturating_mul(60);
        SignedDuration::from_secs(seconds)
    }
}

impl PeriodFault {
    /// The text for an invalid loan period.
    pub fn in_the_loan_policy(&self) -> String {
        match self {
            PeriodFault::Incomplete => "the loan period in the loan policy is not recognised".into(),
            PeriodFault::UnknownInterval(name) => {
                format!("the interval \"{name}\" in the loan policy is not recognised")
            }
            PeriodFault::InvalidDuration(duration) => {
                format!("the duration \"{duration}\" in the loan policy is invalid")
            }
        }
    }

    /// The text for an invalid recall setting; FOLIO spells these with a z and includes the setting.
    pub fn in_recall_setting(&self, setting: &str) -> String {
        match self {
            PeriodFault::Incomplete => format!("the \"{setting}\" in the loan policy is not recognized"),
            PeriodFault::UnknownInterval(name) => {
                format!("the interval \"{name}\" in \"{setting}\" is not recognized")
            }
            PeriodFault::InvalidDuration(duration) => {
                format!("the duration \"{duration}\" in \"{setting}\" is invalid")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(duration: i64, interval: &str, from: &str, zone: &str) -> String {
        let period = Period { duration: Some(duration), interval_id: Some(interval.into()) };
        let zone = TimeZone::get(zone).unwrap();
        let later = period.after(from.parse().unwrap(), &zone).unwrap();
        later.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string()
    }

    #[test]
    fn periods_run_on_the_calendar_of_the_zone() {
        let table = [
            (30, "Minutes", "2024-05-06T10:00:00Z", "UTC", "2024-05-06 10:30"),
            (1, "Months", "2024-01-31T10:00:00Z", "UTC", "2024-02-29 10:00"),
            (1, "Months", "2023-01-31T10:00:00Z", "UTC", "2023-02-28 10:00"),
            (12, "Months", "2024-02-29T10:00:00Z", "UTC", "2025-02-28 10:00"),
            // Clocks are set forward on 2024-03-31 in Berlin: days keep the time, hours count.
            (1, "Days", "2024-03-30T11:00:00Z", "Europe/Berlin", "2024-03-31 12:00"),
            (24, "Hours", "2024-03-30T11:00:00Z", "Europe/Berlin", "2024-03-31 13:00"),
            (1, "Days", "2024-03-30T01:30:00Z", "Europe/Berlin", "2024-03-31 03:30"),
            // Clocks are set back on 2024-11-03 in New York.
            (1, "Weeks", "2024-10-28T16:00:00Z", "America/New_York", "2024-11-04 12:00"),
            // Lord Howe changes its clocks by half an hour, on 2024-10-06.
            (24, "Hours", "2024-10-05T01:00:00Z", "Australia/Lord_Howe", "2024-10-06 12:00"),
            (1, "Days", "2024-10-05T01:00:00Z", "Australia/Lord_Howe", "2024-10-06 11:30"),
        ];
        for (duration, interval, from, zone, expected) in table {
            assert_eq!(after(duration, interval, from, zone), expected, "{duration} {interval} from {from}");
        }
    }

    #[test]
    fn unusable_periods_are_reported_in_folios_words() {
        let fault = |duration: Option<i64>, interval: Option<&str>| {
            let period = Period { duration, interval_id: interval.map(String::from) };
            period.after(Timestamp::UNIX_EPOCH, &TimeZone::UTC).unwrap_err()
        };
        let table = [
            (
                fault(Some(1), None),
                "the loan period in the loan policy is not recognised",
                "the \"x\" in the loan policy is not recognized",
            ),
            (
                fault(None, Some("Days")),
                "the loan period in the loan policy is not recognised",
                "the \"x\" in the loan policy is not recognized",
            ),
            (
                fault(Some(0), Some("Years")),
                "the duration \"0\" in the loan policy is invalid",
                "the duration \"0\" in \"x\" is invalid",
            ),
            (
                fault(Some(-2), Some("Days")),
                "the duration \"-2\" in the loan policy is invalid",
                "the duration \"-2\" in \"x\" is invalid",
            ),
            (
                fault(Some(1), Some("Years")),
                "the interval \"Years\" in the loan policy is not recognised",
                "the interval \"Years\" in \"x\" is not recognized",
            ),
            (
                fault(Some(1), Some("days")),
                "the interval \"days\" in the loan policy is not recognised",
                "the interval \"days\" in \"x\" is not recognized",
            ),
        ];
        for (fault, in_policy, in_recalls) in table {
            assert_eq!(fault.in_the_loan_policy(), in_policy);
            assert_eq!(fault.in_recall_setting("x"), in_recalls);
        }
    }

    #[test]
    fn a_period_beyond_all_calendars_is_an_invalid_duration() {
        let period = Period::of(i64::MAX, Interval::Months);
        let fault = period.after(Timestamp::UNIX_EPOCH, &TimeZone::UTC).unwrap_err();
        assert_eq!(fault, PeriodFault::InvalidDuration(i64::MAX));
    }

    proptest! {
        #[test]
        fn a_period_always_leads_forward(duration in 1i64..5000, interval in 0usize..5, from in 1_000_000_000i64..3_000_000_000, zone in 0usize..4) {
            let interval = [Interval::Minutes, Interval::Hours, Interval::Days, Interval::Weeks, Interval::Months][interval];
            let zone = TimeZone::get(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"][zone]).unwrap();
            let from = Timestamp::from_second(from).unwrap();
            prop_assert!(Period::of(duration, interval).after(from, &zone).unwrap() > from);
        }
    }
}
