//! Points in time as FOLIO's clients write them, and as Carrel writes them.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::{Offset, TimeZone};

/// Parses ISO 8601 in the spellings that FOLIO's clients send: `Z`, `+0000`, `+00:00`, `+00`, no zone (UTC), a bare day
/// (its start in UTC), any number of decimals.
pub fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(instant);
    }
    let (datetime, offset) = spelled_out(text)?;
    datetime.to_zoned(TimeZone::fixed(offset)).ok().map(|zoned| zoned.timestamp())
}

/// The date as FOLIO's storage writes it, in UTC; `None` if the text is not a date.
pub fn normal(text: &str) -> Option<String> {
    if let Some(instant) = parse(text) {
        return Some(format(instant));
    }
    // Many libraries write the last days of 9999 for "never". They are beyond the range of instants, but can be stored.
    let (datetime, offset) = spelled_out(text.trim())?;
    let utc = datetime.checked_sub(jiff::SignedDuration::from_secs(offset.seconds().into())).ok()?;
    Some(written(utc))
}

fn spelled_out(text: &str) -> Option<(civil::DateTime, Offset)> {
    if text.len() > 64 || !text.is_ascii() {
        return None;
    }
    let (local, offset) = split_offset(text)?;
    let local = local.trim_end();
    let datetime = match local.parse::<civil::DateTime>() {
        Ok(datetime) => datetime,
        Err(_) => local.parse::<civil::Date>().ok()?.to_datetime(civil::Time::midnight()),
    };
    Some((datetime, offset))
}

fn split_offset(text: &str) -> Option<(&str, Offset)> {
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return Some((local, Offset::UTC));
    }
    let time_starts = text.find(['T', 't', ' ']).unwrap_or(text.len());
    let Some(sign) = text[time_starts..].rfind(['+', '-']).map(|place| time_starts + place) else {
        return Some((text, Offset::UTC));
    };
    let digits: String = text[sign + 1..].chars().filter(|c| *c != ':').collect();
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let hours: i32 = digits.get(..2)?.parse().ok()?;
    let minutes: i32 = digits.get(2..).filter(|m| !m.is_empty()).map_or(Some(0), |m| m.parse().ok())?;
    let seconds = (hours * 60 + minutes) * 60;
    let seconds = if text.as_bytes()[sign] == b'-' { -seconds } else { seconds };
    Some((&text[..sign], Offset::from_seconds(seconds).ok()?))
}

/// Formats an instant like FOLIO's storage: UTC, milliseconds, `+00:00`.
pub fn format(instant: Timestamp) -> String {
    written(Offset::UTC.to_datetime(instant))
}

fn written(datetime: civil::DateTime) -> String {
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}+00:00",
        datetime.year(),
        datetime.month(),
        datetime.day(),
        datetime.hour(),
        datetime.minute(),
        datetime.second(),
        datetime.millisecond()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_that_clients_use_is_read() {
        for text in [
            "2020-11-12T03:04:05+0000",
            "2020-11-12T03:04:05.000+00:00",
            "2020-11-12T03:04:05Z",
            "2020-11-12T03:04:05",
            "2020-11-12T04:04:05.000+01",
            "2020-11-11T23:04:05-0400",
        ] {
            assert_eq!(parse(text).map(format).as_deref(), Some("2020-11-12T03:04:05.000+00:00"), "{text}");
        }
        assert_eq!(parse("2020-11-12").map(format).as_deref(), Some("2020-11-12T00:00:00.000+00:00"));
    }

    #[test]
    fn the_end_of_the_year_9999_is_kept() {
        for text in ["9999-12-31", "9999-12-31T00:00:00Z", "9999-12-31T02:00:00.000+02:00"] {
            assert_eq!(normal(text).as_deref(), Some("9999-12-31T00:00:00.000+00:00"), "{text}");
        }
        assert_eq!(normal("2020-11-12").as_deref(), Some("2020-11-12T00:00:00.000+00:00"));
        assert_eq!(normal("9999-12-32"), None);
    }

    #[test]
    fn nonsense_is_not_read() {
        for text in ["", "yesterday", "2020-13-01T00:00:00Z", "2020-11-12T03:04:05+xx", "12"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
