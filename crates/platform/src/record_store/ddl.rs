//! The tables, references and indexes of declared records, as idempotent SQL.

use crate::tenant_profile::TenantProfile;
use carrel_records::{ForeignKey, RecordType, column_name};
use std::fmt::Write;

/// One part of a tenant's schema, created from a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub kind: PartKind,
    pub table: &'static str,
    /// Its name; for columns and references, without the table.
    pub name: String,
    /// SQL that creates the part if it is missing.
    pub make: String,
}

/// The kind of a schema part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    Table,
    /// A generated column, of which the documents have the value, too; or a flag, which may always be unset.
    Column,
    Reference,
    Index,
}

impl PartKind {
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Table => "table",
            PartKind::Column => "column",
            PartKind::Reference => "reference",
            PartKind::Index => "index",
        }
    }
}

/// The parts of all declared records: tables first, so that references may point anywhere; without
/// constraints on references where the profile lets them dangle.
pub fn parts(records: &[&'static RecordType], profile: &TenantProfile) -> Vec<Part> {
    let mut parts = Vec::new();
    for record in records {
        parts.extend(table(record));
    }
    for record in records.iter().filter(|_| !profile.dangling_references) {
        for reference in record.belongs_to.iter().filter(|reference| !reference.loose) {
            parts.push(Part {
                kind: PartKind::Reference,
                table: record.table,
                name: foreign_key_name(record, reference),
                make: foreign_key(record, reference),
            });
        }
    }
    for record in records {
        for make in carrel_cql::sql::index_ddl_of(record, profile.repeated_values) {
            let name = make.split_once("IF NOT EXISTS ").and_then(|(_, rest)| rest.split(' ').next());
            let name = name.expect("an index is made where it does not exist").to_owned();
            parts.push(Part { kind: PartKind::Index, table: record.table, name, make });
        }
    }
    parts
}

/// Drops the foreign keys of hand-written tables. Those that delete dependent rows (`ON DELETE CASCADE`) are kept.
pub const WITHOUT_REFERENCES: &str = "
DO $$ DECLARE reference record; BEGIN
    FOR reference IN SELECT conrelid::regclass AS owner, conname FROM pg_constraint
        WHERE contype = 'f' AND confdeltype <> 'c' AND connamespace = current_schema()::regnamespace
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', reference.owner, reference.conname);
    END LOOP;
END $$;
";

/// Name of the foreign key of a reference.
pub fn foreign_key_name(record: &RecordType, reference: &ForeignKey) -> String {
    let name = format!("{}_{}_fkey", record.table, column_name(reference.field));
    shortened(name)
}

fn shortened(name: String) -> String {
    // PostgreSQL cuts names at 63 bytes; cutting them here makes the name known.
    name.chars().take(63).collect()
}

/// The table with its columns, and each column separately for tables that were created without it.
fn table(record: &RecordType) -> Vec<Part> {
    let table = record.table;
    let mut columns: Vec<(String, String)> = Vec::new();
    for reference in record.belongs_to {
        let name = column_name(reference.field);
        if !columns.iter().any(|(known, _)| *known == name) {
            columns.push((name, generated_column(reference)));
        }
    }
    columns.extend(record.flags.iter().map(|flag| ((*flag).to_owned(), format!("{flag} boolean"))));
    let mut make = format!("CREATE TABLE IF NOT EXISTS {table} (id uuid PRIMARY KEY, doc jsonb NOT NULL");
    for (_, column) in &columns {
        let _ = write!(make, ", {column}");
    }
    make.push(')');
    let mut parts = vec![Part { kind: PartKind::Table, table, name: table.to_owned(), make }];
    parts.extend(columns.into_iter().map(|(name, column)| Part {
        kind: PartKind::Column,
        table,
        name,
        make: format!("ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column}"),
    }));
    parts
}

fn generated_column(reference: &ForeignKey) -> String {
    let column = column_name(reference.field);
    let path: Vec<&str> = reference.field.split('.').collect();
    let (last, levels) = path.split_last().expect("a reference has a path");
    let mut expression = String::from("doc");
    for level in levels {
        let _ = write!(expression, "->'{level}'");
    }
    format!("{column} uuid GENERATED ALWAYS AS (({expression}->>'{last}')::uuid) STORED")
}

fn foreign_key(record: &RecordType, reference: &ForeignKey) -> String {
    let (table, name, column, to) =
        (record.table, foreign_key_name(record, reference), column_name(reference.field), reference.to);
    format!(
        "DO $$ BEGIN ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {to} (id); EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    )
}
