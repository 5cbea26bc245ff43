//! Queries of older versions of FQL in the words of the present one.

use carrel_fql::{Condition, Fields, Kind, Operand, Operator, Query, Scalar};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use uuid::{Uuid, uuid};

/// The version of FQL that this program speaks.
pub const VERSION: &str = "24";
/// What an entity type that is gone becomes.
const REMOVED: Uuid = uuid!("deadbeef-dead-dead-dead-deaddeadbeef");

/// A query in the present version.
#[derive(Debug, Clone, PartialEq)]
pub struct Migrated {
    pub query: Query,
    pub fields: Vec<String>,
    /// More than the version has changed.
    pub is_changed: bool,
    pub warnings: Vec<Value>,
}

impl Migrated {
    pub fn to_json(&self, entity_type_id: Uuid) -> Value {
        json!({
            "entityTypeId": entity_type_id,
            "fqlQuery": self.query.text(),
            "fields": self.fields,
            "warnings": self.warnings,
        })
    }
}

/// A list of an entity type that is not there any more.
pub fn removed(entity_type_id: Uuid) -> Value {
    json!({
        "entityTypeId": REMOVED,
        "fqlQuery": json!({"_version": VERSION}).to_string(),
        "fields": [],
        "warnings": [{"type": "REMOVED_ENTITY", "description": format!("Entity type {entity_type_id} has been removed.")}],
    })
}

/// Brings a query to the present version: days become the instants at which they begin in the tenant's zone
/// (version 4), and the operators that are gone become those that stand for them (17 to 21). Conditions and fields that
/// the type does not have are left out with a warning.
pub fn migrate(query: &Query, fields: Vec<String>, of: &dyn Fields, zone: &TimeZone) -> Migrated {
    let from: u32 = query.version.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let mut warnings = Vec::new();
    let mut conditions = Vec::new();
    let current: u32 = VERSION.parse().expect("a number");
    for condition in &query.conditions {
        let Ok(field) = of.find(&condition.field) else {
            if from >= current {
                conditions.push(condition.clone());
            } else {
                warnings.push(removed_field(&condition.field, Some(condition)));
            }
            continue;
        };
        let mut condition = condition.clone();
        if from < 4 && field.kind == Kind::DateTime {
            begin_days(&mut condition.operand, zone);
        }
        conditions.extend(with_present_operators(condition, from));
    }
    let known = |field: &String| from >= current || of.find(field).is_ok();
    let (fields, gone): (Vec<String>, Vec<String>) = fields.into_iter().partition(known);
    warnings.extend(gone.iter().map(|field| removed_field(field, None)));
    let is_changed = conditions != query.conditions || !gone.is_empty();
    Migrated { query: Query { version: VERSION.into(), conditions }, fields, is_changed, warnings }
}

fn removed_field(field: &str, condition: Option<&Condition>) -> Value {
    let mut description = format!("Field {field} has been removed.");
    if let Some(condition) = condition {
        description.push_str(&format!(" The condition {} has been left out.", condition.text()));
    }
    json!({"type": "REMOVED_FIELD", "description": description})
}

fn begin_days(operand: &mut Operand, zone: &TimeZone) {
    let begin = |scalar: &mut Scalar| {
        if let Scalar::Text(text) = scalar
            && text.len() == 10
            && let Ok(day) = text.parse::<Date>()
            && let Ok(midnight) = day.to_zoned(zone.clone())
        {
            *text = midnight.with_time_zone(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S.000").to_string();
        }
    };
    match operand {
        Operand::One(scalar) => begin(scalar),
        Operand::Many(scalars) => scalars.iter_mut().for_each(begin),
        Operand::Flag(_) => {}
    }
}

fn with_present_operators(condition: Condition, from: u32) -> Vec<Condition> {
    let one = |operator| vec![Condition { operator, ..condition.clone() }];
    let each = |operator| match &condition.operand {
        Operand::Many(scalars) => scalars
            .iter()
            .map(|scalar| Condition {
                field: condition.field.clone(),
                operator,
                operand: Operand::One(scalar.clone()),
            })
            .collect(),
        _ => vec![condition.clone()],
    };
    match condition.operator {
        Operator::ContainsAny if from < 17 => one(Operator::In),
        Operator::NotContainsAny if from < 18 => one(Operator::Nin),
        Operator::Regex if from < 19 => match &condition.operand {
            Operand::One(Scalar::Text(pattern)) => {
                let (operator, text) = match pattern.strip_prefix('^') {
                    Some(text) => (Operator::StartsWith, text),
                    None => (Operator::Contains, pattern.as_str()),
                };
                let operand = Operand::One(Scalar::Text(text.to_owned()));
                vec![Condition { field: condition.field.clone(), operator, operand }]
            }
            _ => vec![condition.clone()],
        },
        Operator::ContainsAll if from < 20 => each(Operator::Eq),
        Operator::NotContainsAll if from < 21 => each(Operator::Ne),
        _ => vec![condition],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_fql::{Field, Fold, Source};

    struct Declared;

    impl Fields for Declared {
        fn find(&self, name: &str) -> Result<Field, String> {
            let kind = match name {
                "gone" => return Err("gone".into()),
                "time" => Kind::DateTime,
                _ => Kind::Text,
            };
            let source = Source::Text(name.into());
            Ok(Field { kind, source, fold: Fold::Case, default: None, is_nullable: true })
        }
    }

    fn migrated(text: &str) -> Migrated {
        let zone = TimeZone::get("America/New_York").expect("a zone");
        migrate(&Query::parse(text).expect("well formed"), vec!["a".into()], &Declared, &zone)
    }

    #[test]
    fn only_the_version_of_a_present_query_changes() {
        let migrated = migrated(r#"{"a":{"$eq":"b"}}"#);
        assert!(!migrated.is_changed);
        assert_eq!(migrated.query.text(), r#"{"_version":"24","a":{"$eq":"b"}}"#);
    }

    #[test]
    fn older_operators_are_replaced() {
        for (old, new) in [
            (r#"{"a":{"$contains_any":["b"]}}"#, r#"{"_version":"24","a":{"$in":["b"]}}"#),
            (r#"{"a":{"$regex":"^b"}}"#, r#"{"_version":"24","a":{"$starts_with":"b"}}"#),
            (r#"{"a":{"$regex":"b"}}"#, r#"{"_version":"24","a":{"$contains":"b"}}"#),
            (
                r#"{"a":{"$contains_all":["b","c"]}}"#,
                r#"{"_version":"24","$and":[{"a":{"$eq":"b"}},{"a":{"$eq":"c"}}]}"#,
            ),
            (
                r#"{"_version":"3","time":{"$gt":"2024-07-01"}}"#,
                r#"{"_version":"24","time":{"$gt":"2024-07-01T04:00:00.000"}}"#,
            ),
        ] {
            let migrated = migrated(old);
            assert!(migrated.is_changed);
            assert_eq!(migrated.query.text(), new);
        }
    }

    #[test]
    fn a_field_that_is_gone_is_left_out_with_a_warning() {
        let migrated = migrated(r#"{"_version":"5","$and":[{"gone":{"$eq":"b"}},{"a":{"$eq":"b"}}]}"#);
        assert_eq!(migrated.query.conditions.len(), 1);
        assert_eq!(migrated.warnings[0]["type"], "REMOVED_FIELD");
    }
}
