//! Dates in a template's context, in the format of the tenant's locale and time zone. Pure.
//!
//! Source of the rule: mod-template-engine. A value whose name ends with `Date` is formatted as a short date,
//! `DateTime` as a short date and time, `DetailedDateTime` as a long date and a short time. Each `…Date` is also
//! available as `…DateTime`.

use icu_datetime::DateTimeFormatter;
use icu_datetime::fieldsets::{YMD, YMDT};
use icu_datetime::input::{Date, DateTime, Time};
use icu_locale_core::Locale;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

/// The format of a tenant's dates.
pub struct DateStyle {
    locale: Locale,
    zone: TimeZone,
}

enum Form {
    Date,
    DateTime,
    DetailedDateTime,
}

impl DateStyle {
    /// A language tag (`en-US`) and an IANA time zone; unknown ones are replaced by `en-US` and UTC.
    pub fn new(language_tag: &str, zone: &str) -> DateStyle {
        DateStyle {
            locale: language_tag.parse().unwrap_or(icu_locale_core::locale!("en-US")),
            zone: TimeZone::get(zone).unwrap_or(TimeZone::UTC),
        }
    }

    /// Replaces every date in the context by its text.
    pub fn apply(&self, context: &mut Value) {
        match context {
            Value::Object(object) => self.apply_to_object(object),
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.apply(element)),
            _ => {}
        }
    }

    fn apply_to_object(&self, object: &mut Map<String, Value>) {
        let dates: Vec<(String, Value)> = object
            .iter()
            .filter(|(name, value)| {
                name.ends_with("Date") && value.as_str().is_some_and(|text| !text.is_empty())
            })
            .map(|(name, value)| (format!("{name}Time"), value.clone()))
            .filter(|(name, _)| !object.contains_key(name))
            .collect();
        object.extend(dates);
        for (name, value) in object.iter_mut() {
            let written = form_of(name)
                .zip(value.as_str().and_then(|text| text.trim().parse::<Timestamp>().ok()))
                .and_then(|(form, moment)| self.written(&form, moment));
            match written {
                Some(text) => *value = text.into(),
                None => self.apply(value),
            }
        }
    }

    /// The text of a moment; `None` if the locale's pattern is unknown.
    fn written(&self, form: &Form, moment: Timestamp) -> Option<String> {
        let local = moment.to_zoned(self.zone.clone());
        let date = Date::try_new_iso(i32::from(local.year()), local.month() as u8, local.day() as u8).ok()?;
        let time = Time::try_new(local.hour() as u8, local.minute() as u8, local.second() as u8, 0).ok()?;
        let preferences = (&self.locale).into();
        let text = match form {
            Form::Date => {
                DateTimeFormatter::try_new(preferences, YMD::short()).ok()?.format(&date).to_string()
            }
            Form::DateTime => {
                let formatter = DateTimeFormatter::try_new(
                    preferences,
                    YMDT::short().with_time_precision(icu_datetime::options::TimePrecision::Minute),
                )
                .ok()?;
                formatter.format(&DateTime { date, time }).to_string()
            }
            Form::DetailedDateTime => {
                let formatter = DateTimeFormatter::try_new(
                    preferences,
                    YMDT::long().with_time_precision(icu_datetime::options::TimePrecision::Minute),
                )
                .ok()?;
                formatter.format(&DateTime { date, time }).to_string()
            }
        };
        // The Unicode data separate "AM" by a narrow no-break space; FOLIO's release of them does not.
        Some(text.replace('\u{202f}', " "))
    }
}

fn form_of(name: &str) -> Option<Form> {
    let name = name.to_ascii_lowercase();
    if name.ends_with("detaileddatetime") {
        Some(Form::DetailedDateTime)
    } else if name.ends_with("datetime") {
        Some(Form::DateTime)
    } else {
        name.ends_with("date").then_some(Form::Date)
    }
}

#[cfg(test)]
mod tests {
    use super::DateStyle;
    use serde_json::{Value, json};

    fn written(language: &str, zone: &str, mut context: Value) -> Value {
        DateStyle::new(language, zone).apply(&mut context);
        context
    }

    #[test]
    fn a_date_is_written_in_the_tenants_locale_and_zone() {
        let due = || json!({"loan": {"dueDate": "2024-05-03T23:30:00.000+00:00"}});
        for (language, zone, date, date_time) in [
            ("en-US", "UTC", "5/3/24", "5/3/24, 11:30 PM"),
            ("en-US", "America/New_York", "5/3/24", "5/3/24, 7:30 PM"),
            ("de-DE", "Europe/Berlin", "04.05.24", "04.05.24, 01:30"),
            ("en-GB", "UTC", "03/05/2024", "03/05/2024, 23:30"),
            ("no such language!", "Nowhere/At_all", "5/3/24", "5/3/24, 11:30 PM"),
        ] {
            let loan = &written(language, zone, due())["loan"];
            assert_eq!(
                (loan["dueDate"].as_str(), loan["dueDateTime"].as_str()),
                (Some(date), Some(date_time)),
                "{language}"
            );
        }
    }

    #[test]
    fn dates_in_lists_are_written_too_and_other_values_are_left() {
        let context =
            json!({"loans": [{"loan": {"dueDate": "2024-05-03T10:00:00Z"}}], "birthDate": "unknown", "n": 1});
        let context = written("en-US", "UTC", context);
        assert_eq!(context["loans"][0]["loan"]["dueDate"], "5/3/24");
        assert_eq!((&context["birthDate"], &context["n"]), (&json!("unknown"), &json!(1)));
    }

    #[test]
    fn a_detailed_date_names_the_month() {
        let context = written("en-US", "UTC", json!({"detailedDateTime": "2024-05-03T10:05:00Z"}));
        assert_eq!(context["detailedDateTime"], "May 3, 2024 at 10:05 AM");
    }
}
