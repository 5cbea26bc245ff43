//! Run times of scheduled notices. Pure.

use crate::settings::Timing;
use carrel_loan_rules::loan_policy::Period;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// The first run of a notice about an event at `moment`.
///
/// An invalid period counts as none.
pub fn first_run(timing: Timing, period: Option<&Period>, moment: Timestamp) -> Timestamp {
    let Some(span) = period.and_then(span) else { return moment };
    match timing {
        Timing::UponAt => moment,
        Timing::Before => shifted(moment, span.negate()).unwrap_or(moment),
        Timing::After => shifted(moment, span).unwrap_or(moment),
    }
}

/// The run after `run`; never in the past. `None` for an invalid period.
pub fn next_run(every: &Period, run: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let span = span(every)?;
    let next = shifted(run, span)?;
    let next = if next < now { shifted(now, span)? } else { next };
    (next > run).then_some(next)
}

/// Notices count calendar days and months in UTC, as in FOLIO.
fn shifted(from: Timestamp, span: Span) -> Option<Timestamp> {
    from.to_zoned(TimeZone::UTC).checked_add(span).ok().map(|zoned| zoned.timestamp())
}

fn span(period: &Period) -> Option<Span> {
    let duration = period.duration.filter(|duration| *duration > 0)?;
    let span = Span::new();
    match period.interval_id.as_deref()? {
        "Minutes" => span.try_minutes(duration),
        "Hours" => span.try_hours(duration),
        "Days" => span.try_days(duration),
        "Weeks" => span.try_weeks(duration),
        "Months" => span.try_months(duration),
        "Years" => span.try_years(duration),
        _ => return None,
    }
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_records::time;

    fn at(text: &str) -> Timestamp {
        time::parse(text).expect("a time")
    }

    fn period(duration: i64, interval: &str) -> Period {
        Period { duration: Some(duration), interval_id: Some(interval.into()) }
    }

    #[test]
    fn a_notice_runs_before_upon_or_after_its_moment() {
        let due = at("2024-03-31T10:00:00Z");
        let two_days = period(2, "Days");
        for (timing, run) in [
            (Timing::Before, "2024-03-29T10:00:00Z"),
            (Timing::UponAt, "2024-03-31T10:00:00Z"),
            (Timing::After, "2024-04-02T10:00:00Z"),
        ] {
            assert_eq!(first_run(timing, Some(&two_days), due), at(run), "{timing:?}");
        }
        assert_eq!(first_run(Timing::Before, Some(&period(1, "Months")), due), at("2024-02-29T10:00:00Z"));
        assert_eq!(first_run(Timing::Before, Some(&period(1, "Moons")), due), due);
    }

    #[test]
    fn a_recurring_notice_steps_past_now() {
        let (run, week) = (at("2024-05-01T10:00:00Z"), period(1, "Weeks"));
        assert_eq!(next_run(&week, run, at("2024-05-01T10:05:00Z")), Some(at("2024-05-08T10:00:00Z")));
        assert_eq!(next_run(&week, run, at("2024-06-01T09:00:00Z")), Some(at("2024-06-08T09:00:00Z")));
        assert_eq!(next_run(&period(0, "Weeks"), run, run), None);
    }
}
