//! Validation of a custom field's definition, and the names and ids that the server gives.

use base64::Engine;
use carrel_records::{Failure, Refusal};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

type Document = Map<String, Value>;

const ACCORDIONS: [&str; 7] = [
    "user_information",
    "extended_information",
    "contact_information",
    "default",
    "fees_fines",
    "loans",
    "requests",
];

/// Refuses a definition whose parts contradict each other.
pub fn refuse(field: &Document) -> Result<(), Failure> {
    check(field).map_err(|message| Refusal::new(message).of_storage().into())
}

fn check(field: &Document) -> Result<(), String> {
    let length = |key: &str| text(field, key).chars().count();
    if length("name") > 65 {
        return Err("The 'name' length cannot be more than 65".into());
    }
    if length("helpText") > 100 {
        return Err("The 'helpText' length cannot be more than 100".into());
    }
    let accordion = text(field, "displayInAccordion");
    if field.contains_key("displayInAccordion") && !ACCORDIONS.contains(&accordion) {
        return Err(format!("Display in accordion value must be one of: [{}]", ACCORDIONS.join(", ")));
    }
    let kind = text(field, "type");
    let own = match kind {
        "SINGLE_CHECKBOX" => "checkboxField",
        "TEXTBOX_SHORT" | "TEXTBOX_LONG" => "textField",
        "DATE_PICKER" => "",
        _ => "selectField",
    };
    for other in ["checkboxField", "selectField", "textField"] {
        if other != own && field.get(other).is_some_and(|value| !value.is_null()) {
            let allowed = "id, name, refId, type, entityType, visible, required, isRepeatable, order, helpText, metadata, displayInAccordion";
            let allowed = if own.is_empty() { allowed.to_owned() } else { format!("{allowed}, {own}") };
            return Err(format!(
                "Attribute {other} is not allowed, following attributes are allowed for field of type {kind} : [{allowed}]"
            ));
        }
    }
    let single = ["SINGLE_CHECKBOX", "RADIO_BUTTON", "MULTI_SELECT_DROPDOWN"].contains(&kind);
    if single && field.get("isRepeatable") == Some(&json!(true)) {
        return Err(format!("Repeatable is not supported by custom field of type {kind}"));
    }
    if kind == "SINGLE_CHECKBOX" && !field.contains_key("checkboxField") {
        return Err(format!("The 'checkBox' property should be defined for '{kind}' custom field type."));
    }
    if own == "selectField" { check_options(field, kind) } else { Ok(()) }
}

fn check_options(field: &Document, kind: &str) -> Result<(), String> {
    let Some(select) = field.get("selectField") else {
        return Err("The 'selectField' property should be defined".into());
    };
    let Some(options) = select["options"]["values"].as_array() else {
        return Err("The 'values' property should not be null".into());
    };
    let max = if kind == "RADIO_BUTTON" { 5 } else { 200 };
    if options.is_empty() || options.len() > max {
        return Err(format!("The options amount should be in range 1 - {max}"));
    }
    let values: Vec<&str> = options.iter().map(|option| option["value"].as_str().unwrap_or("")).collect();
    if values.iter().any(|value| value.trim().is_empty() || value.chars().count() > 100) {
        return Err("Option name cannot be blank or have more than 100 length".into());
    }
    if values.iter().collect::<HashSet<_>>().len() < values.len() {
        return Err("Option values should be unique".into());
    }
    let ids: Vec<&str> = options.iter().filter_map(|option| option["id"].as_str()).collect();
    if ids.iter().collect::<HashSet<_>>().len() < ids.len() {
        return Err("Option IDs should be unique".into());
    }
    let defaults = options.iter().filter(|option| option["default"] == true).count();
    let multi = kind == "MULTI_SELECT_DROPDOWN";
    if !multi && defaults > 1 {
        return Err("The max defaults amount is 1".into());
    }
    if select["multiSelect"] != multi {
        return Err(format!("The 'multiSelect' property should be '{multi}'"));
    }
    Ok(())
}

/// Sorts the options as requested, gives ids to new ones, and a format to a text field without one.
pub fn complete(field: &mut Document) {
    if text(field, "type").starts_with("TEXTBOX") && !field.contains_key("textField") {
        field.insert("textField".into(), json!({"fieldFormat": "TEXT"}));
    }
    let order = field
        .get("selectField")
        .and_then(|select| select["options"]["sortingOrder"].as_str())
        .unwrap_or("CUSTOM")
        .to_owned();
    let Some(options) = field
        .get_mut("selectField")
        .and_then(|select| select.get_mut("options"))
        .and_then(|options| options.get_mut("values"))
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    let by_value = |option: &Value| option["value"].as_str().unwrap_or_default().to_owned();
    match order.as_str() {
        "ASC" => options.sort_by_key(by_value),
        "DESC" => options.sort_by_key(|option| std::cmp::Reverse(by_value(option))),
        _ => {}
    }
    let number = |option: &Value| {
        option["id"].as_str().and_then(|id| id.rsplit('_').next()?.parse::<u32>().ok()).unwrap_or(0)
    };
    let mut last = options.iter().map(number).max().unwrap_or(0);
    for option in options {
        if option["id"].as_str().is_none_or(|id| id.trim().is_empty()) {
            last += 1;
            option["id"] = format!("opt_{last}").into();
        }
    }
}

