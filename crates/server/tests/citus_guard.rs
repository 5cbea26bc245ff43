//! SQL that Citus' schema-based sharding refuses stays out of the modules, or stands in `citus-exceptions.tsv`.
//!
//! Reads the text literals of all modules' sources and their files of SQL. Tables of the platform itself are not
//! distributed and may use what PostgreSQL has. Nothing here runs on Citus: the rules are what it documents and what a
//! trial run of 13.2 refused (docs/how-to/citus.md).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A rule with the reason for it.
struct Rule {
    name: &'static str,
    reason: &'static str,
    is_broken: fn(&str) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        name: "modifying-cte",
        reason: "several modifying parts in one statement: send several small statements in one pipeline",
        is_broken: has_modifying_cte,
    },
    Rule {
        name: "function-in-write",
        reason: "UPDATE, DELETE, ON CONFLICT and INSERT … SELECT take columns, bound values and immutable functions only",
        is_broken: writes_with_function,
    },
    Rule {
        name: "insert-without-columns",
        reason: "INSERT names every column",
        is_broken: inserts_without_columns,
    },
    Rule {
        name: "select-in-values",
        reason: "VALUES holds no sub-select: bind what was read before",
        is_broken: selects_in_values,
    },
    Rule {
        name: "advisory-lock",
        reason: "an advisory lock is of one server: lock a row",
        is_broken: |sql| sql.contains("PG_ADVISORY") || sql.contains("PG_TRY_ADVISORY"),
    },
    Rule {
        name: "notify-inside",
        reason: "pg_notify is a statement of its own",
        is_broken: |sql| sql.contains("PG_NOTIFY(") && !sql.starts_with("SELECT PG_NOTIFY("),
    },
    Rule {
        name: "ddl",
        reason: "no triggers, inheritance, unlogged tables, deferred constraints, identity columns",
        is_broken: |sql| {
            ["CREATE TRIGGER", "INHERITS (", "UNLOGGED", "INITIALLY DEFERRED", "AS IDENTITY"]
                .iter()
                .any(|words| sql.contains(words))
        },
    },
];

/// Functions that are not immutable.
const FUNCTIONS: [&str; 11] = [
    "NOW(",
    "CLOCK_TIMESTAMP(",
    "CURRENT_TIMESTAMP",
    "CURRENT_DATE",
    "RANDOM(",
    "GEN_RANDOM_UUID(",
    "JSONB_BUILD_OBJECT(",
    "JSONB_BUILD_ARRAY(",
    "TO_JSONB(",
    "TO_CHAR(",
    "CURRENT_SCHEMA(",
];

fn has_modifying_cte(sql: &str) -> bool {
    sql.starts_with("WITH ")
        && ["AS (INSERT ", "AS (UPDATE ", "AS (DELETE ", "AS ( INSERT ", "AS ( UPDATE ", "AS ( DELETE "]
            .iter()
            .any(|words| sql.contains(words))
}

fn writes_with_function(sql: &str) -> bool {
    let sql = sql.replace("FOR UPDATE", "").replace("FOR NO KEY UPDATE", "");
    let inserts_values = sql.starts_with("INSERT INTO ") && !sql.contains(" SELECT ");
    // The values of an INSERT are computed before it is sent to the tenant's worker.
    let part = if inserts_values { sql.split_once("ON CONFLICT").map_or("", |parts| parts.1) } else { &sql };
    let writes =
        inserts_values || ["INSERT INTO ", "UPDATE ", "DELETE FROM "].iter().any(|words| sql.contains(words));
    let is_maintenance = sql.starts_with("CREATE ") || sql.starts_with("DO ");
    writes && !is_maintenance && FUNCTIONS.iter().any(|name| calls(part, name))
}

/// Whether the function is called, and not one whose name ends alike.
fn calls(sql: &str, name: &str) -> bool {
    sql.match_indices(name).any(|(place, _)| {
        !sql[..place].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_')
    })
}

