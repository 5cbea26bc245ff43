//! The schedule of a job: an interval or a cron expression, in the format of FOLIO's timers: `unit` and `delay`, or
//! `schedule`.

use super::cron::Cron;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// An interval or a cron expression; empty if the declared interval of the job applies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// `millisecond`, `second`, `minute`, `hour` or `day`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// A whole number of units; zero switches the timer off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<CronSchedule>,
}

/// A cron expression with a time zone, by default UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CronSchedule {
    pub cron: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// When the next run is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// This long after the start of the previous run.
    Every(Duration),
    /// This long from now.
    In(Duration),
    Never,
}

/// Minimum interval; shorter ones are raised to it, because each run has a fixed cost.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum interval in milliseconds, a hundred years; longer ones are reduced to it.
const MAX_INTERVAL_MS: u64 = 100 * 366 * 86_400_000;

impl Timing {
    /// Parses a cell of the route table: `every 5 minute`, or `cron=0 2 * * *; zone=CET`.
    pub fn of_cell(cell: &str) -> Timing {
        if let Some(every) = cell.strip_prefix("every ")
            && let Some((delay, unit)) = every.split_once(' ')
        {
            return Timing { unit: Some(unit.into()), delay: Some(delay.into()), schedule: None };
        }
        let part =
            |name: &str| cell.split(';').find_map(|part| part.trim().strip_prefix(name)).map(str::to_owned);
        let schedule = part("cron=").map(|cron| CronSchedule { cron, zone: part("zone=") });
        Timing { unit: None, delay: None, schedule }
    }

    /// Whether it is empty, so that the declared timing applies.
    pub fn is_empty(&self) -> bool {
        *self == Timing::default()
    }

    /// When the next run is due; an error if the timing is invalid.
    pub fn next(&self, now: Timestamp) -> Result<Next, String> {
        if let (Some(unit), Some(delay)) = (&self.unit, &self.delay) {
            let factor: u64 = match unit.as_str() {
                "millisecond" => 1,
                "second" => 1_000,
                "minute" => 60_000,
                "hour" => 3_600_000,
                "day" => 86_400_000,
                other => {
                    return Err(format!("{other} is not a unit: millisecond, second, minute, hour, day"));
                }
            };
            let number: u32 =
                delay.trim().parse().map_err(|_| format!("The delay '{delay}' is not a whole number"))?;
            let milliseconds = (u64::from(number) * factor).min(MAX_INTERVAL_MS);
            return Ok(match milliseconds {
                0 => Next::Never,
                milliseconds => Next::Every(Duration::from_millis(milliseconds).max(MIN_INTERVAL)),
            });
        }
        let Some(schedule) = &self.schedule else {
            return match (&self.unit, &self.delay) {
                (None, Some(delay)) if delay.trim() == "0" => Ok(Next::Never),
                _ => Err("Recurring job trigger is not specified".into()),
            };
        };
        let cron = Cron::parse(&schedule.cron)?;
        let zone = schedule.zone.as_deref().unwrap_or("UTC");
        let zone = TimeZone::get(zone).map_err(|_| format!("Unknown time-zone ID: {zone}"))?;
        Ok(cron.next(now, &zone).map_or(Next::Never, |instant| {
            Next::In(Duration::try_from(instant.duration_since(now)).unwrap_or_default().max(MIN_INTERVAL))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(timing: &Timing) -> Result<Next, String> {
        timing.next("2026-11-22T09:03:37Z".parse().expect("a time"))
    }

    fn every(unit: &str, delay: &str) -> Timing {
        Timing { unit: Some(unit.into()), delay: Some(delay.into()), schedule: None }
    }

    #[test]
    fn cells_of_the_route_table_are_understood() {
        assert_eq!(next(&Timing::of_cell("every 5 minute")), Ok(Next::Every(Duration::from_secs(300))));
        let nightly = Timing::of_cell("cron=1 0 * * *; zone=CET");
        assert_eq!(nightly.schedule.as_ref().and_then(|schedule| schedule.zone.as_deref()), Some("CET"));
        assert_eq!(next(&nightly), Ok(Next::In(Duration::from_secs(50_243))));
    }

    #[test]
    fn an_interval_of_zero_is_never_and_none_is_shorter_than_a_second() {
        assert_eq!(next(&every("minute", "0")), Ok(Next::Never));
        assert_eq!(next(&every("millisecond", "2")), Ok(Next::Every(Duration::from_secs(1))));
        assert_eq!(
            next(&every("day", "4294967295")),
            Ok(Next::Every(Duration::from_millis(MAX_INTERVAL_MS)))
        );
    }

    #[test]
    fn malformed_timings_are_refused() {
        assert!(next(&every("week", "1")).is_err_and(|reason| reason.starts_with("week is not a unit")));
        assert!(next(&every("day", "-1")).is_err());
        assert!(next(&Timing::default()).is_err());
        let schedule = Some(CronSchedule { cron: "* * * * *".into(), zone: Some("Atlantis".into()) });
        let reason = next(&Timing { schedule, ..Timing::default() }).expect_err("no such zone");
        assert_eq!(reason, "Unknown time-zone ID: Atlantis");
    }
}
