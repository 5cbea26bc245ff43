//! Decisions are functions of facts: no async code, no clock, no database. This test reads the sources.

use std::path::{Path, PathBuf};

/// Folders in which everything is pure.
const PURE: [&str; 5] = ["records/src", "cql/src", "fql/src", "circulation-rules/src", "loan-rules/src"];

/// Rules that a use case's `decide.rs` is made of.
const RULES: [&str; 10] = [
    "audit/src/circulation_log/action.rs",
    "audit/src/circulation_log/description.rs",
    "requests/src/effects.rs",
    "requests/src/validate.rs",
    "requests/src/policy.rs",
    "requests/src/place/choose.rs",
    "requests/src/place/requester.rs",
    "requests/src/place/eligibility.rs",
    "inventory/src/isbn/hyphens.rs",
    "inventory/src/isbn/number.rs",
];

/// Files of a use case that may do I/O.
const WORLDLY: [&str; 4] = ["route.rs", "facts.rs", "apply.rs", "store.rs"];

/// Patterns that are forbidden in decisions, and what to do instead.
const FORBIDDEN: [(&str, &str); 5] = [
    ("async ", "gather facts before the decision, in facts.rs"),
    (".await", "gather facts before the decision, in facts.rs"),
    ("Timestamp::now", "take the time as a parameter"),
    ("Uuid::new_v", "take new ids as parameters"),
    (
        "carrel_platform::",
        "take values; requests, tenants and the database belong into route.rs, facts.rs, apply.rs",
    ),
];

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines of a rule with their numbers from 1 on, without comments and without items that are compiled for tests
/// only: tests may draw ids, rules may not.
fn rule_lines(text: &str) -> Vec<(usize, &str)> {
    let mut lines = text.lines().zip(1..);
    let mut rule = Vec::new();
    while let Some((line, number)) = lines.next() {
        let code = line.split("//").next().unwrap_or("");
        if code.trim() != "#[cfg(test)]" {
            rule.push((number, code));
            continue;
        }
        // The item ends with its semicolon, or with the brace that closes it at the indentation of the attribute.
        let indentation = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indentation}}}");
        for (line, _) in lines.by_ref() {
            let is_statement = line.starts_with(indentation) && !line[indentation.len()..].starts_with(' ');
            if line == end || is_statement && (line.ends_with(';') || line.ends_with('}')) {
                break;
            }
        }
    }
    rule
}

#[test]
fn the_guard_reads_code_after_items_for_tests() {
    let text = "\
#[cfg(test)]
mod fixtures;
mod item;
fn rule() {
    Timestamp::now(); // Uuid::new_v4
    #[cfg(test)]
    fn only_for_tests() {
        Uuid::new_v4();
    }
}
#[cfg(test)]
mod tests {
    fn inner() {
        Uuid::new_v4();
    }
}
fn below() {}
";
    let read: Vec<_> = rule_lines(text).into_iter().map(|(number, line)| (number, line.trim())).collect();
    let expected =
        [(3, "mod item;"), (4, "fn rule() {"), (5, "Timestamp::now();"), (10, "}"), (17, "fn below() {}")];
    assert_eq!(read, expected);
}

/// The facts of a request are read for the time of its arrival, which is taken from the clock once.
#[test]
fn no_facts_read_the_clock() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' folder");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates).expect("the crates' folder can be read").flatten() {
        rust_files(&entry.path().join("src"), &mut files);
    }
    files.retain(|file| file.file_name().is_some_and(|name| name == "facts.rs"));
    assert!(files.len() > 5, "the guard reads the wrong folder: {}", crates.display());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file is text");
        let reads = rule_lines(&text).into_iter().find(|(_, line)| line.contains("Timestamp::now"));
        assert!(reads.is_none(), "{}: {reads:?}: take the time of the request", file.display());
    }
}

#[test]
fn decisions_are_pure() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' folder");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates).expect("the crates' folder can be read").flatten() {
        rust_files(&entry.path().join("src"), &mut files);
    }
    assert!(files.len() > 50, "the guard reads the wrong folder: {}", crates.display());
    for rule in RULES {
        assert!(crates.join(rule).is_file(), "a rule has moved away from the guard: {rule}");
    }
    let mut found = Vec::new();
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let pure_folder = PURE.iter().any(|folder| file.starts_with(crates.join(folder)));
        let decides = name == "decide.rs" || file.parent().is_some_and(|folder| folder.ends_with("decide"));
        let is_rule = RULES.iter().any(|rule| file == crates.join(rule));
        let is_pure = decides || is_rule || pure_folder && !WORLDLY.contains(&name);
        if !is_pure {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("a source file is text");
        for (number, line) in rule_lines(&text) {
            for (word, instead) in FORBIDDEN {
                if line.contains(word) {
                    let place = file.strip_prefix(crates).unwrap_or(&file).display();
                    found.push(format!("crates/{place}:{number}: '{}': {instead}", word.trim()));
                }
            }
        }
    }
    assert!(found.is_empty(), "decisions must stay pure:\n{}", found.join("\n"));
}