fn inserts_without_columns(sql: &str) -> bool {
    sql.split("INSERT INTO ").skip(1).any(|rest| {
        let rest = rest.trim_start_matches(|letter: char| letter != ' ' && letter != '(').trim_start();
        let rest =
            rest.strip_prefix("AS ").map_or(rest, |rest| rest.split_once(' ').map_or("", |rest| rest.1));
        !rest.starts_with('(') && !rest.is_empty()
    })
}

fn selects_in_values(sql: &str) -> bool {
    sql.split("VALUES (").skip(1).any(|rest| {
        let mut open = 1;
        let end = rest.find(|letter| {
            open += i32::from(letter == '(') - i32::from(letter == ')');
            open == 0
        });
        let values = &rest[..end.unwrap_or(rest.len())];
        values.contains("(SELECT ") || values.contains("( SELECT ")
    })
}

/// Upper case, with one space between words and without comments, so that rules compare words.
fn normalized(sql: &str) -> String {
    let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ").to_ascii_uppercase()
}

fn is_sql(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "CREATE", "ALTER", "DO"].contains(&first)
        && text.split_whitespace().count() > 2
}

/// The text literals of a Rust source, without those in comments.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some((marks, body)) = raw_start(rest) {
            let end = format!("\"{}", "#".repeat(marks));
            let (text, after) = body.split_once(&end).unwrap_or((body, ""));
            found.push(text.to_owned());
            rest = after;
        } else if letter == '"' {
            let mut escaped = false;
            let end = rest[1..]
                .find(|letter| {
                    let ends = letter == '"' && !escaped;
                    escaped = letter == '\\' && !escaped;
                    ends
                })
                .unwrap_or(rest.len() - 1);
            found.push(rest[1..=end].replace("\\n", " ").replace("\\\n", " "));
            rest = rest.get(end + 2..).unwrap_or_default();
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
            rest = &rest[3..];
        } else {
            rest = &rest[letter.len_utf8()..];
        }
    }
    found
}

/// How many `#` a raw literal has that begins here, and what follows.
fn raw_start(text: &str) -> Option<(usize, &str)> {
    let after = text.strip_prefix('r')?;
    let marks = after.len() - after.trim_start_matches('#').len();
    Some((marks, after[marks..].strip_prefix('"')?))
}

/// The statements of a script; functions' bodies in `$$` stay in one piece.
fn statements(script: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for (number, part) in script.split("$$").enumerate() {
        let last = all.last_mut().expect("there is always one");
        if number % 2 == 1 {
            last.push_str(part);
            continue;
        }
        let mut pieces = part.split(';');
        last.push_str(pieces.next().unwrap_or_default());
        all.extend(pieces.map(str::to_owned));
    }
    all
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "sql")
            && !path.ends_with("tests.rs")
        {
            found.push(path);
        }
    }
}

/// Names of broken rules by file, with the statements that break them.
fn faults() -> BTreeMap<(String, &'static str), Vec<String>> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates' folder");
    let modules = carrel_server::modules::modules();
    let mut faults: BTreeMap<(String, &'static str), Vec<String>> = BTreeMap::new();
    for name in ["platform"].into_iter().chain(modules.iter().map(|module| module.name)) {
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source can be read");
            let shown = file.strip_prefix(crates).expect("below the crates' folder").display().to_string();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let texts = if shown.ends_with(".rs") { literals(text) } else { statements(text) };
            for sql in texts.iter().map(|text| normalized(text)).filter(|sql| is_sql(sql)) {
                if sql.contains("PLATFORM.") {
                    continue;
                }
                for rule in RULES.iter().filter(|rule| (rule.is_broken)(&sql)) {
                    faults.entry((shown.clone(), rule.name)).or_default().push(sql.clone());
                }
            }
        }
    }
    faults
}

