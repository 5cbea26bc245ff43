//! The sections of a played workload's report, each made from its figures.

use super::compare::Figures;
use super::document::{Block, Table, number};
use super::play::{PlayReport, SLOW_MS, at};
use super::plot::Plot;
use crate::workload::LevelFigures;

/// Statements longer than this are cut in a table.
const STATEMENT_LENGTH: usize = 240;
/// A memory growth above this share is worth a remark.
const GROWTH: f64 = 1.25;

/// Plain sentences, each with a figure.
pub fn summary(report: &PlayReport, baseline: Option<&Figures>) -> Vec<String> {
    let mut sentences = Vec::new();
    for level in &report.levels {
        for (name, track) in level.whole() {
            let samples = &track.samples;
            sentences.push(format!(
                "{name} with {} users: {} ms on average, half within {} ms, 95 % within {} ms ({} samples, {} failed).",
                level.users,
                number(samples.mean_ms()),
                number(at(samples, 50.0)),
                number(at(samples, 95.0)),
                samples.count(),
                samples.failures()
            ));
        }
    }
    let (good, failed): (u64, u64) =
        report.levels.iter().fold((0, 0), |sum, level| (sum.0 + level.successes(), sum.1 + level.failures()));
    let share = failed as f64 / (good + failed).max(1) as f64 * 100.0;
    sentences.push(format!("{failed} of {} turns failed ({share:.2} %).", good + failed));
    if let Some(baseline) = baseline {
        sentences.extend(against(report, baseline));
    }
    if let Some(last) = report.levels.last() {
        if let Some(percent) = last.utilization() {
            sentences.push(format!(
                "At {} users the watched processes used {percent:.0} % of the machine's processors.",
                last.users
            ));
        }
        for process in &last.observed.processes {
            let [average, ..] = process.cpu_summary();
            sentences.push(format!(
                "{}: {average:.0} % of a core on average at {} users, {} MiB of memory at the start and {} MiB at the end \
                 ({}).",
                process.name,
                last.users,
                number(process.memory_mib.first().copied().unwrap_or(0.0)),
                number(process.memory_mib.last().copied().unwrap_or(0.0)),
                growth(&process.memory_mib)
            ));
        }
        if let Some(database) = &last.observed.database {
            let slow = database.statements.iter().filter(|statement| statement.is_slow()).count();
            sentences.push(format!(
                "Database: at most {} connections, {} deadlocks, {slow} statements above {SLOW_MS} ms on average.",
                database.connections.iter().max().unwrap_or(&0),
                database.counts.get("deadlocks").unwrap_or(&0)
            ));
        }
    }
    sentences
}

fn growth(memory: &[f64]) -> &'static str {
    match (memory.first(), memory.last()) {
        (Some(first), Some(last)) if *first > 0.0 && last / first > GROWTH => {
            "it grew; a longer run would show whether it continues to grow"
        }
        _ => "no sign of a leak",
    }
}

