//! Migrates queries of older versions of FQL to the current one.
//!
//! Each version has a step, and an older query goes through all that follow its own: fields and entity types that were
//! renamed or removed, and ids that became names (`migrations.tsv`), days that became instants (4), operators that are
//! gone (5 and 17 to 21), custom fields of users (22). What a step does not know stays as it is.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;
use uuid::{Uuid, uuid};

/// The version of FQL that this program implements.
pub const VERSION: &str = "24";
/// The last version in which some fields were compared by ids that are compared by names now.
pub const LAST_WITH_IDS: u32 = 14;
/// FOLIO's id for a removed entity type.
const REMOVED: Uuid = uuid!("deadbeef-dead-dead-dead-deaddeadbeef");
const USERS: Uuid = uuid!("ddc93926-d15a-4a45-9d9c-93eadc3d9bbf");
const AND: &str = "$and";
const VERSION_KEY: &str = "_version";

type Object = Map<String, Value>;

/// A query and what it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct Migratable {
    pub entity_type_id: Uuid,
    /// Its text as it was sent.
    pub text: String,
    pub query: Object,
    pub fields: Vec<String>,
}

/// What a migration asks of the tenant.
pub struct Surroundings<'a> {
    /// Days begin in it.
    pub zone: &'a TimeZone,
    /// The property of the record of a table with this id.
    pub name: &'a dyn Fn(&str, &str, Uuid) -> Option<String>,
    /// Whether the field of an entity type holds UUIDs.
    pub is_uuid: &'a dyn Fn(Uuid, &str) -> bool,
}

/// A query in the current version.
#[derive(Debug, Clone, PartialEq)]
pub struct Migrated {
    pub entity_type_id: Uuid,
    pub query: Object,
    pub fields: Vec<String>,
    pub warnings: Vec<Value>,
    /// A condition, a field or the type is lost.
    pub is_breaking: bool,
}

impl Migrated {
    pub fn to_json(&self) -> Value {
        json!({
            "entityTypeId": self.entity_type_id,
            "fqlQuery": Value::Object(self.query.clone()).to_string(),
            "fields": self.fields,
            "warnings": self.warnings,
        })
    }

    fn warn(&mut self, kind: &str, description: String) {
        self.warnings.push(json!({"type": kind, "description": description}));
    }
}

