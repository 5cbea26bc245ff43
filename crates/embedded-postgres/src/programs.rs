//! PostgreSQL's server programs on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The message if no server programs are found.
pub const HOW_TO_INSTALL: &str = "PostgreSQL's server programs (15 or newer) were not found: install them, on Debian with 'apt-get install postgresql', or name a server with --database.";

/// Where Debian installs PostgreSQL, a directory per version.
const DEBIAN_VERSIONS: &str = "/usr/lib/postgresql";

/// The directory of the newest PostgreSQL server programs, version 15 at least. If `CARREL_POSTGRES` is set, only that
/// directory is considered.
pub fn find_programs() -> Option<PathBuf> {
    let has_server = |folder: &Path| folder.join("postgres").is_file() && folder.join("initdb").is_file();
    if let Some(folder) = std::env::var_os("CARREL_POSTGRES") {
        return Some(PathBuf::from(folder)).filter(|folder| has_server(folder));
    }
    candidates().into_iter().find(|folder| has_server(folder) && is_new_enough(folder))
}

fn candidates() -> Vec<PathBuf> {
    let mut candidates: Vec<PathBuf> = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").stderr(Stdio::null()).output()
        && output.status.success()
    {
        candidates.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    if let Ok(entries) = std::fs::read_dir(DEBIAN_VERSIONS) {
        let mut versions: Vec<(u32, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let version = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .collect();
        versions.sort();
        candidates.extend(versions.into_iter().rev().map(|(_, path)| path));
    }
    candidates.push(PathBuf::from("/usr/local/pgsql/bin"));
    if let Some(path) = std::env::var_os("PATH") {
        candidates.extend(std::env::split_paths(&path));
    }
    candidates
}

/// `postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)`: 15 is the floor.
fn is_new_enough(folder: &Path) -> bool {
    let output = Command::new(folder.join("postgres")).arg("--version").stderr(Stdio::null()).output();
    output.is_ok_and(|output| major_version(&String::from_utf8_lossy(&output.stdout)) >= Some(15))
}

fn major_version(output: &str) -> Option<u32> {
    let number = output.split("(PostgreSQL)").nth(1)?.trim();
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_read_from_what_the_program_says() {
        assert_eq!(major_version("postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)"), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_version("something else"), None);
    }
}
