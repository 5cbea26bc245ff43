//! What a user's record must be, beyond its shape.

use crate::custom_fields::value;
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::HashSet;
use uuid::Uuid;

type Document = Map<String, Value>;

/// What stands in the database of that which the record names.
#[derive(Default)]
pub struct Facts {
    pub group_found: bool,
    pub address_types: HashSet<Uuid>,
    pub departments: HashSet<Uuid>,
    /// Definitions of the fields that the library has added.
    pub custom_fields: Vec<Value>,
}

/// Some texts differ, as FOLIO's do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    Creating,
    Replacing,
}

/// Drops what counts as nothing: blanks around the name, empty values of added fields.
pub fn tidy(document: &mut Document, doing: Doing) {
    if doing == Doing::Creating
        && let Some(Value::String(name)) = document.get_mut("username")
        && !name.trim().is_empty()
    {
        *name = name.trim().to_owned();
    }
    if let Some(Value::Object(values)) = document.get_mut("customFields") {
        values.retain(|_, value| value.as_str() != Some(""));
    }
}

/// Refuses, in the order in which FOLIO looks.
pub fn refuse(document: &Document, facts: &Facts, doing: Doing) -> Result<(), Failure> {
    let invalid = |words: &str| Err(Failure::Invalid(words.to_owned()));
    let personal = document.get("personal");
    if text(document, "type") == Some("shadow")
        && personal.is_some_and(|personal| personal["profilePictureLink"].is_string())
    {
        return invalid("Profile Picture feature is not applicable for user's type SHADOW");
    }
    let born = personal.and_then(|personal| personal["dateOfBirth"].as_str()).and_then(time::parse);
    if born.is_some_and(|born| born < year_one()) {
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
        return invalid(match doing {
            Doing::Creating => "You cannot add addresses with non-existent address types",
            Doing::Replacing => "All addresses types defined for users must be existing",
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

/// Types of the addresses, in their order.
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

    fn reported(document: Value, facts: &Facts, doing: Doing) -> String {
        let Value::Object(document) = document else { panic!("an object") };
        refuse(&document, facts, doing).map_or_else(|failure| failure.to_string(), |()| String::new())
    }

    #[test]
    fn a_user_whose_references_stand_is_taken() {
        let user = json!({"username": "a", "patronGroup": GROUP, "departments": [LAW],
            "personal": {"lastName": "A", "addresses": [{"addressTypeId": HOME}], "dateOfBirth": "1901-01-01"}});
        assert_eq!(reported(user, &facts(), Doing::Creating), "");
    }

    #[test]
    fn one_address_of_a_type_is_enough() {
        let twice = json!({"personal": {"addresses": [{"addressTypeId": HOME}, {"addressTypeId": HOME}]}});
        assert!(
            reported(twice, &facts(), Doing::Creating).contains("limited to one address per addresstype")
        );
    }

    #[test]
    fn an_unknown_address_type_is_reported_in_different_words_when_replacing() {
        let user = || json!({"personal": {"addresses": [{"addressTypeId": GROUP}]}});
        assert!(reported(user(), &facts(), Doing::Creating).contains("non-existent address types"));
        assert!(reported(user(), &facts(), Doing::Replacing).contains("must be existing"));
    }

    #[test]
    fn an_unknown_group_or_department_is_refused() {
        let none = Facts::default();
        assert!(
            reported(json!({"patronGroup": GROUP}), &none, Doing::Creating)
                .ends_with("Patron group not found")
        );
        assert!(reported(json!({"departments": [LAW]}), &none, Doing::Creating).contains("(departments)"));
    }

    #[test]
    fn a_shadow_has_no_portrait_and_nobody_is_older_than_our_era() {
        let shadow = json!({"type": "shadow", "personal": {"profilePictureLink": "x"}});
        assert!(reported(shadow, &facts(), Doing::Creating).contains("SHADOW"));
        let old = json!({"personal": {"dateOfBirth": "-000044-03-15T00:00:00Z"}});
        assert!(reported(old, &facts(), Doing::Creating).contains("0001-01-01"));
    }

    #[test]
    fn blanks_around_a_new_name_and_empty_added_fields_are_dropped() {
        let Value::Object(mut user) = json!({"username": " a ", "customFields": {"x": "", "y": "z"}}) else {
            panic!("an object")
        };
        tidy(&mut user, Doing::Creating);
        assert_eq!(Value::Object(user), json!({"username": "a", "customFields": {"y": "z"}}));
    }
}