/// Ids of all options, and of those that are defaults.
pub fn option_ids(field: &Value) -> (Vec<String>, Vec<String>) {
    let options = field["selectField"]["options"]["values"].as_array().map_or(&[][..], Vec::as_slice);
    let ids = |wanted: &dyn Fn(&Value) -> bool| {
        options
            .iter()
            .filter(|option| wanted(option))
            .filter_map(|option| option["id"].as_str().map(str::to_owned))
            .collect()
    };
    (ids(&|_| true), ids(&|option| option["default"] == true))
}

/// The field's key in user records: its name in camel case, with a number where that is taken.
pub fn ref_id(name: &str, taken: &[String]) -> String {
    let key = camel_case(name);
    let last = taken
        .iter()
        .filter_map(|known| match known.strip_prefix(&key)? {
            "" => Some(1),
            rest => rest.strip_prefix('_')?.parse::<u32>().ok(),
        })
        .max();
    match last {
        None => key,
        Some(last) => format!("{key}_{}", last + 1),
    }
}

fn camel_case(name: &str) -> String {
    let mut word = String::new();
    for part in name.split_whitespace() {
        let plain = part.nfd().filter(|c| !is_combining_mark(*c)).filter(char::is_ascii_alphabetic);
        // The first letter of a part counts even where it is dropped: "1st" is "st", not "St".
        let starts =
            part.chars().next().is_some_and(|c| c.nfd().next().is_some_and(|c| c.is_ascii_alphabetic()));
        for (index, letter) in plain.enumerate() {
            let upper = index == 0 && starts && !word.is_empty();
            word.push(if upper { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() });
        }
    }
    if word.is_empty() { base64::engine::general_purpose::STANDARD_NO_PAD.encode(name) } else { word }
}

pub fn text<'d>(field: &'d Document, key: &str) -> &'d str {
    field.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(field: Value) -> String {
        let Value::Object(field) = field else { panic!("an object") };
        check(&field).err().unwrap_or_default()
    }

    #[test]
    fn a_key_is_in_camel_case_and_numbered_where_taken() {
        assert_eq!(ref_id("Expiration Date", &[]), "expirationDate");
        assert_eq!(ref_id("Département préféré", &[]), "departementPrefere");
        assert_eq!(ref_id("Pet", &["pet".into()]), "pet_2");
        assert_eq!(ref_id("Pet", &["pet".into(), "pet_2".into(), "petName".into()]), "pet_3");
        assert_eq!(ref_id("日本", &[]), "5pel5pys");
    }

    #[test]
    fn the_options_of_a_select_field_are_unique() {
        let field = |values: Value| json!({"name": "n", "type": "RADIO_BUTTON", "selectField": {"multiSelect": false, "options": {"values": values}}});
        assert_eq!(message(field(json!([{"value": "a"}, {"value": "b"}]))), "");
        assert_eq!(message(field(json!([]))), "The options amount should be in range 1 - 5");
        assert_eq!(message(field(json!([{"value": "a"}, {"value": "a"}]))), "Option values should be unique");
        assert_eq!(
            message(field(json!([{"value": "a", "default": true}, {"value": "b", "default": true}]))),
            "The max defaults amount is 1"
        );
    }

    #[test]
    fn each_type_has_its_own_attribute() {
        let field = json!({"name": "n", "type": "DATE_PICKER", "textField": {"fieldFormat": "TEXT"}});
        assert!(message(field).starts_with("Attribute textField is not allowed"));
        assert!(
            message(json!({"name": "n", "type": "SINGLE_CHECKBOX"})).starts_with("The 'checkBox' property")
        );
        let repeated =
            json!({"name": "n", "type": "SINGLE_CHECKBOX", "checkboxField": {}, "isRepeatable": true});
        assert!(message(repeated).starts_with("Repeatable is not supported"));
    }

    #[test]
    fn new_options_are_numbered_after_the_last() {
        let Value::Object(mut field) = json!({"type": "RADIO_BUTTON", "selectField": {"options": {"sortingOrder": "ASC",
            "values": [{"value": "b"}, {"id": "opt_4", "value": "a"}]}}})
        else {
            panic!("an object")
        };
        complete(&mut field);
        assert_eq!(option_ids(&Value::Object(field)).0, ["opt_4", "opt_5"]);
    }
}
