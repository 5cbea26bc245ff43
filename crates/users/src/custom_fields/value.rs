//! Validation of the values that users have in custom fields.

use carrel_records::Refusal;
use jiff::civil::Date;
use serde_json::{Map, Value};

/// Longest value of a short text field, in characters.
const MAX_SHORT: usize = 150;
/// Longest value of a long text field, in characters.
const MAX_LONG: usize = 1500;

/// A refusal for each invalid value, in their order; definitions are found by `refId`.
pub fn refusals(values: &Map<String, Value>, definitions: &[Value]) -> Vec<Refusal> {
    let refusal =
        |key: &str, value: String, message: String| Refusal::new(message).with(key, value).of_storage();
    values
        .iter()
        .filter_map(|(key, value)| match definitions.iter().find(|field| field["refId"] == **key) {
            None => Some(refusal(
                "customFields",
                key.clone(),
                format!("Custom field with refId {key} is not found"),
            )),
            Some(field) => check(value, field).err().map(|message| refusal(key, value.to_string(), message)),
        })
        .collect()
}

fn check(value: &Value, field: &Value) -> Result<(), String> {
    let kind = field["type"].as_str().unwrap_or_default();
    let repeatable = field["isRepeatable"] == true;
    match kind {
        "SINGLE_CHECKBOX" => match value {
            Value::Bool(_) => Ok(()),
            _ => Err(format!("Field with type {kind} must be a boolean")),
        },
        "DATE_PICKER" => {
            let text = string(value, kind)?;
            let day = (text.len() == 10).then(|| text.parse::<Date>().ok()).flatten();
            day.map(|_| ()).ok_or_else(|| format!("Invalid date format: {text}"))
        }
        "TEXTBOX_SHORT" | "TEXTBOX_LONG" => match value {
            Value::Array(values) if repeatable => {
                values.iter().try_for_each(|value| check_text(value, kind, field))
            }
            value => check_text(value, kind, field),
        },
        "SINGLE_SELECT_DROPDOWN" | "MULTI_SELECT_DROPDOWN" | "RADIO_BUTTON" => match value {
            Value::Array(values) if repeatable || kind == "MULTI_SELECT_DROPDOWN" => {
                values.iter().try_for_each(|value| check_option(value, kind, field))
            }
            _ if repeatable => Err(format!("Field with type {kind} must be an array")),
            value => check_option(value, kind, field),
        },
        _ => Ok(()),
    }
}

fn string<'v>(value: &'v Value, kind: &str) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| format!("Field with type {kind} must be a string"))
}

fn check_option(value: &Value, kind: &str, field: &Value) -> Result<(), String> {
    let option = string(value, kind)?;
    let options = field["selectField"]["options"]["values"].as_array().map_or(&[][..], Vec::as_slice);
    if options.iter().any(|known| known["id"] == option) {
        return Ok(());
    }
    let known: Vec<String> = options.iter().map(Value::to_string).collect();
    let name = field["refId"].as_str().unwrap_or_default();
    Err(format!("Field {name} can only have following values: [{}]", known.join(", ")))
}

fn check_text(value: &Value, kind: &str, field: &Value) -> Result<(), String> {
    let text = string(value, kind)?;
    let format = field["textField"]["fieldFormat"].as_str().unwrap_or("TEXT");
    let is_valid = match format {
        "EMAIL" => is_email(text),
        "URL" => is_url(text),
        "NUMBER" => is_number(text),
        _ => !text.trim().is_empty(),
    };
    if !is_valid {
        return Err(format!("Invalid {} format: {text}", format.to_lowercase()));
    }
    let max = if kind == "TEXTBOX_LONG" { MAX_LONG } else { MAX_SHORT };
    match text.chars().count() <= max {
        true => Ok(()),
        false => Err(format!("Maximum length of the value is {max}")),
    }
}

fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.rsplit_once('@') else { return false };
    let plain = |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c == '@');
    let is_host = host.contains('.') && host.split('.').all(|level| !level.is_empty());
    plain(name) && plain(host) && is_host && !name.starts_with('.') && !name.ends_with('.')
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    host.contains('.') && !text.contains(char::is_whitespace)
}

