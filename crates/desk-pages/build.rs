//! Lists the files of `web/dist` as constants with their content. An empty folder makes an empty list.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let dist = manifest.join("../../web/dist");
    // A folder that does not exist would make cargo run this program at every build; it is kept in the repository.
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = BTreeMap::new();
    collect(&dist, "", &mut files);
    let mut text = String::from("[\n");
    for (name, path) in files.iter().filter(|(name, _)| !name.ends_with(".gz")) {
        let content = fs::read(path).expect("a file of web/dist can be read");
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        let gzip = match files.get(&format!("{name}.gz")) {
            Some(path) => format!("Some(include_bytes!({path:?}))"),
            None => "None".into(),
        };
        let _ = writeln!(
            text,
            "    Page {{ name: {name:?}, content_type: {:?}, etag: \"\\\"{:016x}\\\"\", content: include_bytes!({path:?}), gzip: {gzip} }},",
            content_type(name),
            hasher.finish(),
        );
    }
    text.push(']');
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("pages.rs");
    fs::write(out, text).expect("cargo's output folder can be written");
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            collect(&path, &format!("{prefix}{name}/"), files);
        } else if let Ok(path) = path.canonicalize() {
            files.insert(format!("{prefix}{name}"), path);
        }
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
