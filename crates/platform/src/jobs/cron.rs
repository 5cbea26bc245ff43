//! Cron expressions: five fields as in Unix (minute, hour, day of month, month, day of week), or six to seven as in
//! Quartz (second first, year last).

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// A parsed expression: the values of each field at which it fires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    seconds: Values,
    minutes: Values,
    hours: Values,
    days: Values,
    months: Values,
    /// Sunday is 0.
    weekdays: Values,
    /// Unix semantics: if both day fields are restricted, a day that matches either one fires.
    either_day: bool,
}

/// A set of numbers below 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Values(u64);

impl Values {
    fn has(self, value: i8) -> bool {
        self.0 >> value & 1 == 1
    }

    fn all(self, upto: i8) -> impl Iterator<Item = i8> {
        (0..=upto).filter(move |value| self.has(*value))
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// Maximum number of days searched for the next time: a given day of the week on the 29th of February recurs within 40
/// years.
const HORIZON: usize = 40 * 366;

impl Cron {
    /// Parses an expression; the error describes what is invalid.
    pub fn parse(text: &str) -> Result<Cron, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let invalid = |reason: String| format!("CronExpression '{text}' is invalid. {reason}");
        let (seconds, rest, quartz) = match fields.len() {
            5 => ("0", &fields[..], false),
            6 => (fields[0], &fields[1..], true),
            7 if matches!(fields[6], "*" | "?") => (fields[0], &fields[1..6], true),
            7 => return Err(invalid("A year cannot be given.".into())),
            _ => {
                return Err(format!(
                    "Invalid cron expression: {text}. Must have 5 (Unix) or 6/7 (Quartz) fields."
                ));
            }
        };
        let field =
            |text: &str, least, most, names: &[&str]| values(text, least, most, names).map_err(invalid);
        let weekdays = if quartz {
            // Quartz counts from Sunday as 1.
            Values(values(rest[4], 1, 7, &WEEKDAYS).map_err(invalid)?.0 >> 1)
        } else {
            let given = field(rest[4], 0, 7, &WEEKDAYS)?;
            Values((given.0 | given.0 >> 7) & 0x7f)
        };
        let is_restricted = |text: &str| !text.starts_with(['*', '?']);
        Ok(Cron {
            seconds: field(seconds, 0, 59, &[])?,
            minutes: field(rest[0], 0, 59, &[])?,
            hours: field(rest[1], 0, 23, &[])?,
            days: field(rest[2], 1, 31, &[])?,
            months: field(rest[3], 1, 12, &MONTHS)?,
            weekdays,
            either_day: !quartz && is_restricted(rest[2]) && is_restricted(rest[4]),
        })
    }

    /// The first time after `now` at which the expression fires in the zone; `None` if it never does.
    pub fn next(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut date = now.to_zoned(zone.clone()).date();
        for _ in 0..HORIZON {
            if self.fits(date)
                && let Some(found) = self.times().find_map(|time| {
                    let instant = date.to_datetime(time).to_zoned(zone.clone()).ok()?.timestamp();
                    (instant > now).then_some(instant)
                })
            {
                return Some(found);
            }
            date = date.checked_add(1.day()).ok()?;
        }
        None
    }

    fn fits(&self, date: Date) -> bool {
        let day = self.days.has(date.day());
        let weekday = self.weekdays.has(date.weekday().to_sunday_zero_offset());
        self.months.has(date.month()) && if self.either_day { day || weekday } else { day && weekday }
    }

    fn times(&self) -> impl Iterator<Item = Time> {
        self.hours.all(23).flat_map(move |hour| {
            self.minutes.all(59).flat_map(move |minute| {
                self.seconds.all(59).filter_map(move |second| Time::new(hour, minute, second, 0).ok())
            })
        })
    }
}

/// `*`, `?`, `5`, `1-5`, `*/10`, `2/15`, `1-30/2`, and lists of these; months and days of the week also by name.
fn values(text: &str, least: u8, most: u8, names: &[&str]) -> Result<Values, String> {
    let number = |text: &str| -> Result<u8, String> {
        let lower = text.to_ascii_lowercase();
        let named =
            names.iter().position(|name| *name == lower).map(|place| place as u8 + u8::from(least == 1));
        named
            .or_else(|| text.parse().ok())
            .filter(|value| (least..=most).contains(value))
            .ok_or_else(|| format!("'{text}' is not a number from {least} to {most}."))
    };
    let mut all = 0u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            None => (part, None),
            Some((range, step)) => {
                let step = step.parse::<usize>().ok().filter(|step| (1..=60).contains(step));
                (range, Some(step.ok_or_else(|| format!("'{part}' has no valid step."))?))
            }
        };
        let (from, to) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => (least, most),
            Some((from, to)) => (number(from)?, number(to)?),
            None => {
                let from = number(range)?;
                (from, if step.is_some() { most } else { from })
            }
        };
        if from > to {
            return Err(format!("'{range}' ends before it begins."));
        }
        for value in (from..=to).step_by(step.unwrap_or(1)) {
            all |= 1 << value;
        }
    }
    Ok(Values(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(expression: &str, zone: &str, now: &str) -> String {
        let zone = TimeZone::get(zone).expect("a zone");
        let cron = Cron::parse(expression).unwrap_or_else(|reason| panic!("{reason}"));
        let found = cron.next(now.parse().expect("a time"), &zone);
        found.map_or("never".to_owned(), |instant| instant.to_string())
    }

    #[test]
    fn an_expression_fires_at_the_next_fitting_minute() {
        let now = "2026-11-22T09:03:37Z";
        let table = [
            ("* * * * *", "UTC", "2026-11-22T09:04:00Z"),
            ("*/15 * * * *", "UTC", "2026-11-22T09:15:00Z"),
            ("0 2 * * *", "UTC", "2026-11-23T02:00:00Z"),
            ("1 0 * * *", "CET", "2026-11-22T23:01:00Z"),
            ("0 6,18 * * *", "CET", "2026-11-22T17:00:00Z"),
            ("30 9 1 * *", "UTC", "2026-12-01T09:30:00Z"),
            ("0 0 * * mon", "UTC", "2026-11-23T00:00:00Z"),
            ("0 0 * * 7", "UTC", "2026-11-29T00:00:00Z"),
            ("0 0 29 2 *", "UTC", "2028-02-29T00:00:00Z"),
            ("0 0 31 2 *", "UTC", "never"),
            // The first day of the month, or a Monday.
            ("0 0 1 * 1", "UTC", "2026-11-23T00:00:00Z"),
            // Quartz: seconds first, Sunday is 1.
            ("30 3 9 * * ?", "UTC", "2026-11-23T09:03:30Z"),
            ("0/20 * * * * ? *", "UTC", "2026-11-22T09:03:40Z"),
            ("0 0 12 ? * 2", "UTC", "2026-11-23T12:00:00Z"),
        ];
        for (expression, zone, expected) in table {
            assert_eq!(next(expression, zone, now), expected, "{expression} in {zone}");
        }
    }

    #[test]
    fn a_time_that_the_clocks_skip_comes_later_that_day() {
        assert_eq!(next("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z"), "2026-03-29T01:30:00Z");
    }

    #[test]
    fn what_is_no_expression_is_refused_with_the_reason() {
        for (expression, reason) in [
            ("* * *", "Must have 5 (Unix) or 6/7 (Quartz) fields."),
            ("60 * * * *", "'60' is not a number from 0 to 59."),
            ("* * 0 * *", "'0' is not a number from 1 to 31."),
            ("*/0 * * * *", "'*/0' has no valid step."),
            ("* 5-3 * * *", "'5-3' ends before it begins."),
            ("0 0 * * funday", "'funday' is not a number from 0 to 7."),
            ("0 0 0 1 1 ? 2030", "A year cannot be given."),
        ] {
            let refused = Cron::parse(expression).expect_err(expression);
            assert!(refused.ends_with(reason), "{refused}");
        }
    }
}
