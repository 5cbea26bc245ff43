//! The Debian package holds a program that runs and settings that it accepts.

use carrel_testkit::Scratch;
use std::path::Path;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().expect("the command can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn the_debian_package_has_a_program_that_accepts_its_settings() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        eprintln!("skipped: dpkg-deb is not installed");
        return;
    }
    let scratch = Scratch::named("package");
    std::fs::create_dir_all(&scratch.folder).expect("a folder can be made");
    run(Command::new(Path::new(ROOT).join("packaging/deb"))
        .arg(env!("CARGO_BIN_EXE_carrel"))
        .arg(&scratch.folder)
        .env("CARREL_DEB_COMPRESSION", "none"));
    let package = std::fs::read_dir(&scratch.folder)
        .expect("the folder can be read")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .expect("a package was made");
    let unpacked = scratch.folder.join("unpacked");
    run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&unpacked));
    let program = unpacked.join("usr/bin/carrel");
    let version = run(Command::new(&program).arg("--version"));
    assert_eq!(version.trim(), concat!("carrel ", env!("CARGO_PKG_VERSION")));
    let settings = unpacked.join("etc/carrel/carrel.toml");
    let check = run(Command::new(&program).args(["config", "check", "--config"]).arg(settings));
    assert!(check.contains("/var/lib/carrel"), "{check}");
    let fields = run(Command::new("dpkg-deb").args(["--field"]).arg(&package).arg("Package"));
    assert_eq!(fields.trim(), "carrel");
    assert!(unpacked.join("lib/systemd/system/carrel.service").is_file());
}
