//! The contents of a backup directory: base backups by their time, and segments of the write-ahead log.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::path::Path;

/// `base-20261122T093000Z`: the time at which the backup was complete.
const FORMAT: &str = "base-%Y%m%dT%H%M%SZ";

/// The directory name of a base backup that was complete at this time, rounded up to the next second.
pub fn name_of(complete: Timestamp) -> String {
    let up = complete + jiff::SignedDuration::from_nanos(999_999_999);
    up.strftime(FORMAT).to_string()
}

/// The time of a base backup's name.
fn time_of(name: &str) -> Option<Timestamp> {
    let time = DateTime::strptime(FORMAT, name).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The newest base backup from before a moment; without a moment the newest of all.
pub fn choose(names: impl IntoIterator<Item = String>, until: Option<Timestamp>) -> Option<String> {
    names
        .into_iter()
        .filter(|name| time_of(name).is_some_and(|time| until.is_none_or(|until| time <= until)))
        .max()
}

/// The names in a directory.
pub fn names(folder: &Path) -> Result<Vec<String>, String> {
    let with_path = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(with_path)?;
    entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()).map_err(with_path))
        .collect()
}

/// Deletes all base backups but the newest ones, and the segments that only the deleted ones needed.
pub fn prune(folder: &Path, keep: usize) -> Result<(), String> {
    let mut bases: Vec<String> = names(folder)?.into_iter().filter(|name| time_of(name).is_some()).collect();
    bases.sort();
    let Some(oldest_kept) = bases.len().checked_sub(keep) else { return Ok(()) };
    let with_path = |error: std::io::Error| format!("{}: {error}", folder.display());
    for base in &bases[..oldest_kept] {
        std::fs::remove_dir_all(folder.join(base)).map_err(with_path)?;
    }
    let wal = folder.join("wal");
    if !wal.is_dir() {
        return Ok(());
    }
    let label =
        std::fs::read_to_string(folder.join(&bases[oldest_kept]).join("backup_label")).map_err(with_path)?;
    let first = first_segment(&label)
        .ok_or_else(|| format!("{}: backup_label names no segment", bases[oldest_kept]))?;
    for segment in names(&wal)?.iter().filter(|segment| is_older(segment, first)) {
        std::fs::remove_file(wal.join(segment)).map_err(with_path)?;
    }
    Ok(())
}

/// `START WAL LOCATION: 0/2000028 (file 000000010000000000000002)`.
fn first_segment(label: &str) -> Option<&str> {
    let line = label.lines().find(|line| line.starts_with("START WAL LOCATION"))?;
    line.split_once("(file ")?.1.strip_suffix(')')
}

/// Whether a segment is older than another one; the first eight digits are the timeline. Other files are not segments.
fn is_older(name: &str, first: &str) -> bool {
    let is_segment = name.len() == 24 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_segment && name.get(8..) < first.get(8..)
}

/// The bytes of all files in a directory.
pub fn size_of(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size_of(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_base_backup_before_the_moment_is_chosen() {
        let names =
            || ["base-20261122T093000Z", "base-20261121T093000Z", "partial", "wal"].map(str::to_owned);
        let chosen = |until: &str| choose(names(), Some(until.parse().expect("a time")));
        assert_eq!(choose(names(), None).as_deref(), Some("base-20261122T093000Z"));
        assert_eq!(chosen("2026-11-22T09:29:59Z").as_deref(), Some("base-20261121T093000Z"));
        assert_eq!(chosen("2026-11-22T09:30:00Z").as_deref(), Some("base-20261122T093000Z"));
        assert_eq!(chosen("2026-11-20T00:00:00Z"), None);
    }

    #[test]
    fn a_name_is_never_earlier_than_the_end_of_its_backup() {
        let end: Timestamp = "2026-11-22T09:29:59.1Z".parse().expect("a time");
        assert_eq!(name_of(end), "base-20261122T093000Z");
        assert!(time_of(&name_of(end)).is_some_and(|time| time >= end));
    }

    #[test]
    fn segments_before_the_oldest_base_backup_are_older_on_any_timeline() {
        let label =
            "START WAL LOCATION: 0/2000028 (file 000000010000000000000002)\nCHECKPOINT LOCATION: 0/2000060\n";
        let first = first_segment(label).expect("a segment");
        assert!(is_older("000000010000000000000001", first) && is_older("000000020000000000000001", first));
        for kept in ["000000010000000000000002", "000000010000000000000001.partial", "00000002.history"] {
            assert!(!is_older(kept, first), "{kept}");
        }
    }
}
