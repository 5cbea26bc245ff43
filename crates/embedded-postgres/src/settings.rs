//! The settings of a new private PostgreSQL. Operators can change them in `postgresql.conf`.

use super::Purpose;
use std::fmt::Write as _;

/// Lines for `postgresql.conf`; `memory` is the machine's, in MiB; `lz4` tells whether this build of PostgreSQL supports
/// LZ4.
pub fn settings(purpose: Purpose, memory: u64, lz4: bool) -> String {
    let mut text = String::from(
        "\n# Carrel's own settings\nlisten_addresses = ''\nmax_connections = 300\nwork_mem = 8MB\n\
         maintenance_work_mem = 128MB\nmax_wal_size = 4GB\ncheckpoint_timeout = 15min\nrandom_page_cost = 1.1\n\
         jit = off\nlog_min_messages = warning\nmax_locks_per_transaction = 256\nautovacuum_naptime = 15s\n\
         max_slot_wal_keep_size = 16GB\n",
    );
    // Some hundred thousand items with their indexes fit in shared buffers; memory is taken only as it is used.
    let (shared, cached) = match purpose {
        Purpose::Production => ((memory / 8).clamp(128, 4_096), (memory / 2).clamp(512, 65_536)),
        Purpose::Test => (256, 1_024),
    };
    let _ = writeln!(text, "shared_buffers = {shared}MB\neffective_cache_size = {cached}MB");
    // The first change of a page after a checkpoint writes the whole page to the WAL. Compressing it with pglz takes
    // longer than the rest of a check-out.
    let _ = writeln!(text, "wal_compression = {}", if lz4 { "lz4" } else { "off" });
    if lz4 {
        // The same holds for large values, which PostgreSQL compresses.
        text.push_str("default_toast_compression = lz4\n");
    }
    if purpose == Purpose::Test {
        text.push_str(
            "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\nmax_connections = 400\n",
        );
    }
    text
}

/// Memory of this machine in MiB; if unknown, that of a small machine.
pub fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()).and_then(|number| number.parse().ok());
    number.map_or(2_048, |kilobytes: u64| kilobytes / 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eighth_of_the_memory_keeps_pages_within_bounds() {
        let table = [(512, "shared_buffers = 128MB"), (8_192, "= 1024MB"), (1_000_000, "= 4096MB")];
        for (memory, expected) in table {
            assert!(settings(Purpose::Production, memory, true).contains(expected), "{memory}");
        }
    }

    #[test]
    fn real_data_reaches_the_disk() {
        assert!(!settings(Purpose::Production, 1, false).contains("fsync = off"));
        assert!(settings(Purpose::Production, 1, false).contains("wal_compression = off"));
    }
}
