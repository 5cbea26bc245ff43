//! FQL text → tree.

use crate::tree::{Condition, Expects, Operand, Operator, Query, QueryError, Scalar};
use serde_json::{Map, Value};

/// Conditions of one query, at most.
pub const MAX_CONDITIONS: usize = 500;
/// Values of one list in a query, at most.
const MAX_VALUES: usize = 100_000;
const AND: &str = "$and";
const VERSION: &str = "_version";

impl Query {
    /// Parses FQL; an error names the field that it concerns.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| QueryError::new(text, error.to_string()))?;
        let Value::Object(mut object) = value else {
            return Err(QueryError::new(text, "a query is a JSON object"));
        };
        let version = match object.shift_remove(VERSION) {
            None | Some(Value::Null) => "0".to_owned(),
            Some(Value::String(version)) => version,
            Some(other) => other.to_string(),
        };
        let mut conditions = Vec::new();
        if !object.is_empty() {
            read(&object, version.parse().unwrap_or(0), &mut conditions)?;
        }
        Ok(Query { version, conditions })
    }
}

/// Parses one condition object; only its first key counts, as in FOLIO.
fn read(object: &Map<String, Value>, version: u32, into: &mut Vec<Condition>) -> Result<(), QueryError> {
    let Some((field, inner)) = object.iter().next() else {
        return Err(QueryError::new("", "a condition names a field"));
    };
    if field == AND {
        let parts: Vec<&Value> = match inner {
            Value::Array(parts) => parts.iter().collect(),
            Value::Object(parts) => parts.values().collect(),
            _ => return Err(invalid_operator(field, inner)),
        };
        for part in parts {
            match part {
                Value::Object(part) => read(part, version, into)?,
                other => return Err(invalid_operator(AND, other)),
            }
        }
        return Ok(());
    }
    if into.len() == MAX_CONDITIONS {
        return Err(QueryError::new(field, format!("a query has at most {MAX_CONDITIONS} conditions")));
    }
    let Value::Object(comparison) = inner else { return Err(invalid_operator(field, inner)) };
    let known = |operator: &Operator| operator.ends_in_version().is_none_or(|removed| version < removed);
    for operator in Operator::ALL.into_iter().filter(known) {
        let Some(value) = comparison.get(operator.name()) else { continue };
        if let Some(operand) = operand(operator, value) {
            if let Operand::Many(values) = &operand
                && values.len() > MAX_VALUES
            {
                return Err(QueryError::new(field, format!("a list has at most {MAX_VALUES} values")));
            }
            into.push(Condition { field: field.clone(), operator, operand });
            return Ok(());
        }
    }
    Err(invalid_operator(field, inner))
}

/// The operand of an operator, if its JSON has the form that the operator needs.
fn operand(operator: Operator, value: &Value) -> Option<Operand> {
    match (operator.expects(), value) {
        (Expects::Scalar, value) => scalar(value).map(Operand::One),
        (Expects::Text, Value::String(text)) => Some(Operand::One(Scalar::Text(text.clone()))),
        (Expects::List, Value::Array(values)) => {
            values.iter().map(scalar).collect::<Option<Vec<_>>>().map(Operand::Many)
        }
        (Expects::Flag, Value::Bool(flag)) => Some(Operand::Flag(*flag)),
        (Expects::Flag, Value::String(text)) => text.parse().ok().map(Operand::Flag),
        _ => None,
    }
}

fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::String(text) => Some(Scalar::Text(text.clone())),
        Value::Number(number) => Some(Scalar::Number(number.clone())),
        Value::Bool(flag) => Some(Scalar::Boolean(*flag)),
        Value::Null => Some(Scalar::Null),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// FOLIO's text of this error.
fn invalid_operator(field: &str, condition: &Value) -> QueryError {
    QueryError::new(field, format!("Condition {condition} contains an invalid operator"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_conjunctions_are_one_list() {
        let query = Query::parse(
            r#"{"$and":[{"a":{"$eq":1}},{"$and":[{"b":{"$in":["x",true]}},{"c":{"$empty":"true"}}]}],"_version":"24"}"#,
        )
        .expect("well formed");
        assert_eq!(query.version, "24");
        let fields: Vec<_> = query.conditions.iter().map(|c| (c.field.as_str(), c.operator)).collect();
        assert_eq!(fields, [("a", Operator::Eq), ("b", Operator::In), ("c", Operator::Empty)]);
        assert_eq!(Query::parse(&query.text()).expect("its own text"), query);
    }

    #[test]
    fn a_query_without_version_is_of_version_0() {
        let query = Query::parse(r#"{"a":{"$ne":null}}"#).expect("well formed");
        assert_eq!(
            (query.version.as_str(), &query.conditions[0].operand),
            ("0", &Operand::One(Scalar::Null))
        );
    }

    #[test]
    fn an_unknown_operator_is_refused_with_its_field() {
        for (text, field, message) in [
            (r#"{"a":{"$xy":1}}"#, "a", r#"Condition {"$xy":1} contains an invalid operator"#),
            (r#"{"a":{"$in":1}}"#, "a", r#"Condition {"$in":1} contains an invalid operator"#),
            (r#"{"a":{"$regex":1}}"#, "a", r#"Condition {"$regex":1} contains an invalid operator"#),
            (
                r#"{"a":{"$empty":"maybe"}}"#,
                "a",
                r#"Condition {"$empty":"maybe"} contains an invalid operator"#,
            ),
            (r#"{"a":5}"#, "a", "Condition 5 contains an invalid operator"),
        ] {
            assert_eq!(Query::parse(text), Err(QueryError::new(field, message)));
        }
    }

    #[test]
    fn an_operator_that_was_removed_is_known_in_older_versions_only() {
        for (operator, last) in [
            ("$contains_any", 16),
            ("$not_contains_any", 17),
            ("$contains_all", 19),
            ("$not_contains_all", 20),
        ] {
            let query = |version: u32| {
                Query::parse(&format!(r#"{{"_version":"{version}","a":{{"{operator}":["x"]}}}}"#))
            };
            assert!(query(last).is_ok(), "{operator} in version {last}");
            let message = format!(r#"Condition {{"{operator}":["x"]}} contains an invalid operator"#);
            assert_eq!(query(last + 1), Err(QueryError::new("a", message)));
        }
    }

    #[test]
    fn a_query_must_be_an_object() {
        for text in ["", "[]", "5", "{", "null", r#"{"$and":5}"#, r#"{"$and":[5]}"#] {
            assert!(Query::parse(text).is_err(), "{text}");
        }
    }
}