fn against(report: &PlayReport, baseline: &Figures) -> Vec<String> {
    let ours = Figures::of(&report.json(), "");
    let average = |(key, value): (&(String, u64, &'static str), &f64)| {
        let (name, users, statistic) = key;
        let other = baseline.values.get(key).filter(|other| **other > 0.0 && *statistic == "average_ms")?;
        Some(format!(
            "{name} with {users} users: {} ms on average against {} ms of {} ({:+.1} %).",
            number(*value),
            number(*other),
            baseline.label,
            (value - other) / other * 100.0
        ))
    };
    ours.values.iter().filter_map(average).collect()
}

/// What the figures suggest to do.
pub fn recommendations(report: &PlayReport) -> Vec<String> {
    let mut sentences = Vec::new();
    for level in &report.levels {
        let users = level.users;
        if level.lag_ms[1] > 5.0 {
            sentences.push(format!(
                "The generator began 5 % of its turns more than {} ms late at {users} users: repeat the run with the \
                 generator on another machine, or with fewer users.",
                number(level.lag_ms[1])
            ));
        }
        if level.utilization().is_some_and(|percent| percent > 80.0) {
            sentences.push(format!(
                "The machine was busy at {users} users: times include waiting for a processor. Compare processor time \
                 rather than response times."
            ));
        }
        for (name, track) in level.whole() {
            if let Some((kind, (count, _))) = track.errors.iter().max_by_key(|(_, (count, _))| *count) {
                sentences.push(format!("Look into {count} failures ({kind}) of {name} at {users} users."));
            }
            if track.samples.mean_ms() > at(&track.samples, 75.0) && track.samples.count() > 20 {
                sentences.push(format!(
                    "The average of {name} at {users} users lies above its 75th percentile: a few turns took very long. \
                     See the graph over time."
                ));
            }
        }
        if let Some(database) = &level.observed.database {
            for statement in database.statements.iter().filter(|statement| statement.is_slow()) {
                sentences.push(format!(
                    "A statement of {} took {} ms on average at {users} users: `{}`.",
                    statement.role,
                    number(statement.average_ms()),
                    cut(&statement.text, 100)
                ));
            }
        }
    }
    if let Some(last) = report.levels.last() {
        let missing = last.observed.missing_indexes.len();
        if missing > 0 {
            sentences.push(format!("Add the {missing} missing indexes listed below, or change the queries."));
        }
    }
    if sentences.is_empty() {
        sentences.push(
            "None: no errors, no slow statements, no missing indexes, the generator kept its schedule."
                .into(),
        );
    }
    sentences
}

/// Errors by call and kind with the first text of each.
pub fn errors(report: &PlayReport) -> Block {
    let mut table =
        Table::new("Failed calls", 3, &["call", "error", "first answer", "users", "failures", "share, %"]);
    for level in &report.levels {
        for (name, track) in &level.calls {
            let all = track.samples.count() + track.samples.failures();
            for (kind, (count, first)) in &track.errors {
                table.rows.push(vec![
                    name.clone(),
                    kind.clone(),
                    format!("`{}`", cut(&first.replace('`', "'"), STATEMENT_LENGTH)),
                    level.users.to_string(),
                    count.to_string(),
                    format!("{:.2}", *count as f64 / all.max(1) as f64 * 100.0),
                ]);
            }
        }
    }
    table.or("None.")
}

/// The floor before and after each level, and the cost of a turn compared with it.
pub fn floor(report: &PlayReport) -> Vec<Block> {
    let head = [
        "users",
        "floor/s",
        "floor CPU, µs",
        "turns/s",
        "CPU of a turn, µs",
        "in floor transactions",
        "machine used, %",
    ];
    let mut table = Table::new("The floor at each level", 0, &head);
    for level in &report.levels {
        let Some(floor) = &level.floor else { continue };
        let floor_cpu = floor.total_cpu_us();
        let cpu: f64 = level.observed.processes.iter().map(|process| process.cpu.as_secs_f64() * 1e6).sum();
        let runs = level.repeats.values().map(Vec::len).max().unwrap_or(1).max(1) as f64;
        // Processes are watched in the last repeat.
        let turns = level.successes() as f64 / runs;
        let each = (cpu > 0.0 && turns > 0.0).then(|| cpu / turns);
        let times = each.zip(floor_cpu).map(|(each, floor)| each / floor);
        let cell = |value: Option<f64>| value.map_or(String::new(), number);
        table.rows.push(vec![
            level.users.to_string(),
            number(floor.per_second()),
            cell(floor_cpu),
            number(level.successes() as f64 / level.elapsed.as_secs_f64().max(1e-3)),
            cell(each),
            cell(times),
            cell(level.utilization()),
        ]);
    }
    let what = "The floor is the least SQL that does the work of a scan durably: five prepared statements in one transaction, \
        run by PostgreSQL's `pgbench` on the same database before and after each level, with as many connections as users, \
        at most 20. A turn of this workload may be many calls, so its processor time is given in floor transactions.";
    vec![Block::Text(what.into()), table.or("Not measured: the database's address was not given.")]
}

/// CPU and memory by process and module.
pub fn processes(report: &PlayReport) -> Vec<Block> {
    let head = ["process", "users", "average", "min", "max", "memory at start, MiB", "at end, MiB"];
    let mut table = Table::new("Processor time in percent of a core, and memory", 1, &head);
    for level in &report.levels {
        for process in &level.observed.processes {
            let [average, least, most] = process.cpu_summary();
            let memory = |value: Option<&f64>| value.map_or(String::new(), |value| number(*value));
            table.rows.push(vec![
                process.name.clone(),
                level.users.to_string(),
                number(average),
                number(least),
                number(most),
                memory(process.memory_mib.first()),
                memory(process.memory_mib.last()),
            ]);
        }
    }
    let mut blocks = vec![table.or("No process was watched.")];
    for level in &report.levels {
        let times = &level.observed.at;
        let processes = &level.observed.processes;
        if processes.is_empty() {
            continue;
        }
        let cpu = processes.iter().map(|process| {
            (process.name.clone(), points(&times[times.len().min(1)..], &process.cpu_percent))
        });
        let memory =
            processes.iter().map(|process| (process.name.clone(), points(times, &process.memory_mib)));
        for (what, lines) in [("CPU, % of a core", cpu.collect()), ("Memory, MiB", Vec::from_iter(memory))] {
            let title = format!("{what}, at {} users", level.users);
            blocks.push(Block::Plot(Plot { title, x: "seconds".into(), lines }));
        }
    }
    blocks.push(modules(report));
    let head = ["query", "series", "users", "average", "min", "max", "start", "end"];
    let mut series = Table::new("Prometheus", 2, &head);
    for level in &report.levels {
        for one in &level.observed.prometheus {
            let values = [one.average, one.min, one.max, one.first, one.last].map(number);
            let mut row = vec![one.query.clone(), one.labels.clone(), level.users.to_string()];
            row.extend(values);
            series.rows.push(row);
        }
    }
    if !series.rows.is_empty() {
        blocks.push(Block::Table(series));
    }
    blocks
}

fn modules(report: &PlayReport) -> Block {
    let head =
        ["module", "users", "answers", "failed", "busy, s", "round trips", "waiting for the database, s"];
    let mut table = Table::new("The server's work by module", 1, &head);
    for level in &report.levels {
        for module in level.observed.modules.iter().take(12) {
            table.rows.push(vec![
                module.module.clone(),
                level.users.to_string(),
                format!("{:.0}", module.answers),
                format!("{:.0}", module.failures),
                number(module.busy),
                format!("{:.0}", module.round_trips),
                number(module.database),
            ]);
        }
    }
    table.or("The server has no metrics by module.")
}

/// Connections, waits, counts, statements.
pub fn database(report: &PlayReport) -> Vec<Block> {
    let watched: Vec<_> =
        report.levels.iter().filter_map(|level| Some((level, level.observed.database.as_ref()?))).collect();
    let mut blocks = Vec::new();
    if watched.is_empty() {
        blocks.push(Block::Text("Not watched: the database's address was not given.".into()));
        let notes: Vec<_> = report.levels.iter().flat_map(|level| level.observed.notes.clone()).collect();
        if !notes.is_empty() {
            blocks.push(Block::List(notes));
        }
        return blocks;
    }
    let head = [
        "users",
        "connections max",
        "active average",
        "active max",
        "waiting for a lock, max",
        "commits",
        "rollbacks",
        "deadlocks",
        "blocks read",
        "blocks in memory, %",
    ];
    let mut load = Table::new("Load", 0, &head);
    let mut waits =
        Table::new("What active sessions waited for", 1, &["wait", "users", "times seen", "share, %"]);
    let mut io = Table::new("Input and output", 1, &["kind", "users", "number"]);
    let head = ["role", "statement", "users", "calls", "total, ms", "share, %", "average, ms"];
    let mut statements = Table::new("Statements by total time, and all above 100 ms on average", 2, &head);
    for (level, database) in &watched {
        let users = level.users.to_string();
        let count = |name: &str| database.counts.get(name).copied().unwrap_or(0);
        let (read, hit) = (count("blks_read") as f64, count("blks_hit") as f64);
        let most = |values: &[u64]| values.iter().max().copied().unwrap_or(0).to_string();
        let active: u64 = database.active.iter().sum();
        load.rows.push(vec![
            users.clone(),
            most(&database.connections),
            number(active as f64 / database.active.len().max(1) as f64),
            most(&database.active),
            most(&database.lock_waits),
            count("xact_commit").to_string(),
            count("xact_rollback").to_string(),
            count("deadlocks").to_string(),
            count("blks_read").to_string(),
            number(hit / (hit + read).max(1.0) * 100.0),
        ]);
        let seen: u64 = database.waits.values().sum();
        for (wait, times) in &database.waits {
            let share = number(*times as f64 / seen.max(1) as f64 * 100.0);
            waits.rows.push(vec![wait.clone(), users.clone(), times.to_string(), share]);
        }
        for (kind, number) in &database.io {
            io.rows.push(vec![kind.clone(), users.clone(), number.to_string()]);
        }
        for statement in &database.statements {
            statements.rows.push(vec![
                statement.role.clone(),
                format!("`{}`", cut(&statement.text.replace('`', "'"), STATEMENT_LENGTH)),
                users.clone(),
                statement.calls.to_string(),
                number(statement.total_ms),
                number(statement.total_ms / database.total_ms.max(1e-9) * 100.0),
                number(statement.average_ms()),
            ]);
        }
        blocks.push(connections(level));
        if !database.notes.is_empty() {
            blocks.push(Block::List(database.notes.clone()));
        }
    }
    blocks.insert(0, Block::Table(load));
    blocks.push(waits.or("No session was seen waiting."));
    blocks.push(io.or("This version of PostgreSQL does not count input and output (16 does)."));
    blocks.push(statements.or("Statements were not counted."));
    blocks
}

fn connections(level: &LevelFigures) -> Block {
    let empty = Vec::new();
    let database = level.observed.database.as_ref();
    let of = |values: Option<&Vec<u64>>| {
        let values: Vec<f64> = values.unwrap_or(&empty).iter().map(|value| *value as f64).collect();
        points(&level.observed.at, &values)
    };
    let lines = vec![
        ("connections".to_string(), of(database.map(|database| &database.connections))),
        ("active".to_string(), of(database.map(|database| &database.active))),
        ("waiting for a lock".to_string(), of(database.map(|database| &database.lock_waits))),
    ];
    Block::Plot(Plot {
        title: format!("Database sessions at {} users", level.users),
        x: "seconds".into(),
        lines,
    })
}

fn points(times: &[f64], values: &[f64]) -> Vec<(f64, f64)> {
    times.iter().copied().zip(values.iter().copied()).collect()
}

/// Queries without an index.
pub fn missing_indexes(report: &PlayReport) -> Block {
    let head = ["record", "field", "relation", "queries since the server's start"];
    let mut table = Table::new("Missing indexes", 3, &head);
    for missing in report.levels.last().into_iter().flat_map(|level| &level.observed.missing_indexes) {
        let texts = [&missing.record, &missing.field, &missing.relation].map(Clone::clone);
        table.rows.push(texts.into_iter().chain([missing.queries.to_string()]).collect());
    }
    table.or("None reported by the server.")
}

/// How much the server logged.
pub fn log(report: &PlayReport) -> Block {
    let mut table = Table::new("What the server logged", 0, &["users", "lines", "bytes"]);
    for level in &report.levels {
        if let Some((lines, bytes)) = level.observed.log {
            table.rows.push(vec![level.users.to_string(), lines.to_string(), bytes.to_string()]);
        }
    }
    table.or("The server's log was not watched.")
}

/// Machine, database, program.
pub fn environment(report: &PlayReport) -> Vec<String> {
    let about = &report.about;
    let mut sentences = vec![
        format!("Machine of the generator: {}.", about.machine),
        format!("Database: {}.", about.database.as_deref().unwrap_or("its address was not given")),
        format!("Program under test: {} at {}.", about.commit, report.options.address),
        format!(
            "Tenants: {}.",
            report.options.tenants.iter().map(|tenant| tenant.tenant.as_str()).collect::<Vec<_>>().join(", ")
        ),
    ];
    if !report.options.condition.is_empty() {
        sentences.push(format!("Condition: {}.", report.options.condition));
    }
    sentences
}

/// The amount of data, and whether it is unchanged after the run.
pub fn data(report: &PlayReport) -> Vec<String> {
    let after = if report.before == report.after {
        "As many items available, loans and requests open after the run as before it.".to_string()
    } else {
        format!("After the run and its clean-up: {}.", report.after)
    };
    let cleaned = if report.options.clean_up {
        "The items checked out by the run were checked in, and the workload's clean-up steps were executed, through the public API."
    } else {
        "Nothing was cleaned up: loans and requests of the run remain."
    };
    let mut sentences = vec![format!("Before the run: {}.", report.before), after, cleaned.into()];
    sentences.extend(report.consistency.iter().map(|sentence| format!("Check after the run, {sentence}")));
    sentences
}

/// How the load was generated, and how to repeat it.
pub fn method(report: &PlayReport) -> Vec<Block> {
    let form = &report.options.form;
    let workload = &report.options.workload;
    let mut sentences = vec![format!("Plan: {}.", workload.source)];
    for (part, users) in workload.parts(0) {
        let users = if workload.parts.is_empty() { String::new() } else { format!(", {users} users") };
        sentences.push(match part.load.mode {
            crate::workload::Mode::Open => format!(
                "{}{users}: open load, {} turns a minute and user{}. Turns begin by their schedule, whatever became of the \
                 last ones, and a time counts from the planned beginning.",
                part.name,
                number(part.load.per_minute * form.pace),
                if part.load.random_arrivals { " at random intervals" } else { " evenly spaced" }
            ),
            crate::workload::Mode::Closed => format!(
                "{}{users}: closed load. Each user does one thing after the other, so a slower server gets fewer calls and \
                 its times look better than people would find them.",
                part.name
            ),
        });
    }
    sentences.extend([
        format!(
            "Each level lasts {} s with {} s of ramp-up per user; pauses of the plan are divided by {}; {} runs of each \
             level.",
            number(form.length.as_secs_f64()),
            number(form.ramp_up.as_secs_f64()),
            number(form.pace),
            report.options.repeats.max(1)
        ),
        "A transaction's time is the sum of its calls, preflights included, pauses excluded. A failed call ends it; it is \
         counted as failed and has no time. Percentiles are over single samples, in histograms of three digits."
            .into(),
        "HTTP/1.1 over connections that are kept open, one for each user at work.".into(),
    ]);
    if let Some(cap) = report.options.most_per_second {
        sentences.push(format!("At most {} calls a second were sent.", number(cap)));
    }
    vec![
        Block::List(sentences),
        Block::Text("To repeat it:".into()),
        Block::Code(report.options.command.clone()),
    ]
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
