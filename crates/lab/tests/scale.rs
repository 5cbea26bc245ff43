//! The capacity model of `docs/scale.md`: its table follows from the measured figures named there, and a simulated peak
//! hour on the machines that it asks for keeps its promise.

/// Measured on two cores with 20 users at a common arrival rate, microseconds of processor time a scan.
const SERVER_US: f64 = 500.0;
const DATABASE_US: f64 = 1_200.0;
/// Bytes of WAL a scan.
const WAL: f64 = 7_300.0;
/// Assumed: reads that come with a scan, and their cost as a part of its.
const READS: f64 = 10.0;
const COST_OF_A_READ: f64 = 0.5;
/// Assumed: of an average library.
const LOANS_A_YEAR: f64 = 30_000.0;
const SCANS_A_LOAN: f64 = 2.5;
const OPEN_DAYS: f64 = 300.0;
/// Of a day's scans in its busiest hour, and how much more come in that hour's busiest minutes.
const PEAK_HOUR: f64 = 0.15;
const BURST: f64 = 3.0;
/// Processors are busy for this part of the time at most, so that queues stay short.
const BUSY: f64 = 0.5;
/// Libraries in one database at most: it is not scans that end it, but tables.
const TENANTS_OF_A_DATABASE: f64 = 500.0;

/// A line of the table.
#[derive(Debug)]
struct Need {
    libraries: f64,
    scans: f64,
    server_cores: f64,
    database_cores: f64,
    databases: f64,
    /// Of WAL a day, in GB.
    wal: f64,
}

fn need(libraries: f64) -> Need {
    let day = libraries * LOANS_A_YEAR * SCANS_A_LOAN / OPEN_DAYS;
    let scans = day * PEAK_HOUR / 3_600.0 * BURST;
    let with_reads = 1.0 + READS * COST_OF_A_READ;
    let cores = |microseconds: f64| (scans * microseconds * with_reads / 1e6 / BUSY).ceil().max(1.0);
    Need {
        libraries,
        scans,
        server_cores: cores(SERVER_US),
        database_cores: cores(DATABASE_US),
        databases: (libraries / TENANTS_OF_A_DATABASE).ceil(),
        wal: day * WAL / 1e9,
    }
}

impl Need {
    fn line(&self) -> String {
        format!(
            "| {} | {:.2} | {} | {} | {} | {:.2} |",
            self.libraries, self.scans, self.server_cores, self.database_cores, self.databases, self.wal
        )
    }
}

#[test]
fn the_table_of_the_document_follows_from_its_figures() {
    let document = include_str!("../../../docs/scale.md");
    for libraries in [1.0, 100.0, 10_000.0] {
        let line = need(libraries).line();
        assert!(document.contains(&line), "docs/scale.md lacks the line\n{line}");
    }
}

/// Numbers between 0 and 1 that look random, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The time to the next of events that come at a rate.
    fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.next()).ln() / rate
    }
}

/// Seconds within which 95 of 100 pieces of work are done that arrive at random at a rate and take their turn on some
/// cores.
fn p95(rate: f64, seconds: f64, cores: usize, random: &mut Random) -> f64 {
    let mut free_at = vec![0.0f64; cores];
    let mut now = 0.0;
    let mut taken = Vec::new();
    for _ in 0..200_000 {
        now += random.exponential(rate);
        let core = free_at.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("there is a core");
        let begins = core.max(now);
        // Half of the work is the same every time, half varies.
        *core = begins + seconds * (0.5 + random.exponential(2.0));
        taken.push(*core - now);
    }
    taken.sort_by(f64::total_cmp);
    taken[taken.len() * 95 / 100]
}

#[test]
fn a_simulated_peak_hour_keeps_scans_within_five_times_their_work() {
    for libraries in [1.0, 100.0, 10_000.0] {
        let need = need(libraries);
        // A scan and a read are one piece of work each; their mean.
        let pieces = 1.0 + READS;
        let mean = (1.0 + READS * COST_OF_A_READ) / pieces;
        let mut random = Random(20_261_122);
        for (cores, microseconds) in [(need.server_cores, SERVER_US), (need.database_cores, DATABASE_US)] {
            let seconds = microseconds * mean / 1e6;
            let slow = p95(need.scans * pieces, seconds, cores as usize, &mut random);
            assert!(slow < 5.0 * seconds, "{need:?}: {slow} s for {seconds} s of work");
        }
    }
}
