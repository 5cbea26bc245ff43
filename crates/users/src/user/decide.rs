//! Validation of a user record beyond its shape.

use crate::custom_fields::value;
use carrel_records::shape::lenient_uuid;
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::HashSet;
use uuid::Uuid;

type Document = Map<String, Value>;

/// The stored records that the user refers to.
#[derive(Default)]
pub struct Facts {
    pub group_found: bool,
    pub address_types: HashSet<Uuid>,
    pub departments: HashSet<Uuid>,
    /// Definitions of custom fields.
    pub custom_fields: Vec<Value>,
}

/// Some messages depend on it, as FOLIO's do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Create,
    Replace,
}

/// Removes spaces around the user name and empty values of custom fields, and fills up the id with zeros.
pub fn normalize(document: &mut Document, operation: Operation) {
    if let Some(id) = text(document, "id").and_then(lenient_uuid) {
        document.insert("id".into(), id.to_string().into());
    }
    if operation == Operation::Create
        && let Some(Value::String(name)) = document.get_mut("username")
        && !name.trim().is_empty()
    {
        *name = name.trim().to_owned();
    }
    if let Some(Value::Object(values)) = document.get_mut("customFields") {
        values.retain(|_, value| value.as_str() != Some(""));
    }
}

/// Refuses an invalid record, in the order of FOLIO's checks.
pub fn refuse(document: &Document, facts: &Facts, operation: Operation) -> Result<(), Failure> {
    let invalid = |message: &str| Err(Failure::Invalid(message.to_owned()));
    let personal = document.get("personal");
    if text(document, "type") == Some("shadow")
        && personal.is_some_and(|personal| personal["profilePictureLink"].is_string())
    {
        return invalid("Profile Picture feature is not applicable for user's type SHADOW");
    }
    let birth = personal.and_then(|personal| personal["dateOfBirth"].as_str()).and_then(time::parse);
    if birth.is_some_and(|birth| birth < year_one()) {
        return invalid("dateOfBirth must be at least 0001-01-01");
    }
    let types = address_types(document);
    let mut seen = HashSet::new();
    if !types.iter().all(|kind| seen.insert(kind)) {
        return invalid("Users are limited to one address per addresstype");
    }
    if let Some(Value::Object(values)) = document.get("customFields") {
        let refusals = value::refusals(values, &facts.custom_fields);
        if !refusals.is_empty() {
            return Err(Failure::Refused(refusals));
        }
    }
    if !types.iter().all(|kind| facts.address_types.contains(kind)) {
        return invalid(match operation {
            Operation::Create => "You cannot add addresses with non-existent address types",
            Operation::Replace => "All addresses types defined for users must be existing",
        });
    }
    if let Some(group) = text(document, "patronGroup")
        && !facts.group_found
    {
        return invalid(&format!("Cannot add {group}. Patron group not found"));
    }
    if let Some(unknown) = departments(document).iter().find(|id| !facts.departments.contains(id)) {
        return invalid(&format!("Key (departments)=({unknown}) is not present in table \"departments\"."));
    }
    Ok(())
}

/// Ids of the address types, in the order of the addresses.
pub fn address_types(document: &Document) -> Vec<Uuid> {
    let addresses = document.get("personal").and_then(|personal| personal["addresses"].as_array());
    addresses
        .into_iter()
        .flatten()
        .filter_map(|address| Uuid::parse_str(address["addressTypeId"].as_str()?).ok())
        .collect()
}

pub fn departments(document: &Document) -> Vec<Uuid> {
    let departments = document.get("departments").and_then(Value::as_array);
    departments.into_iter().flatten().filter_map(|id| Uuid::parse_str(id.as_str()?).ok()).collect()
}

pub fn text<'d>(document: &'d Document, key: &str) -> Option<&'d str> {
    document.get(key).and_then(Value::as_str)
}

fn year_one() -> Timestamp {
    Timestamp::constant(-62_135_596_800, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOME: Uuid = Uuid::from_u128(1);
    const GROUP: Uuid = Uuid::from_u128(2);
    const LAW: Uuid = Uuid::from_u128(3);

    fn facts() -> Facts {
        Facts {
            group_found: true,
            address_types: [HOME].into(),
            departments: [LAW].into(),
            ..Facts::default()
        }
    }

    fn message(document: Value, facts: &Facts, operation: Operation) -> String {
        let Value::Object(document) = document else { panic!("an object") };
        refuse(&document, facts, operation).map_or_else(|failure| failure.to_string(), |()| String::new())
    }

    #[test]
    fn a_user_with_valid_references_is_accepted() {
        let user = json!({"username": "a", "patronGroup": GROUP, "departments": [LAW],
            "personal": {"lastName": "A", "addresses": [{"addressTypeId": HOME}], "dateOfBirth": "1901-01-01"}});
        assert_eq!(message(user, &facts(), Operation::Create), "");
    }

    #[test]
    fn two_addresses_of_one_type_are_refused() {
        let twice = json!({"personal": {"addresses": [{"addressTypeId": HOME}, {"addressTypeId": HOME}]}});
        assert!(
            message(twice, &facts(), Operation::Create).contains("limited to one address per addresstype")
        );
    }

    #[test]
    fn the_message_for_an_unknown_address_type_depends_on_the_operation() {
        let user = || json!({"personal": {"addresses": [{"addressTypeId": GROUP}]}});
        assert!(message(user(), &facts(), Operation::Create).contains("non-existent address types"));
        assert!(message(user(), &facts(), Operation::Replace).contains("must be existing"));
    }

    #[test]
    fn an_unknown_group_or_department_is_refused() {
        let none = Facts::default();
        assert!(
            message(json!({"patronGroup": GROUP}), &none, Operation::Create)
                .ends_with("Patron group not found")
        );
        assert!(message(json!({"departments": [LAW]}), &none, Operation::Create).contains("(departments)"));
    }

    #[test]
    fn a_shadow_user_has_no_profile_picture_and_no_birth_date_before_the_year_one() {
        let shadow = json!({"type": "shadow", "personal": {"profilePictureLink": "x"}});
        assert!(message(shadow, &facts(), Operation::Create).contains("SHADOW"));
        let old = json!({"personal": {"dateOfBirth": "-000044-03-15T00:00:00Z"}});
        assert!(message(old, &facts(), Operation::Create).contains("0001-01-01"));
    }

    #[test]
    fn spaces_around_a_new_name_and_empty_custom_fields_are_removed() {
        let Value::Object(mut user) = json!({"username": " a ", "customFields": {"x": "", "y": "z"}}) else {
            panic!("an object")
        };
        normalize(&mut user, Operation::Create);
        assert_eq!(Value::Object(user), json!({"username": "a", "customFields": {"y": "z"}}));
    }
}
