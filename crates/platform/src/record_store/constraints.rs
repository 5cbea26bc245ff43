//! Turns a violated constraint into the refusal that the record's declaration defines for it.

use crate::database::DatabaseError;
use crate::record_store::ddl;
use crate::record_store::write::Document;
use carrel_records::{Failure, RecordType, Refusal};
use serde_json::Value;
use uuid::Uuid;

/// The refusal that the declaration defines for a violated constraint.
pub fn constraint_failure(record: &RecordType, error: DatabaseError, document: &Document) -> Failure {
    if error.is_unique_violation() {
        already_there(record, &error, document).into()
    } else if error.is_foreign_key_violation() {
        refers_to_nothing(record, &error, document)
    } else {
        bad_value(error, record.table)
    }
}

fn already_there(record: &RecordType, error: &DatabaseError, document: &Document) -> Refusal {
    let constraint = error.constraint.clone().unwrap_or_default();
    let table = record.table;
    if let Some(taken) = record.taken {
        return taken(&text_at(document, "name"));
    }
    if constraint.starts_with(&format!("{table}_pkey")) {
        let id = document.get("id").and_then(Value::as_str).unwrap_or_default();
        return Refusal::new(format!("id value already exists in table {table}: {id}"))
            .with("id", id)
            .of_storage();
    }
    for unique in record.unique {
        let sent = || unique.fields.iter().map(|field| text_at(document, field)).collect::<Vec<_>>();
        let name = carrel_cql::sql::index_name(table, &unique.fields.join("."), "key");
        if constraint.starts_with(&name) || record.unique.len() == 1 {
            // FOLIO quirk: message and parameter contain the expression of the index, and the value as it is in the
            // index: in lower case, without accents.
            let expressions: Vec<String> = unique.fields.iter().map(|f| rmb_expression(f, unique)).collect();
            let expression = expressions.join(", ");
            let value = value_in_doubt(error).unwrap_or_else(|| sent().join(", "));
            return Refusal::new(format!("{expression} value already exists in table {table}: {value}"))
                .with(expression, value)
                .of_storage();
        }
    }
    Refusal::new(format!("The value already exists in table {table}")).with(constraint, "").of_storage()
}

fn refers_to_nothing(record: &RecordType, error: &DatabaseError, document: &Document) -> Failure {
    let constraint = error.constraint.as_deref().unwrap_or_default();
    let table = record.table;
    let Some(reference) = record
        .belongs_to
        .iter()
        .find(|reference| constraint.starts_with(&ddl::foreign_key_name(record, reference)))
    else {
        return Failure::Conflict(format!("A record that {table} refers to does not exist"));
    };
    let value = text_at(document, reference.field);
    // FOLIO quirk: the text has the column, not the property.
    let column = format!("{table}.{}", carrel_records::column_name(reference.field).replace('_', ""));
    let words = format!("Cannot set {column} = {value} because it does not exist in {}.id.", reference.to);
    Refusal::new(words).with(column, value).of_storage().into()
}

/// The value that violates a unique index, as it is in the index. The server sends it in brackets, in every language:
/// `(expression)=(value)`.
pub fn value_in_doubt(error: &DatabaseError) -> Option<String> {
    let detail = error.error.as_db_error()?.detail()?;
    let (value, _) = detail.split_once(")=(")?.1.rsplit_once(')')?;
    Some(value.to_owned())
}

/// Values that PostgreSQL cannot store are reported as an invalid request.
fn bad_value(error: DatabaseError, table: &str) -> Failure {
    match error.state.as_deref() {
        // Not a UUID, untranslatable character, number out of range.
        Some("22P02" | "22P05" | "22003" | "22021") => {
            Refusal::new(format!("A value of the record cannot be stored in {table}: its type is wrong"))
                .into()
        }
        // Index row too large.
        Some("54000") => Failure::Invalid(format!("A value of the record is too long for {table}")),
        _ => error.into(),
    }
}

/// The failure for a record that cannot be deleted because others refer to it.
pub fn still_used(
    record: &RecordType,
    id: Uuid,
    all: &[&'static RecordType],
    error: DatabaseError,
) -> Failure {
    if !error.is_foreign_key_violation() {
        return error.into();
    }
    let constraint = error.constraint.clone().unwrap_or_default();
    let user = all
        .iter()
        .find(|other| {
            other
                .belongs_to
                .iter()
                .any(|reference| constraint.starts_with(&ddl::foreign_key_name(other, reference)))
        })
        .map_or("another table", |other| other.table);
    Failure::Conflict(format!(
        "Cannot delete {}.id = {id} because id is still referenced from table {user}.",
        record.table
    ))
}

fn text_at(document: &Document, path: &str) -> String {
    let mut levels = path.split('.');
    let mut value = levels.next().and_then(|level| document.get(level));
    for level in levels {
        value = value.and_then(|value| value.get(level));
    }
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn rmb_expression(field: &str, unique: &carrel_records::Unique) -> String {
    let path: Vec<&str> = field.split('.').collect();
    let (last, levels) = path.split_last().expect("a field has a path");
    let mut expression = String::from("jsonb");
    for level in levels {
        expression.push_str(&format!(" -> '{level}'::text"));
    }
    expression.push_str(&format!(" ->> '{last}'::text"));
    if !unique.keeps_accents {
        expression = format!("f_unaccent({expression})");
    }
    if !unique.keeps_case {
        expression = format!("lower({expression})");
    }
    expression
}
