use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates whose modules still import each other in circles, with these modules. The list only shrinks.
const CIRCLES: &[(&str, &[&str])] = &[
    ("audit", &["change_history", "settings"]),
    ("circulation-rules", &["cursor", "matching", "parse", "rules", "statement", "weight"]),
    ("fees-fines", &["actions", "charge", "loan_fees_closed", "log", "patron_notified"]),
    ("inventory", &["deletions", "items"]),
    ("lab", &["cico", "data", "floor", "live", "load", "observe", "report", "run", "workload"]),
    ("lists", &["engine", "entity_types", "exports", "query", "saved_lists"]),
    (
        "platform",
        &[
            "batch_deletion",
            "http",
            "jobs",
            "module",
            "node",
            "outbox",
            "record_store",
            "tenant",
            "transaction_listeners",
        ],
    ),
    ("pub-sub", &["delivery", "publish"]),
    ("server", &["config", "database", "modules", "observability"]),
    ("testkit", &["cluster", "fitting", "sample", "server"]),
    ("users", &["custom_fields", "login", "records", "user", "users_bl"]),
];

/// The imports of each top-level module: module → modules that it names by `crate::…`.
type Imports = BTreeMap<String, BTreeSet<String>>;

fn imports(source: &Path) -> Imports {
    let mut files = Vec::new();
    collect(source, &mut files);
    let module_of = |file: &PathBuf| {
        let path = file.strip_prefix(source).expect("it was found there");
        let name = path.iter().next()?.to_str()?.trim_end_matches(".rs").to_owned();
        (!["lib", "main"].contains(&name.as_str())).then_some(name)
    };
    let modules: BTreeSet<String> = files.iter().filter_map(module_of).collect();
    let mut imports = Imports::new();
    for file in &files {
        let Some(module) = module_of(file) else { continue };
        let text = std::fs::read_to_string(file).expect("a source file can be read");
        let path = file.strip_prefix(source).expect("it was found there");
        let depth = path.iter().count() - usize::from(path.ends_with("mod.rs"));
        let named = named_modules(&text, &"super::".repeat(depth)).into_iter();
        let named = named.filter(|name| *name != module && modules.contains(name));
        let named: Vec<String> = named.collect();
        imports.entry(module).or_default().extend(named);
    }
    imports
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources can be read").flatten() {
        let path = entry.path();
        // Tests may use anything.
        let is_test = path.file_stem().is_some_and(|name| name == "tests" || name == "fixtures");
        match (path.is_dir(), path.extension().is_some_and(|extension| extension == "rs")) {
            _ if is_test => {}
            (true, _) => collect(&path, files),
            (false, true) => files.push(path),
            (false, false) => {}
        }
    }
}

/// The names that follow `crate::`, or the path `root` to the same, in the code before the unit tests.
fn named_modules(text: &str, root: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let after = |path: &str| {
        let parts = code.split(path).skip(1);
        parts.flat_map(names_at_start).collect::<Vec<String>>()
    };
    [after("crate::"), after(root)].concat()
}

/// The identifier at the start, or each first identifier of a list in braces.
fn names_at_start(text: &str) -> Vec<String> {
    let Some(list) = text.strip_prefix('{') else { return vec![word(text)] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (index, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                names.push(word(&list[start..index]));
                start = index + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
        if c == '}' && depth == 0 && start == index + 1 {
            break;
        }
    }
    names
}

/// The identifier at the start.
fn word(text: &str) -> String {
    let text = text.trim_start();
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
}

/// The modules that reach themselves by their imports.
fn circular(imports: &Imports) -> Vec<&str> {
    let reaches_itself = |start: &&String| {
        let mut reached: BTreeSet<&String> = BTreeSet::new();
        let mut next: Vec<&String> = imports[*start].iter().collect();
        while let Some(module) = next.pop() {
            if reached.insert(module) {
                next.extend(imports.get(module).into_iter().flatten());
            }
        }
        reached.contains(*start)
    };
    imports.keys().filter(reaches_itself).map(String::as_str).collect()
}

#[test]
fn the_top_level_modules_of_a_crate_import_each_other_in_one_direction() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seen = 0;
    for entry in std::fs::read_dir(crates).expect("the crates can be listed").flatten() {
        let source = entry.path().join("src");
        if !source.is_dir() {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let imports = imports(&source);
        seen += imports.len();
        let known = CIRCLES.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, modules)| modules);
        assert_eq!(
            circular(&imports),
            known,
            "crate {name}: move what both modules of a circle use to a module below them, or remove a module \
             that is in no circle any more from CIRCLES"
        );
    }
    assert!(seen > 100, "the guard sees only {seen} modules");
}

#[test]
fn circles_are_found_over_several_modules_and_not_through_comments_or_tests() {
    let text = "//! See `crate::comment`.\nuse crate::{first::{A, b}, second,\n    third};\nuse super::super::fourth::D;\n\
                fn f() { crate::fifth::g() }\n#[cfg(test)]\nmod tests {\n    use crate::sixth;\n}";
    let names = named_modules(text, "super::super::");
    assert_eq!(names, ["first", "second", "third", "fifth", "fourth"]);
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")];
    let mut imports = Imports::new();
    for (from, to) in edges {
        imports.entry(from.to_owned()).or_default().insert(to.to_owned());
    }
    assert_eq!(circular(&imports), ["a", "b", "c"]);
}