/// Digits with one comma or point as decimal mark; spaces or commas between thousands.
fn is_number(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    if !text.is_empty() && digits(text) {
        return true;
    }
    if let Some((whole, part)) = text.rsplit_once([',', '.'])
        && digits(whole)
        && !part.is_empty()
        && digits(part)
    {
        return true;
    }
    let grouped = |whole: &str, mark: char| {
        let mut groups = whole.split(mark);
        let first = groups.next().unwrap_or_default();
        let rest: Vec<&str> = groups.collect();
        (1..=3).contains(&first.len())
            && digits(first)
            && !rest.is_empty()
            && rest.iter().all(|group| group.len() == 3 && digits(group))
    };
    let decimals = |marks: &[char]| match text.rsplit_once(marks) {
        Some((whole, part)) if !part.is_empty() && digits(part) => Some(whole),
        _ => None,
    };
    grouped(text, ' ')
        || grouped(text, ',')
        || decimals(&[',', '.']).is_some_and(|whole| grouped(whole, ' '))
        || decimals(&['.']).is_some_and(|whole| grouped(whole, ','))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(kind: &str, more: Value, value: Value) -> String {
        let mut field = json!({"refId": "f", "type": kind});
        for (key, value) in more.as_object().expect("an object") {
            field[key] = value.clone();
        }
        let Value::Object(values) = json!({"f": value}) else { panic!("an object") };
        refusals(&values, &[field]).pop().map(|refusal| refusal.message).unwrap_or_default()
    }

    #[test]
    fn a_value_has_the_type_of_its_field() {
        assert_eq!(message("SINGLE_CHECKBOX", json!({}), json!(true)), "");
        assert_eq!(
            message("SINGLE_CHECKBOX", json!({}), json!("true")),
            "Field with type SINGLE_CHECKBOX must be a boolean"
        );
        assert_eq!(message("DATE_PICKER", json!({}), json!("2026-02-28")), "");
        assert_eq!(message("DATE_PICKER", json!({}), json!("2026-02-30")), "Invalid date format: 2026-02-30");
        assert_eq!(
            message("TEXTBOX_SHORT", json!({}), json!(1)),
            "Field with type TEXTBOX_SHORT must be a string"
        );
        assert_eq!(
            message("TEXTBOX_SHORT", json!({}), json!("x".repeat(151))),
            "Maximum length of the value is 150"
        );
    }

    #[test]
    fn an_option_outside_the_list_is_refused() {
        let options = || json!({"selectField": {"options": {"values": [{"id": "opt_1", "value": "red"}]}}});
        assert_eq!(message("RADIO_BUTTON", options(), json!("opt_1")), "");
        assert_eq!(message("MULTI_SELECT_DROPDOWN", options(), json!(["opt_1"])), "");
        assert!(
            message("RADIO_BUTTON", options(), json!("opt_2"))
                .starts_with("Field f can only have following values: [")
        );
        assert_eq!(
            message("RADIO_BUTTON", options(), json!(["opt_1"])),
            "Field with type RADIO_BUTTON must be a string"
        );
    }

    #[test]
    fn an_unknown_field_is_refused() {
        let Value::Object(values) = json!({"gone": 1}) else { panic!("an object") };
        assert_eq!(refusals(&values, &[])[0].message, "Custom field with refId gone is not found");
    }

    #[test]
    fn numbers_addresses_and_links_are_recognized() {
        for number in ["1", "-12", "1,5", "1.5", ".5", "1 000", "1 000,5", "1,000,000.25"] {
            assert!(is_number(number), "{number}");
        }
        for other in ["", "-", "1 00", "1.", "a", "1,000 000"] {
            assert!(!is_number(other), "{other}");
        }
        assert!(is_email("a.b@c.org") && !is_email("a@b") && !is_email("a b@c.org"));
        assert!(is_url("https://a.org/x") && !is_url("ftp://a.org") && !is_url("http://a b.org"));
    }
}
