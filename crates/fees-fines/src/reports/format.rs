//! Dates and amounts in the format of the tenant's locale.

use carrel_platform::{Connection, Json};
use carrel_records::{Failure, Money, time};
use jiff::tz::TimeZone;
use serde_json::Value;

/// The format of dates and amounts in a report.
pub struct Format {
    pub zone: TimeZone,
    pattern: &'static str,
    /// Digits behind the decimal point of the currency.
    digits: u32,
}

impl Format {
    /// Reads the tenant's locale.
    pub async fn load(connection: &Connection) -> Result<Format, Failure> {
        let rows = connection.query("SELECT doc FROM locale ORDER BY id LIMIT 1", vec![]).await?;
        let locale = rows.first().map(|row| row.get::<_, Json>("doc").parse()).unwrap_or_default();
        let text = |name: &str| locale[name].as_str().unwrap_or_default().to_owned();
        Ok(Format::of(&text("locale"), &text("timezone"), &text("currency")))
    }

    /// Unknown time zones are replaced by UTC, unknown locales by the United States'.
    pub fn of(locale: &str, zone: &str, currency: &str) -> Format {
        Format {
            zone: TimeZone::get(zone).unwrap_or(TimeZone::UTC),
            pattern: match locale.split(['-', '_']).next().unwrap_or_default() {
                "en" if locale.ends_with("GB") => "%d/%m/%Y, %H:%M",
                "de" => "%d.%m.%y, %H:%M",
                "fr" => "%d/%m/%Y %H:%M",
                "es" => "%-d/%-m/%y, %-H:%M",
                "it" => "%d/%m/%y, %H:%M",
                "pt" => "%d/%m/%Y, %H:%M",
                "sv" => "%Y-%m-%d %H:%M",
                _ => "%-m/%-d/%y, %-I:%M %p",
            },
            digits: match currency {
                "JPY" | "KRW" | "VND" | "CLP" | "ISK" | "PYG" | "UGX" | "XAF" | "XOF" => 0,
                _ => 2,
            },
        }
    }

    /// A date of a document; empty if absent.
    pub fn date(&self, date: &Value) -> String {
        let instant = date.as_str().and_then(time::parse);
        instant.map_or_else(String::new, |instant| {
            instant.to_zoned(self.zone.clone()).strftime(self.pattern).to_string()
        })
    }

    /// An amount with as many digits as the currency has.
    pub fn amount(&self, amount: Money) -> String {
        match self.digits {
            0 => amount.to_string().split('.').next().unwrap_or_default().to_owned(),
            _ => amount.to_string(),
        }
    }
}

/// A part of the comments on an action: `STAFF : … \n PATRON : …`.
fn part_of_comments<'a>(action: &'a Value, key: &str) -> &'a str {
    let comments = action["comments"].as_str().unwrap_or_default();
    comments
        .split(" \n ")
        .filter_map(|part| part.split_once(" : "))
        .find(|(name, text)| *name == key && !text.contains(" : "))
        .map_or("", |(_, text)| text)
}

/// The comment for staff.
pub fn staff_info(action: &Value) -> &str {
    part_of_comments(action, "STAFF")
}

/// The comment for the patron.
pub fn patron_info(action: &Value) -> &str {
    part_of_comments(action, "PATRON")
}

/// `Last, First Middle`.
pub fn patron_name(user: &Value) -> String {
    let part = |name: &str| user["personal"][name].as_str().filter(|text| !text.trim().is_empty());
    let mut name = part("lastName").unwrap_or_default().to_owned();
    if let Some(first) = part("firstName") {
        name.push_str(", ");
        name.push_str(first);
    }
    if let Some(middle) = part("middleName") {
        name.push(' ');
        name.push_str(middle);
    }
    name
}

/// An amount of a document as text with two places; null if absent.
pub fn amount_text(amount: &Value) -> Value {
    Money::read(amount).map_or(Value::Null, |amount| amount.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates_are_written_as_the_locale_has_them() {
        let date = json!("2026-03-04T20:05:00.000+00:00");
        for (locale, zone, expected) in [
            ("en-US", "UTC", "3/4/26, 8:05 PM"),
            ("de-DE", "Europe/Berlin", "04.03.26, 21:05"),
            ("en-GB", "Europe/London", "04/03/2026, 20:05"),
            ("", "Nowhere", "3/4/26, 8:05 PM"),
        ] {
            assert_eq!(Format::of(locale, zone, "USD").date(&date), expected, "{locale}");
        }
        assert_eq!(Format::of("", "", "").date(&Value::Null), "");
    }

    #[test]
    fn comments_have_a_part_for_staff_and_one_for_the_patron() {
        let action = json!({"comments": "STAFF : torn cover \n PATRON : please take care"});
        assert_eq!((staff_info(&action), patron_info(&action)), ("torn cover", "please take care"));
        assert_eq!(staff_info(&json!({"comments": "without key"})), "");
    }
}
