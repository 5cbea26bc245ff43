//! SQL respects the layers: a module reads and writes its own tables and those of the modules that it depends on. In
//! the other direction, it uses an event, or a typed listener in the same transaction
//! (`carrel_platform::transaction_listeners`).
//!
//! Reads the sources of all modules and searches for table names after the keywords of SQL.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Files with tables of dependent modules. This list only shrinks: an entry that is no longer needed fails the test.
const EXCEPTIONS: [(&str, &str); 0] = [];

/// Keywords that a table name follows in SQL.
const BEFORE_A_TABLE: [&str; 7] = ["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "ONLY", "REFERENCES"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' folder").to_owned()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "sql") {
            found.push(path);
        }
    }
}

/// The text without comments and without the tests at its end.
fn program(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_comment =
        |line: &&str| !line.trim_start().starts_with("//") && !line.trim_start().starts_with("--");
    text.lines().filter(is_comment).collect::<Vec<_>>().join("\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// Tables after keywords of SQL in a text.
fn tables_named(text: &str) -> Vec<&str> {
    let mut named = Vec::new();
    let mut before = "";
    for word in words(text) {
        if BEFORE_A_TABLE.contains(&before) && !named.contains(&word) {
            named.push(word);
        }
        before = word;
    }
    named
}

/// Tables that a text creates.
fn tables_created(text: &str) -> Vec<&str> {
    text.split("CREATE TABLE IF NOT EXISTS ").skip(1).filter_map(|rest| words(rest).next()).collect()
}

#[test]
fn no_modules_sql_uses_a_table_of_a_dependent_module() {
    let modules = carrel_server::modules::modules();
    let names: Vec<&str> = ["platform"].into_iter().chain(modules.iter().map(|module| module.name)).collect();
    let mut texts: Vec<(usize, String, String)> = Vec::new();
    for (layer, name) in names.iter().enumerate() {
        let mut files = Vec::new();
        sources(&crates().join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "the module {name} stands in a crate of its name");
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source can be read");
            let file =
                file.strip_prefix(crates()).expect("below the crates' folder").to_string_lossy().into_owned();
            texts.push((layer, file, program(&text)));
        }
    }
    let mut owner: HashMap<String, usize> = HashMap::new();
    for (layer, module) in modules.iter().enumerate() {
        for record in module.records {
            owner.insert(record.table.to_owned(), layer + 1);
        }
    }
    for (layer, _, text) in &texts {
        for table in tables_created(text) {
            owner.insert(table.to_owned(), *layer);
        }
    }
    let mut unused: Vec<(&str, &str)> =
        EXCEPTIONS.iter().flat_map(|(file, tables)| tables.split(' ').map(|table| (*file, table))).collect();
    let mut faults = Vec::new();
    for (layer, file, text) in &texts {
        for table in tables_named(text) {
            let Some(above) = owner.get(table).filter(|owner| *owner > layer) else { continue };
            let is_excepted = EXCEPTIONS
                .iter()
                .any(|(known, tables)| known == file && tables.split(' ').any(|known| known == table));
            if is_excepted {
                unused.retain(|known| *known != (file.as_str(), table));
            } else {
                faults.push(format!("{file} names {table}, a table of {}", names[*above]));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "announce an event to a listener of the module above instead, or move the code there:\n{}",
        faults.join("\n")
    );
    assert!(unused.is_empty(), "these exceptions are not needed any more: {unused:?}");
}

#[test]
fn a_table_is_found_after_the_keywords_of_sql() {
    let text = "\"SELECT 1 FROM loan l JOIN\n item i ON true; UPDATE request SET doc = $1\" // FROM nothing";
    assert_eq!(tables_named(text), ["loan", "item", "request", "nothing"]);
    assert_eq!(tables_named(&program("let x = 1;\n// FROM nothing\n")), [""; 0]);
    assert_eq!(tables_created("CREATE TABLE IF NOT EXISTS request_queue (id uuid)"), ["request_queue"]);
}
