//! Names, request bodies and responses of business operations, from `operations.tsv`; those of records are derived from
//! their declarations.

use super::schemas::reference;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// An operation: its name, request schema, and status and schema of its success. An empty schema means none;
/// `loans:circulationLoan[]` is a list named `loans` with `totalRecords`, `circulationLoan[]` a bare array.
pub struct Operation {
    pub method: &'static str,
    pub path: &'static str,
    pub name: &'static str,
    pub sent: &'static str,
    pub status: &'static str,
    pub answered: &'static str,
}

/// The operations of the table.
pub static OPERATIONS: LazyLock<Vec<Operation>> =
    LazyLock::new(|| include_str!("operations.tsv").lines().skip(1).map(operation).collect());

fn operation(line: &'static str) -> Operation {
    let columns: Vec<&str> = line.split('\t').collect();
    let [method, path, name, sent, status, answered] = columns[..] else {
        panic!("a line of operations.tsv does not have six columns: {line}")
    };
    Operation { method, path, name, sent, status, answered }
}

/// The table's operation of a route.
pub fn operation_of(method: &str, path: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.method == method && operation.path == path)
}

/// The JSON schema of a table entry.
pub fn schema(text: &str) -> Option<Value> {
    if text.is_empty() {
        return None;
    }
    let Some((list, element)) = text.split_once(':') else { return Some(reference(text)) };
    Some(json!({"type": "object", "required": [list, "totalRecords"], "properties": {
        list: reference(element),
        "totalRecords": {"type": "integer", "minimum": 0},
    }}))
}

/// A generated name for an operation without a row in the table: `listGroups`, `findGroup`, `createGroup`.
pub fn generated_name(method: &str, path: &str, is_list: bool) -> String {
    let verb = match (method, is_list) {
        ("GET", true) => "list",
        ("GET", false) => "find",
        ("POST", _) => "create",
        ("PUT", _) => "replace",
        ("PATCH", _) => "change",
        _ => "delete",
    };
    let levels: Vec<&str> = path.split('/').filter(|level| !level.is_empty()).collect();
    let mut name = verb.to_owned();
    for (index, level) in levels.iter().enumerate() {
        if let Some(parameter) = level.strip_prefix('{') {
            let before = index.checked_sub(1).map_or("", |before| levels[before]);
            if index + 1 < levels.len() || index == 0 {
                name.push_str("Of");
                name.push_str(&pascal(parameter));
            } else if method == "POST" || singular(before) == before {
                // Otherwise the singular expresses the last parameter.
                name.push_str("By");
                name.push_str(&pascal(parameter));
            }
            continue;
        }
        let next_is_parameter = levels.get(index + 1).is_some_and(|next| next.starts_with('{'));
        let is_last_name = index + 2 == levels.len() && next_is_parameter;
        let makes_one = index + 1 == levels.len() && method == "POST";
        name.push_str(&pascal(&if is_last_name || makes_one {
            singular(level)
        } else {
            (*level).to_owned()
        }));
    }
    name
}

fn pascal(text: &str) -> String {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..]))
        .collect()
}

fn singular(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ies") {
        return format!("{stem}y");
    }
    for ending in ["sses", "xes", "ches", "shes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    match word.strip_suffix('s') {
        Some(stem) if !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
        _ => word.to_owned(),
    }
}
