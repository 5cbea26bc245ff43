//! The settings version of a tenant, as far as this node has read it.
//!
//! Every transaction that changes a cached table increments the version and notifies all nodes. A notified node reads
//! the version again before it uses a cached value; in case a notification is lost, it also does so if its last read is
//! two seconds old.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A version that was read is used for this long.
const GOOD_FOR: Duration = Duration::from_secs(2);

/// The last version that this node has read.
#[derive(Debug, Default)]
pub struct SettingsVersion {
    known: Mutex<LastRead>,
}

#[derive(Debug, Default)]
struct LastRead {
    newest: i64,
    read_at: Option<Instant>,
    /// How often the version was declared out of date.
    changes: u64,
}

/// A read of the version; its result counts only if the read began after the last change.
#[derive(Debug, Clone, Copy)]
pub struct PendingRead {
    at: Instant,
    changes: u64,
}

impl SettingsVersion {
    /// The newest version if it was read recently enough; otherwise a token with which to read it.
    pub fn current(&self) -> Result<i64, PendingRead> {
        let known = self.known.lock().expect("no holder of this lock panics");
        match known.read_at {
            Some(at) if at.elapsed() < GOOD_FOR => Ok(known.newest),
            _ => Err(PendingRead { at: Instant::now(), changes: known.changes }),
        }
    }

    /// Stores the version that was read; returns the newest known one.
    pub fn answered(&self, pending: PendingRead, version: i64) -> i64 {
        let mut known = self.known.lock().expect("no holder of this lock panics");
        known.newest = known.newest.max(version);
        if known.changes == pending.changes {
            known.read_at = Some(pending.at);
        }
        known.newest
    }

    /// Stores a version that was read together with other facts.
    pub fn saw(&self, version: i64) {
        let mut known = self.known.lock().expect("no holder of this lock panics");
        known.newest = known.newest.max(version);
    }

    /// A cached table has changed: the next reader reads the version again.
    pub fn has_changed(&self) {
        let mut known = self.known.lock().expect("no holder of this lock panics");
        known.read_at = None;
        known.changes += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_only_if_nothing_changed_after_the_question() {
        let version = SettingsVersion::default();
        let pending = version.current().expect_err("nothing is known yet");
        version.has_changed();
        assert_eq!(version.answered(pending, 7), 7);
        let pending = version.current().expect_err("the answer may be older than the change");
        assert_eq!(version.answered(pending, 8), 8);
        assert_eq!(version.current().ok(), Some(8));
    }

    #[test]
    fn an_older_version_does_not_replace_a_newer_one() {
        let version = SettingsVersion::default();
        version.saw(9);
        let pending = version.current().expect_err("it was not read");
        assert_eq!(version.answered(pending, 8), 9);
    }
}