#[test]
fn no_module_sends_sql_that_citus_refuses() {
    let listed = include_str!("citus-exceptions.tsv");
    let mut exceptions: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for line in listed.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, rule, number, reason] = cells[..] else { panic!("four cells: {line}") };
        assert!(!reason.is_empty(), "an exception has a reason: {line}");
        exceptions.insert((file, rule), number.parse().expect("a number of statements"));
    }
    let mut faults = faults();
    for ((file, rule), admitted) in exceptions {
        let found = faults.remove(&(file.to_owned(), rule_named(rule))).unwrap_or_default();
        assert!(
            found.len() >= admitted,
            "{file}: only {} statements break {rule}: lower the number in citus-exceptions.tsv",
            found.len()
        );
        if found.len() > admitted {
            faults.insert((file.to_owned(), rule_named(rule)), found);
        }
    }
    let messages: Vec<String> = faults
        .iter()
        .map(|((file, name), found)| {
            let reason = RULES.iter().find(|rule| rule.name == *name).map_or("", |rule| rule.reason);
            format!("{file}\t{name}\t{}\t{reason}\n    {}", found.len(), found.join("\n    "))
        })
        .collect();
    assert!(messages.is_empty(), "Citus refuses this:\n{}", messages.join("\n"));
}

fn rule_named(name: &str) -> &'static str {
    RULES.iter().find(|rule| rule.name == name).unwrap_or_else(|| panic!("there is no rule {name}")).name
}

#[test]
fn each_rule_finds_what_it_is_for() {
    let table = [
        ("modifying-cte", "WITH gone AS (DELETE FROM a RETURNING b) SELECT b FROM gone", true),
        ("modifying-cte", "WITH seen AS (SELECT b FROM a) SELECT b FROM seen", false),
        ("function-in-write", "UPDATE a SET b = now()", true),
        ("function-in-write", "INSERT INTO a (b) SELECT jsonb_build_object('c', c) FROM d", true),
        ("function-in-write", "INSERT INTO a (b) VALUES (clock_timestamp())", false),
        ("function-in-write", "INSERT INTO a (b) VALUES (1) ON CONFLICT (b) DO UPDATE SET c = now()", true),
        ("function-in-write", "SELECT now() AS a FROM b FOR UPDATE OF b", false),
        ("function-in-write", "UPDATE a SET b = is_known($1)", false),
        ("insert-without-columns", "INSERT INTO a SELECT b FROM c", true),
        ("insert-without-columns", "INSERT INTO a (b) SELECT b FROM c", false),
        ("insert-without-columns", "INSERT INTO a AS x (b) VALUES ($1)", false),
        ("select-in-values", "INSERT INTO a (b) VALUES ($1, (SELECT c FROM d))", true),
        ("select-in-values", "INSERT INTO a (b) VALUES (lower($1)) RETURNING (SELECT 1 AS c)", false),
        ("advisory-lock", "SELECT pg_advisory_xact_lock($1) AS a", true),
        ("notify-inside", "WITH a AS (SELECT pg_notify('b', 'c')) SELECT 1", true),
        ("notify-inside", "SELECT pg_notify('b', 'c') AS a", false),
        ("ddl", "CREATE UNLOGGED TABLE a (b text)", true),
        ("ddl", "CREATE TABLE a (b text UNIQUE DEFERRABLE INITIALLY IMMEDIATE)", false),
    ];
    for (name, sql, expected) in table {
        let sql = normalized(sql);
        assert!(is_sql(&sql), "{sql}");
        let rule = RULES.iter().find(|rule| rule.name == name).expect("a rule of this name");
        assert_eq!((rule.is_broken)(&sql), expected, "{name}: {sql}");
    }
}

#[test]
fn sql_is_found_in_the_literals_of_a_source() {
    let source = "// \"SELECT no\"\nlet a = \"UPDATE x \\\n  SET y = \\\"z\\\"\"; let q = '\"'; let b = r#\"WITH \"c\"\"#;";
    let found: Vec<String> = literals(source).iter().map(|text| normalized(text)).collect();
    assert_eq!(found, ["UPDATE X SET Y = \\\"Z\\\"", "WITH \"C\""]);
    assert_eq!(statements("A; DO $$ b; c $$; D").len(), 3);
}
