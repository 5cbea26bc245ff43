//! Compares a tenant's schema with the declarations.
//!
//! Each tenant records in its table `schema_part` which definition each part was built from. Missing parts are added.
//! Parts with a new definition that can be rebuilt from the documents (generated columns, indexes, references) are
//! rebuilt. Parts with data of a library are never dropped.

use crate::record_store::ddl::{Part, PartKind};
use std::collections::{HashMap, HashSet};

/// A change that declarations cannot express: documents rewritten, a hand-written column dropped or changed. Runs once
/// in every tenant that is older than the step, before its schema is upgraded.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Unique, permanent and in the order of dates: `2026-11-21 loans keep their desk`.
    pub name: &'static str,
    pub sql: &'static str,
}

/// The existing schema parts by kind, table and name, with their definitions.
pub type Made = HashMap<(String, String, String), String>;

/// The kind of the rows that record upgrade steps.
pub const STEP: &str = "step";

/// The SQL to run, and the schema parts that will exist afterwards.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub script: String,
    /// Kind, table, name, definition.
    pub made: Vec<[String; 4]>,
    /// Whether indexes were deferred.
    pub has_more: bool,
}

/// Adds the missing parts and rebuilds those with a new definition. Non-unique indexes of large tables are deferred, so
/// that writers need not wait for them.
pub fn plan(parts: &[Part], made: &Made, large: &[String]) -> Plan {
    let mut plan = Plan::default();
    // Dropping a column also drops its indexes and references.
    let mut remade: HashSet<&str> = HashSet::new();
    for part in parts {
        let definition = match part.kind {
            // Its columns are separate parts.
            PartKind::Table => String::new(),
            _ => fingerprint(&part.make),
        };
        let key = (part.kind.name().to_owned(), part.table.to_owned(), part.name.clone());
        let known = made.get(&key);
        let can_wait = part.kind == PartKind::Index
            && large.iter().any(|table| table == part.table)
            && !part.make.starts_with("CREATE UNIQUE");
        if known.is_some_and(|known| *known == definition) {
            let goes_with_a_column = matches!(part.kind, PartKind::Reference | PartKind::Index);
            if !(goes_with_a_column && remade.contains(part.table)) {
                continue;
            }
        } else if can_wait {
            plan.has_more = true;
            continue;
        } else if known.is_some() {
            plan.script.push_str(&drop_of(part.kind, part.table, &part.name));
            if part.kind == PartKind::Column {
                remade.insert(part.table);
            }
        }
        plan.script.push_str(&part.make);
        plan.script.push_str(";\n");
        let (kind, table, name) = key;
        plan.made.push([kind, table, name, definition]);
    }
    plan
}

/// Parts that are no longer declared and can be dropped without loss; and a sentence about each table that is kept.
pub fn leftovers(parts: &[Part], made: &Made) -> (Vec<(Leftover, String)>, Vec<String>) {
    let declared: HashSet<(&str, &str, &str)> =
        parts.iter().map(|part| (part.kind.name(), part.table, part.name.as_str())).collect();
    let tables: HashSet<&str> = parts.iter().map(|part| part.table).collect();
    let (mut go, mut stay) = (Vec::new(), Vec::new());
    let mut known: Vec<_> = made.keys().collect();
    known.sort();
    for (kind, table, name) in known {
        if declared.contains(&(kind.as_str(), table.as_str(), name.as_str())) {
            continue;
        }
        let kind = match kind.as_str() {
            "table" => {
                stay.push(format!("table {table} is no longer declared; it stays with its rows"));
                continue;
            }
            "column" => PartKind::Column,
            "reference" => PartKind::Reference,
            "index" => PartKind::Index,
            _ => continue,
        };
        // Parts of a table that is kept are kept, too.
        if tables.contains(table.as_str()) {
            let leftover = Leftover { kind: kind.name(), table: table.clone(), name: name.clone() };
            go.push((leftover, drop_of(kind, table, name)));
        }
    }
    (go, stay)
}

