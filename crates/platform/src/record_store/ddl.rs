//! The tables, references and indexes of declared records, as SQL that may be run again.

use carrel_records::{ForeignKey, RecordType, column_name};
use std::fmt::Write;

/// Statements for all declared records: tables first, so that references may point anywhere; in a lenient
/// tenant nothing watches over them.
pub fn tables(records: &[&'static RecordType], lenient: bool) -> String {
    let mut script = String::new();
    for record in records {
        table(record, &mut script);
    }
    for record in records.iter().filter(|_| !lenient) {
        for reference in record.belongs_to.iter().filter(|reference| !reference.loose) {
            foreign_key(record, reference, &mut script);
        }
    }
    for record in records {
        for statement in carrel_cql::sql::index_ddl_of(record, lenient) {
            let _ = writeln!(script, "{};", statement.trim_end_matches(';'));
        }
    }
    script
}

/// Takes out of a schema the foreign keys that hand-written tables have. Rows that belong to others
/// and go with them (`ON DELETE CASCADE`) keep theirs.
pub const WITHOUT_REFERENCES: &str = "
DO $$ DECLARE reference record; BEGIN
    FOR reference IN SELECT conrelid::regclass AS owner, conname FROM pg_constraint
        WHERE contype = 'f' AND confdeltype <> 'c' AND connamespace = current_schema()::regnamespace
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', reference.owner, reference.conname);
    END LOOP;
END $$;
";

/// Name of the constraint that keeps a reference.
pub fn foreign_key_name(record: &RecordType, reference: &ForeignKey) -> String {
    let name = format!("{}_{}_fkey", record.table, column_name(reference.field));
    shortened(name)
}

fn shortened(name: String) -> String {
    // PostgreSQL cuts names at 63 bytes; cut by ourselves, the name is known.
    name.chars().take(63).collect()
}

fn table(record: &RecordType, script: &mut String) {
    let table = record.table;
    let _ = write!(script, "CREATE TABLE IF NOT EXISTS {table} (id uuid PRIMARY KEY, doc jsonb NOT NULL");
    for reference in record.belongs_to {
        let _ = write!(script, ", {}", generated_column(reference));
    }
    script.push_str(");\n");
    for reference in record.belongs_to {
        let _ =
            writeln!(script, "ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {};", generated_column(reference));
    }
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

fn foreign_key(record: &RecordType, reference: &ForeignKey, script: &mut String) {
    let (table, name, column, to) =
        (record.table, foreign_key_name(record, reference), column_name(reference.field), reference.to);
    let _ = writeln!(
        script,
        "DO $$ BEGIN ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {to} (id); EXCEPTION WHEN duplicate_object THEN NULL; END $$;"
    );
}
