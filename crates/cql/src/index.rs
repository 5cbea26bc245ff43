//! Index DDL from declarations.

use crate::expression::{Expression, Folding};
use carrel_records::{Field, Index, Kind, RecordType, ReferenceIndex, Source, Unique, column_name};

/// The indexes of a record type in a strict tenant; see [`index_ddl_of`].
pub fn index_ddl(record: &RecordType) -> Vec<String> {
    index_ddl_of(record, false)
}

/// The indexes of a record type: unique sets, reference columns, and the fields declared as indexed. If a composed
/// record's field is an SQL expression beyond a plain `table.column`, the table's SQL file contains its index. In a
/// Where `repeats_allowed`, the values that a declaration relaxes may repeat.
pub fn index_ddl_of(record: &RecordType, repeats_allowed: bool) -> Vec<String> {
    let mut ddl = Vec::new();
    for unique in record.unique {
        let name = index_name(record.table, &unique.fields.join("."), "key");
        let columns: Vec<String> = unique
            .fields
            .iter()
            .map(|path| format!("({})", unique_expression(record, unique, path)))
            .collect();
        ddl.push(format!(
            "CREATE {}INDEX IF NOT EXISTS {name} ON {} ({}){}{}",
            if repeats_allowed && unique.is_relaxable { "" } else { "UNIQUE " },
            record.table,
            columns.join(", "),
            if unique.absent_counts { " NULLS NOT DISTINCT" } else { "" },
            unique.when.map(|condition| format!(" WHERE {condition}")).unwrap_or_default(),
        ));
    }
    for reference in record.belongs_to {
        let name = index_name(record.table, reference.field, "ref");
        let column = column_name(reference.field);
        let holds = match reference.index {
            ReferenceIndex::Declared => String::new(),
            ReferenceIndex::SkipsAbsent => format!(" WHERE {column} IS NOT NULL"),
            ReferenceIndex::Module | ReferenceIndex::Missing => continue,
        };
        ddl.push(format!("CREATE INDEX IF NOT EXISTS {name} ON {} ({column}){holds}", record.table));
    }
    for field in record.fields {
        let refers = record.belongs_to.iter().any(|reference| reference.field == field.name);
        if field.name == "id" || refers {
            continue;
        }
        let Some(table) = table_of(record, field) else { continue };
        let expression = Expression::of(field, record.table);
        let covered = covering_unique(record, field.name)
            .is_some_and(|unique| unique_expression(record, unique, field.name) == expression.value());
        if has_value(field.index) && !covered {
            let name = index_name(record.table, field.name, "value");
            let method = if matches!(field.kind, Kind::Array { .. }) { "USING gin " } else { "" };
            let mut columns = format!("({})", expression.value());
            let next = field.index_continues_with;
            if let Some(next) = record.fields.iter().find(|other| next == Some(other.name)) {
                columns.push_str(&format!(", ({})", Expression::of(next, record.table).value()));
            }
            let holds = held_records(field, &expression.value());
            ddl.push(format!("CREATE INDEX IF NOT EXISTS {name} ON {table} {method}({columns}){holds}"));
        }
        if has_words(field.index) && field.words_within.is_none() {
            let name = index_name(record.table, field.name, "words");
            let words = expression.words();
            let holds = held_records(field, &words);
            ddl.push(format!("CREATE INDEX IF NOT EXISTS {name} ON {table} USING gin (({words})){holds}"));
        }
    }
    ddl
}

/// The condition of an index that does not hold all records; empty where it does.
fn held_records(field: &Field, indexed: &str) -> String {
    match field.copy_of {
        Some(copy) => format!(" WHERE {} IS NOT TRUE", copy.flag),
        None if field.index_skips_absent => format!(" WHERE ({indexed}) IS NOT NULL"),
        None => String::new(),
    }
}

/// The name of an index: readable, deterministic, at most 63 bytes.
pub fn index_name(table: &str, field: &str, suffix: &str) -> String {
    let plain: String = column_name(field)
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
        .collect();
    let name = format!("{table}_{plain}_{suffix}");
    if name.len() <= 63 {
        return name;
    }
    let tail = format!("_{:08x}_{suffix}", hash(&name));
    format!("{}{tail}", &name[..63 - tail.len()])
}

/// FNV-1a, whose values never change, unlike those of the standard library's hashes.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

pub(crate) fn has_value(index: Index) -> bool {
    matches!(index, Index::Value | Index::ValueAndWords)
}

pub(crate) fn has_words(index: Index) -> bool {
    matches!(index, Index::Words | Index::ValueAndWords)
}

/// The unique set that begins with the field and so serves as its index; one with a condition does not contain all
/// records.
pub(crate) fn covering_unique<'r>(record: &'r RecordType, field: &str) -> Option<&'r Unique> {
    let begins = |unique: &&Unique| unique.fields.first().is_some_and(|first| *first == field);
    record.unique.iter().filter(|unique| unique.when.is_none()).find(begins)
}

pub(crate) fn unique_folding(unique: &Unique) -> Folding {
    Folding { keeps_case: unique.keeps_case, keeps_accents: unique.keeps_accents }
}

fn unique_expression(record: &RecordType, unique: &Unique, path: &str) -> String {
    if record.belongs_to.iter().any(|reference| reference.field == path) {
        return column_name(path);
    }
    match record.fields.iter().find(|field| field.name == path) {
        // Numbers, dates and similar kinds have no letters to fold.
        Some(field) if field.kind != Kind::Text => Expression::of(field, record.table).value(),
        Some(field) => {
            let expression = Expression::of(field, record.table);
            expression.with(unique_folding(unique)).value()
        }
        None => {
            let document = format!("{}.doc", record.table);
            let expression = Expression::at(&document, path, Kind::Text);
            expression.with(unique_folding(unique)).value()
        }
    }
}

/// The table of a field's index, if the declaration is enough to create it.
fn table_of<'r>(record: &'r RecordType, field: &Field) -> Option<&'r str> {
    let Source::Sql(sql) = field.source else { return Some(record.table) };
    if record.composed.is_none() {
        return Some(record.table);
    }
    let is_name =
        |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    match sql.split_once('.') {
        Some((table, column)) if is_name(table) && is_name(column) => {
            let composed = record.composed.as_ref()?;
            composed
                .from
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .find(|name| *name == table)
        }
        _ => None,
    }
}