/// A part that is no longer declared.
#[derive(Debug, PartialEq, Eq)]
pub struct Leftover {
    pub kind: &'static str,
    pub table: String,
    pub name: String,
}

fn drop_of(kind: PartKind, table: &str, name: &str) -> String {
    match kind {
        PartKind::Table => String::new(),
        PartKind::Column => format!("ALTER TABLE {table} DROP COLUMN IF EXISTS {name};\n"),
        PartKind::Reference => format!("ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name};\n"),
        PartKind::Index => format!("DROP INDEX IF EXISTS {name};\n"),
    }
}

/// FNV-1a, whose values never change, unlike those of the standard library's hashes.
pub fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Whether a release, such as `0.10.2`, is newer than another.
pub fn is_newer(release: &str, than: &str) -> bool {
    let numbers = |release: &str| -> Vec<u64> {
        release.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
    };
    numbers(release) > numbers(than)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: PartKind, name: &str, make: &str) -> Part {
        Part { kind, table: "loan", name: name.to_owned(), make: make.to_owned() }
    }

    fn after(parts: &[Part]) -> Made {
        let made = plan(parts, &Made::new(), &[]).made;
        made.into_iter().map(|[kind, table, name, definition]| ((kind, table, name), definition)).collect()
    }

    fn old() -> Vec<Part> {
        vec![
            part(PartKind::Table, "loan", "CREATE loan"),
            part(PartKind::Column, "user_id", "ADD user_id"),
            part(PartKind::Index, "loan_user_id_ref", "INDEX user_id"),
        ]
    }

    #[test]
    fn parts_with_the_declared_definition_are_unchanged() {
        assert_eq!(plan(&old(), &after(&old()), &[]), Plan::default());
    }

    #[test]
    fn missing_parts_are_added() {
        let mut new = old();
        new.push(part(PartKind::Index, "loan_status_value", "INDEX status"));
        assert_eq!(plan(&new, &after(&old()), &[]).script, "INDEX status;\n");
    }

    #[test]
    fn an_index_with_a_new_definition_is_rebuilt() {
        let mut new = old();
        new[2].make = "INDEX upper(user_id)".into();
        let script = plan(&new, &after(&old()), &[]).script;
        assert_eq!(script, "DROP INDEX IF EXISTS loan_user_id_ref;\nINDEX upper(user_id);\n");
    }

    #[test]
    fn a_unique_index_of_a_large_table_is_not_deferred() {
        let mut new = old();
        new[2].make = "INDEX upper(user_id)".into();
        new.push(part(PartKind::Index, "loan_status_value", "INDEX status"));
        let large = ["loan".to_owned()];
        let left = plan(&new, &after(&old()), &large);
        assert_eq!((left.script.as_str(), left.has_more, left.made.len()), ("", true, 0));
        new.push(part(PartKind::Index, "loan_item_id_key", "CREATE UNIQUE INDEX item"));
        assert_eq!(plan(&new, &after(&old()), &large).script, "CREATE UNIQUE INDEX item;\n");
    }

    #[test]
    fn the_indexes_of_a_rebuilt_column_are_rebuilt() {
        let mut new = old();
        new[1].make = "ADD other user_id".into();
        let script = plan(&new, &after(&old()), &[]).script;
        assert_eq!(
            script,
            "ALTER TABLE loan DROP COLUMN IF EXISTS user_id;\nADD other user_id;\nINDEX user_id;\n"
        );
    }

    #[test]
    fn undeclared_parts_are_dropped_unless_they_contain_data() {
        let without_column = &old()[..1];
        let (go, stay) = leftovers(without_column, &after(&old()));
        assert_eq!((go.len(), stay.len()), (2, 0));
        let (go, stay) = leftovers(&[], &after(&old()));
        assert_eq!((go.len(), stay.len()), (0, 1));
    }

    #[test]
    fn releases_compare_by_number() {
        assert!(is_newer("0.10.0", "0.9.3") && is_newer("1.0.0", "0.9") && !is_newer("0.1.0", "0.1.0"));
        assert!(!is_newer("", "0.1.0"));
    }
}