/// A line of `migrations.tsv`.
struct Change {
    version: u32,
    entity_type: Uuid,
    kind: Kind,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Rename { field: &'static str, to: &'static str },
    Type { to: Uuid },
    RemovedType { name: &'static str, alternative: Option<&'static str> },
    RemovedField { field: &'static str, alternative: Option<&'static str> },
    RemovedCondition { field: &'static str, alternative: Option<&'static str> },
    Names { field: &'static str, table: &'static str, property: &'static str },
}

static CHANGES: LazyLock<Vec<Change>> = LazyLock::new(|| {
    let lines = include_str!("migrations.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(change).collect()
});

/// # Panics
/// Where a line is not of the form that the file describes: it is part of the program, and a test reads it.
fn change(line: &'static str) -> Change {
    let cells: Vec<&'static str> = line.split('\t').collect();
    let cell = |index: usize| *cells.get(index).unwrap_or_else(|| panic!("a cell is missing: {line}"));
    let id = |index: usize| cell(index).parse().unwrap_or_else(|_| panic!("no id: {line}"));
    let alternative = |index: usize| Some(cell(index)).filter(|text| *text != "-");
    let kind = match cell(0) {
        "rename" => Kind::Rename { field: cell(3), to: cell(4) },
        "type" => Kind::Type { to: id(3) },
        "removed-type" => Kind::RemovedType { name: cell(3), alternative: alternative(4) },
        "removed-field" => Kind::RemovedField { field: cell(3), alternative: alternative(4) },
        "removed-condition" => Kind::RemovedCondition { field: cell(3), alternative: alternative(4) },
        "names" => Kind::Names { field: cell(3), table: cell(4), property: cell(5) },
        other => panic!("no change '{other}': {line}"),
    };
    let version = cell(1).parse().unwrap_or_else(|_| panic!("no version: {line}"));
    Change { version, entity_type: id(2), kind }
}

/// The tables and properties from which names are looked up.
pub fn tables_of_names() -> Vec<(&'static str, &'static str)> {
    let named = CHANGES.iter().filter_map(|change| match change.kind {
        Kind::Names { table, property, .. } => Some((table, property)),
        _ => None,
    });
    let mut all: Vec<_> = named.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A condition on a field: operator and value.
#[derive(Debug, Clone, PartialEq)]
struct Condition {
    field: String,
    operator: String,
    value: Value,
}

impl Condition {
    fn text(&self) -> String {
        json!({&self.field: {&self.operator: self.value}}).to_string()
    }
}

/// The major version of a query; one without is of the first.
pub fn version_of(query: &Object) -> u32 {
    let text = match query.get(VERSION_KEY) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    text.split('.').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Brings a query to the present version.
pub fn migrate(input: Migratable, surroundings: &Surroundings) -> Migrated {
    let current: u32 = VERSION.parse().expect("a number");
    let from = version_of(&input.query);
    let is_and = input.query.contains_key(AND);
    let (mut conditions, others) = conditions_of(&input.query);
    let mut migrated = Migrated {
        entity_type_id: input.entity_type_id,
        query: Object::new(),
        fields: input.fields,
        warnings: Vec::new(),
        is_breaking: false,
    };
    for version in from..current {
        let of_type = migrated.entity_type_id;
        let changes: Vec<&Change> = CHANGES
            .iter()
            .filter(|change| change.version == version && change.entity_type == of_type)
            .collect();
        let before = std::mem::take(&mut conditions);
        conditions = before
            .into_iter()
            .flat_map(|condition| step(condition, version, &changes, &mut migrated, surroundings))
            .collect();
        let fields = std::mem::take(&mut migrated.fields);
        migrated.fields = fields
            .into_iter()
            .filter_map(|field| field_step(field, version, &changes, &mut migrated))
            .collect();
        for change in &changes {
            match change.kind {
                Kind::Type { to } => migrated.entity_type_id = to,
                Kind::RemovedType { name, alternative } => {
                    return removed(name, alternative, &compact(&input.text));
                }
                _ => {}
            }
        }
    }
    migrated.query = object_of(conditions, others, is_and);
    migrated
}

/// The query without blanks between its parts.
fn compact(text: &str) -> String {
    serde_json::from_str::<Value>(text).map_or_else(|_| text.to_owned(), |query| query.to_string())
}

fn removed(name: &str, alternative: Option<&str>, text: &str) -> Migrated {
    let mut migrated = Migrated {
        entity_type_id: REMOVED,
        query: object_of(Vec::new(), Object::new(), false),
        fields: Vec::new(),
        warnings: Vec::new(),
        is_breaking: true,
    };
    let description = format!(
        "Record type {name} is no longer available.{} For reference, your original query was {text}.",
        instead(alternative)
    );
    migrated.warn("REMOVED_ENTITY", description);
    migrated
}

fn instead(alternative: Option<&str>) -> String {
    alternative.map(|other| format!(" You may be able to use {other} instead.")).unwrap_or_default()
}

/// The conditions of a query, and what else stands in it.
fn conditions_of(query: &Object) -> (Vec<Condition>, Object) {
    let (mut conditions, mut others) = (Vec::new(), Object::new());
    let mut waiting: Vec<&Object> = vec![query];
    while let Some(object) = waiting.pop() {
        for (field, value) in object {
            match value {
                Value::Array(parts) if field == AND => {
                    waiting.extend(parts.iter().rev().filter_map(Value::as_object));
                }
                Value::Object(comparisons) if field != VERSION_KEY => {
                    let each = comparisons.iter().map(|(operator, value)| Condition {
                        field: field.clone(),
                        operator: operator.clone(),
                        value: value.clone(),
                    });
                    conditions.extend(each);
                }
                _ if field == VERSION_KEY => {}
                _ => _ = others.insert(field.clone(), value.clone()),
            }
        }
    }
    (conditions, others)
}

fn object_of(conditions: Vec<Condition>, mut others: Object, is_and: bool) -> Object {
    let comparison = |condition: Condition| (condition.field, json!({condition.operator: condition.value}));
    if is_and || conditions.len() > 1 {
        let each = conditions.into_iter().map(comparison);
        let each = each.map(|(field, comparison)| json!({field: comparison}));
        others.insert(AND.into(), each.collect());
    } else {
        others.extend(conditions.into_iter().map(comparison));
    }
    others.insert(VERSION_KEY.into(), VERSION.into());
    others
}

/// What becomes of a condition in one step; nothing where it is lost.
fn step(
    mut condition: Condition,
    version: u32,
    changes: &[&Change],
    migrated: &mut Migrated,
    surroundings: &Surroundings,
) -> Vec<Condition> {
    for change in changes {
        match change.kind {
            Kind::RemovedField { field, alternative } if field == condition.field => {
                let description = format!(
                    "Field {field} is no longer available.{} For reference, your original query was {}.",
                    instead(alternative),
                    condition.text()
                );
                migrated.warn("REMOVED_FIELD", description);
                migrated.is_breaking = true;
                return Vec::new();
            }
            Kind::RemovedCondition { field, alternative } if field == condition.field => {
                let description = format!(
                    "Field {field} is no longer supported in your query.{} For reference, your original query was {}.",
                    instead(alternative),
                    condition.text()
                );
                migrated.warn("QUERY_BREAKING", description);
                migrated.is_breaking = true;
                return Vec::new();
            }
            Kind::Names { field, table, property } if field == condition.field => {
                let is_left = with_names(&mut condition, (table, property), migrated, surroundings);
                if !is_left {
                    return Vec::new();
                }
            }
            _ => {}
        }
    }
    let renamed = changes.iter().find_map(|change| match change.kind {
        Kind::Rename { field, to } if field == condition.field => Some(to),
        _ => None,
    });
    if let Some(to) = renamed {
        condition.field = to.to_owned();
    }
    match version {
        4 if DAYS.contains(&condition.field.as_str()) => begin_days(&mut condition.value, surroundings.zone),
        5 if condition.operator == "$ne"
            && (surroundings.is_uuid)(migrated.entity_type_id, &condition.field) =>
        {
            let description = format!(
                "The $ne operator is no longer supported in queries against the {} field. For reference, your \
                 original query was {}.",
                condition.field,
                condition.text()
            );
            migrated.warn("OPERATOR_BREAKING", description);
            return Vec::new();
        }
        22 if migrated.entity_type_id == USERS => condition.field = custom_field(condition.field),
        _ => {}
    }
    with_present_operators(condition, version)
}

fn field_step(field: String, version: u32, changes: &[&Change], migrated: &mut Migrated) -> Option<String> {
    for change in changes {
        match change.kind {
            Kind::RemovedField { field: gone, alternative } if gone == field => {
                let description = format!("Field {field} is no longer available.{}", instead(alternative));
                migrated.warn("REMOVED_FIELD", description);
                migrated.is_breaking = true;
                return None;
            }
            Kind::Rename { field: from, to } if from == field => return Some(to.to_owned()),
            _ => {}
        }
    }
    let is_custom = version == 22 && migrated.entity_type_id == USERS;
    Some(if is_custom { custom_field(field) } else { field })
}

fn custom_field(name: String) -> String {
    if name.starts_with("_custom_field") { format!("users.{name}") } else { name }
}

/// Puts names in place of ids; false where nothing is left. A text that is no id is a name already.
fn with_names(
    condition: &mut Condition,
    (table, property): (&str, &str),
    migrated: &mut Migrated,
    surroundings: &Surroundings,
) -> bool {
    let original = condition.text();
    let named = |value: &Value| match value.as_str().and_then(|text| text.parse::<Uuid>().ok()) {
        Some(id) => (surroundings.name)(table, property, id).map(Value::from),
        None => Some(value.clone()),
    };
    let mut lost: Vec<Value> = Vec::new();
    let is_left = match &mut condition.value {
        Value::Array(values) => {
            let each = std::mem::take(values).into_iter();
            *values = each
                .filter_map(|value| {
                    named(&value).or_else(|| {
                        lost.push(value);
                        None
                    })
                })
                .collect();
            !values.is_empty()
        }
        value => match named(value) {
            Some(name) => {
                *value = name;
                true
            }
            None => {
                lost.push(value.clone());
                false
            }
        },
    };
    for value in lost {
        let description = format!(
            "An invalid value `{}` was found in your query for the {} field and was removed. For reference, your \
             original query was {original}.",
            value.as_str().unwrap_or_default(),
            condition.field
        );
        migrated.warn("VALUE_BREAKING", description);
        migrated.is_breaking = true;
    }
    is_left
}

/// Fields that were compared by days.
const DAYS: [&str; 28] = [
    "created_at",
    "holdings.created_at",
    "holdings.updated_at",
    "instance.cataloged_date",
    "instance.created_at",
    "instance.updated_at",
    "instances.cataloged_date",
    "instances.created_at",
    "instances.updated_at",
    "items.circulation_notes[*]->date",
    "items.created_date",
    "items.last_check_in_date_time",
    "items.updated_date",
    "loans.checkout_date",
    "loans.claimed_returned_date",
    "loans.created_at",
    "loans.declared_lost_date",
    "loans.due_date",
    "loans.return_date",
    "updated_at",
    "users.created_date",
    "users.date_of_birth",
    "users.enrollment_date",
    "users.expiration_date",
    "users.updated_date",
    "users.user_created_date",
    "users.user_updated_date",
    "changelogs[*]->timestamp",
];

fn begin_days(value: &mut Value, zone: &TimeZone) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| begin_days(value, zone)),
        Value::String(text) if text.len() == 10 => {
            if let Some(midnight) = text.parse::<Date>().ok().and_then(|day| day.to_zoned(zone.clone()).ok())
            {
                *text = midnight.with_time_zone(TimeZone::UTC).strftime("%Y-%m-%dT%H:%M:%S.000").to_string();
            }
        }
        _ => {}
    }
}

/// Operators that this step removes become those that stand for them.
fn with_present_operators(condition: Condition, version: u32) -> Vec<Condition> {
    let one = |operator: &str| Condition { operator: operator.to_owned(), ..condition.clone() };
    match (version, condition.operator.as_str()) {
        (17, "$contains_any") => vec![one("$in")],
        (18, "$not_contains_any") => vec![one("$nin")],
        (19, "$regex") => match condition.value.as_str().and_then(|pattern| pattern.strip_prefix('^')) {
            Some(text) => vec![Condition { value: text.into(), ..one("$starts_with") }],
            None => vec![one("$contains")],
        },
        (20, "$contains_all") => each(condition, "$eq"),
        (21, "$not_contains_all") => each(condition, "$ne"),
        _ => vec![condition],
    }
}

/// A condition for each value.
fn each(condition: Condition, operator: &str) -> Vec<Condition> {
    let Value::Array(values) = &condition.value else { return vec![condition] };
    let one = |value: &Value| Condition {
        field: condition.field.clone(),
        operator: operator.to_owned(),
        value: value.clone(),
    };
    values.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOANS: Uuid = uuid!("d6729885-f2fb-4dc7-b7d0-a865a7f461e4");
    const GROUP: Uuid = Uuid::from_u128(7);

    fn migrated(entity_type_id: Uuid, text: &str) -> Migrated {
        let zone = TimeZone::get("America/New_York").expect("a zone");
        let name =
            |table: &str, _: &str, id: Uuid| (table == "groups" && id == GROUP).then(|| "Faculty".to_owned());
        let surroundings =
            Surroundings { zone: &zone, name: &name, is_uuid: &|_, field| field == "users.id" };
        let Ok(Value::Object(query)) = serde_json::from_str(text) else { panic!("an object: {text}") };
        let input =
            Migratable { entity_type_id, text: text.into(), query, fields: vec!["user_active".into()] };
        migrate(input, &surroundings)
    }

    fn query(entity_type_id: Uuid, text: &str) -> Value {
        let mut query = migrated(entity_type_id, text).query;
        assert_eq!(query.shift_remove(VERSION_KEY), Some(VERSION.into()));
        Value::Object(query)
    }

    #[test]
    fn every_line_of_the_table_is_read() {
        assert!(CHANGES.len() > 150);
        assert!(tables_of_names().contains(&("groups", "group")));
    }

    #[test]
    fn what_is_present_or_unknown_stays() {
        for text in [
            r#"{"_version":"24","users.username":{"$regex":"^a"}}"#,
            r#"{"unknown":{"$leq":"2024-01-01"}}"#,
            r#"{"_version":"3","$and":[{"users.username":{"$eq":"a"}},{"users.active":{"$ne":"b"}}]}"#,
        ] {
            let mut expected: Value = serde_json::from_str(text).expect("JSON");
            expected.as_object_mut().expect("an object").shift_remove(VERSION_KEY);
            assert_eq!(query(USERS, text), expected);
            assert!(!migrated(USERS, text).is_breaking);
        }
    }

    #[test]
    fn fields_and_types_of_the_first_version_are_renamed() {
        let old = uuid!("0069cf6f-2833-46db-8a51-8934769b8289");
        let migrated = migrated(old, r#"{"user_active":{"$eq":"true"}}"#);
        assert_eq!(migrated.entity_type_id, USERS);
        assert_eq!(migrated.query["users.active"], json!({"$eq": "true"}));
        assert_eq!((migrated.fields, migrated.warnings), (vec!["users.active".to_owned()], vec![]));
    }

    #[test]
    fn a_removed_type_says_what_it_was() {
        let old = uuid!("146dfba5-cdc9-45f5-a8a1-3fdc454c9ae2");
        let migrated = migrated(old, r#"{"loan_status": {"$ne":"zz"}}"#);
        assert_eq!(
            (migrated.entity_type_id, migrated.fields.len(), migrated.is_breaking),
            (REMOVED, 0, true)
        );
        assert_eq!(
            migrated.warnings[0],
            json!({"type": "REMOVED_ENTITY", "description": "Record type drv_loan_status is no longer available. You \
                may be able to use simple_loans instead. For reference, your original query was \
                {\"loan_status\":{\"$ne\":\"zz\"}}."})
        );
    }

    #[test]
    fn older_operators_and_values_are_replaced() {
        for (old, new) in [
            (r#"{"a":{"$contains_any":["b"]}}"#, json!({"a": {"$in": ["b"]}})),
            (r#"{"a":{"$regex":"^b"}}"#, json!({"a": {"$starts_with": "b"}})),
            (r#"{"a":{"$regex":"b"}}"#, json!({"a": {"$contains": "b"}})),
            (
                r#"{"a":{"$contains_all":["b","c"]}}"#,
                json!({"$and": [{"a": {"$eq": "b"}}, {"a": {"$eq": "c"}}]}),
            ),
            (
                r#"{"_version":"3","loans.due_date":{"$gt":"2024-07-01"}}"#,
                json!({"loans.due_date": {"$gt": "2024-07-01T04:00:00.000"}}),
            ),
            (r#"{"_version":"20","a":{"$regex":"b"}}"#, json!({"a": {"$regex": "b"}})),
        ] {
            assert_eq!(query(LOANS, old), new);
        }
        let group = format!(r#"{{"_version":"7","groups.group":{{"$in":["{GROUP}","Staff"]}}}}"#);
        assert_eq!(query(LOANS, &group), json!({"groups.group": {"$in": ["Faculty", "Staff"]}}));
    }

    #[test]
    fn what_is_lost_is_reported() {
        let unknown = format!(r#"{{"_version":"7","groups.group":{{"$eq":"{}"}}}}"#, Uuid::from_u128(8));
        for (text, kind, is_breaking) in [
            (unknown.as_str(), "VALUE_BREAKING", true),
            (r#"{"_version":"3","users.last_name":{"$eq":"a"}}"#, "REMOVED_FIELD", true),
            (r#"{"_version":"5","users.id":{"$ne":"a"}}"#, "OPERATOR_BREAKING", false),
        ] {
            let migrated = migrated(LOANS, text);
            assert_eq!(migrated.warnings[0]["type"], kind);
            assert_eq!((migrated.is_breaking, migrated.query.len()), (is_breaking, 1), "{text}");
        }
    }
}
