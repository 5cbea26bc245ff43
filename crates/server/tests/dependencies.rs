//! The dependencies of the program: licenses on the list in `deny.toml`, only from the registry, with explicit
//! versions. `cargo deny` checks the same and more; this test runs without it.
//!
//! The dependencies of the modules of a crate: the top-level modules import each other in one direction.

#[path = "dependencies/modules.rs"]
mod modules;

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Metadata of all packages that are built on this machine.
fn packages() -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let about = Command::new(rustc).arg("-vV").output().expect("rustc can be run").stdout;
    let about = String::from_utf8_lossy(&about).into_owned();
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc prints its host");
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let built: Vec<&str> = metadata["resolve"]["nodes"]
        .as_array()
        .expect("cargo lists what is built")
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let all = metadata["packages"].as_array().expect("cargo lists packages");
    all.iter().filter(|package| built.iter().any(|id| package["id"] == *id)).cloned().collect()
}

fn allowed() -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
    let text = std::fs::read_to_string(file).expect("deny.toml can be read");
    let rules: toml::Table = text.parse().expect("deny.toml is TOML");
    let list = rules["licenses"]["allow"].as_array().expect("a list of licenses");
    list.iter().filter_map(|license| Some(license.as_str()?.to_owned())).collect()
}

/// Whether the allowed licenses satisfy an SPDX expression.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = either(&mut words, allowed);
    met && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words, allowed: &[String]) -> bool {
    let mut met = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= both(words, allowed);
    }
    met
}

fn both(words: &mut Words, allowed: &[String]) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words, allowed: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let met = either(words, allowed);
        return words.next_if_eq(&")").is_some() && met;
    }
    let mut license = words.next().unwrap_or_default().to_owned();
    if words.next_if_eq(&"WITH").is_some() {
        license = format!("{license} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&license)
}

#[test]
fn every_dependency_has_a_license_of_the_list() {
    let allowed = allowed();
    let packages = packages();
    assert!(packages.len() > 50, "the guard sees only {} packages", packages.len());
    let strange: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|license| is_met(license, &allowed)))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(strange.is_empty(), "not covered by the licenses of deny.toml: {strange:#?}");
}

#[test]
fn dependencies_come_from_the_registry_by_named_versions() {
    for package in packages() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(source) = package["source"].as_str() else {
            for needed in package["dependencies"].as_array().into_iter().flatten() {
                let is_ours = needed["path"].is_string();
                assert!(is_ours || needed["req"] != "*", "{name} takes any version of {}", needed["name"]);
            }
            continue;
        };
        assert_eq!(source, "registry+https://github.com/rust-lang/crates.io-index", "{name}");
    }
}

#[test]
fn expressions_of_licenses_are_read_as_they_are_meant() {
    let allowed = ["MIT", "ISC", "Unicode-3.0"].map(str::to_owned);
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("MIT AND GPL-3.0-only", false),
        ("MIT/Apache-2.0", true),
        ("(Apache-2.0 OR MIT) AND Unicode-3.0", true),
        ("(Apache-2.0 OR GPL-2.0) AND Unicode-3.0", false),
        ("Apache-2.0 AND ISC OR MIT", true),
        ("MIT WITH LLVM-exception", false),
        ("", false),
        ("MIT MIT", false),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}
