//! Processor time of the three sides of a measurement: the generator (this program and its children), the server, and
//! the database with all its processes. Read from `/proc`, which counts in hundredths of a second: phases of a second
//! and more give useful figures.

use std::fs;
use std::time::Duration;

/// Linux counts processor time for user programs in ticks of this length, regardless of its clock rate.
const TICK: Duration = Duration::from_millis(10);

/// The measured processes besides this one; `None` if the process is unknown or on another machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Processes {
    /// The server under test.
    pub server: Option<u32>,
    /// The postmaster.
    pub postmaster: Option<u32>,
}

/// Processor time of each side, user and system.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    pub generator: Duration,
    pub server: Duration,
    pub database: Duration,
}

impl ProcessorTime {
    pub fn total(&self) -> Duration {
        self.generator + self.server + self.database
    }

    /// The time used since an earlier reading.
    pub fn since(&self, earlier: &ProcessorTime) -> ProcessorTime {
        self.less(earlier)
    }

    /// This time without another one, and not below zero.
    pub fn less(&self, other: &ProcessorTime) -> ProcessorTime {
        ProcessorTime {
            generator: self.generator.saturating_sub(other.generator),
            server: self.server.saturating_sub(other.server),
            database: self.database.saturating_sub(other.database),
        }
    }

    pub fn add(&mut self, other: &ProcessorTime) {
        self.generator += other.generator;
        self.server += other.server;
        self.database += other.database;
    }
}

impl Processes {
    /// These processes, with the postmaster of the given PostgreSQL backend if it runs on this machine.
    pub fn with_backend(self, backend: i32) -> Processes {
        Processes { postmaster: postmaster_of(backend), ..self }
    }

    /// Processor time until now.
    pub fn read(&self) -> ProcessorTime {
        let of = |id: u32| Stat::of(id).map_or(Duration::ZERO, |stat| stat.own + stat.ended_children);
        let database = self.postmaster.map_or(Duration::ZERO, |postmaster| {
            // The time of a process that has ended since is included in its parent's.
            of(postmaster) + children_of(postmaster).map(|(_, own)| own).sum::<Duration>()
        });
        ProcessorTime {
            generator: of(std::process::id()),
            server: self.server.and_then(Stat::of).map_or(Duration::ZERO, |stat| stat.own),
            database,
        }
    }
}

/// A process as `/proc/<id>/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    own: Duration,
    ended_children: Duration,
}

impl Stat {
    fn of(id: u32) -> Option<Stat> {
        Stat::parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    fn parse(text: &str) -> Option<Stat> {
        // The name in brackets may contain blanks and brackets; fields are counted after the last one.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |field: usize| -> Option<Duration> {
            Some(TICK * u32::try_from(fields.get(field)?.parse::<u64>().ok()?).ok()?)
        };
        Some(Stat {
            parent: fields.get(1)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            ended_children: ticks(13)? + ticks(14)?,
        })
    }
}

/// The postmaster of the backend with the given process id, if it runs on this machine.
pub fn postmaster_of(backend: i32) -> Option<u32> {
    let parent = u32::try_from(backend).ok().and_then(Stat::of).map(|stat| stat.parent);
    let is_postgres =
        |id: &u32| fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim() == "postgres");
    parent.filter(is_postgres)
}

/// Processor time of a process and of its children that have ended.
pub fn process_time(id: u32) -> Duration {
    Stat::of(id).map_or(Duration::ZERO, |stat| stat.own + stat.ended_children)
}

/// Ids and processor time of the children of a process.
pub fn children_of(parent: u32) -> impl Iterator<Item = (u32, Duration)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, Stat::of(id)?)))
        .filter(move |(_, stat)| stat.parent == parent)
        .map(|(id, stat)| (id, stat.own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let text = "12 (a) b (c)) S 7 12 12 0 -1 4194560 1 2 3 4 250 50 30 20 20 0 1 0 9 0";
        let stat = Stat::parse(text).expect("a process");
        assert_eq!(stat.parent, 7);
        assert_eq!((stat.own, stat.ended_children), (Duration::from_secs(3), Duration::from_millis(500)));
    }

    #[test]
    fn this_process_uses_processor_time() {
        let processes = Processes::default();
        let before = processes.read();
        let mut sum = 0_u64;
        while processes.read().since(&before).generator < TICK * 2 {
            sum = (0..100_000_u64).fold(sum, u64::wrapping_add);
        }
        assert_eq!(processes.read().since(&before).database, Duration::ZERO);
    }
}
