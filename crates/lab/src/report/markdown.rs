//! The report as Markdown, in the order of FOLIO's performance reports: purpose, results, method, environment, data.

use super::run::{BAR_P95, spoken, verdict};
use super::{Measured, RunLevel, RunReport};
use crate::timing::Pace;
use std::fmt::Write;

/// The Markdown text of a run.
pub fn text(report: &RunReport) -> String {
    let sections = [
        format!(
            "# {}: {}\n\nProgram `{}`, {}\n\n**Purpose.** {}\n",
            report.story.title,
            report.address,
            report.about.commit,
            report.about.when.strftime("%Y-%m-%d %H:%M UTC"),
            report.story.purpose
        ),
        summary(report),
        response_times(report),
        throughput(report),
        errors(report),
        runs(report),
        format!(
            "## Environment\n\n- Machine: {}; load generator, server and database share it.\n- Database: {}\n",
            report.about.machine,
            report.about.database.as_deref().unwrap_or("not given, so no floor was measured")
        ),
        data(report),
        format!("## Method\n\n{}", report.story.method),
    ];
    sections.join("\n")
}

fn summary(report: &RunReport) -> String {
    let mut text = String::from("## Summary\n\n");
    for level in &report.levels {
        for (name, measured) in &level.operations {
            let name = spoken(name);
            let _ = write!(
                text,
                "- {name}, {} users: 95 % within {:.2} ms at {:.0} a second; at most {:.0} a second",
                level.users,
                measured.paced.percentile_ms(95.0),
                level.rate(),
                measured.saturated.per_second()
            );
            if let (Some(times), Some(share)) = (level.ratio_p95(measured), level.ratio_tps(measured)) {
                let _ = write!(
                    text,
                    "; {times:.2} × the floor's p95 (bar {BAR_P95}: {}), {share:.2} × its throughput",
                    verdict(times <= BAR_P95)
                );
                if let Some(bar) = report.story.bar_tps {
                    let _ = write!(text, " (bar {bar}: {})", verdict(share >= bar));
                }
            }
            text.push_str(".\n");
        }
    }
    for sentence in report.compared().chain(report.notes.iter().cloned()) {
        let _ = writeln!(text, "- {sentence}.");
    }
    text
}

fn response_times(report: &RunReport) -> String {
    let mut text = String::from(
        "## Response times at the common arrival rate, in ms\n\n\
        | users | arrivals/s | operation | samples | average | p50 | p75 | p90 | p95 | p99 | max | p95 : floor |\n\
        |---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    each_side(report, |level, name, measured| {
        let paced = &measured.paced;
        let _ = write!(
            text,
            "| {} | {:.0} | {name} | {} | {:.3} |",
            level.users,
            level.rate(),
            paced.count(),
            paced.mean_ms()
        );
        for percent in [50.0, 75.0, 90.0, 95.0, 99.0] {
            let _ = write!(text, " {:.3} |", paced.percentile_ms(percent));
        }
        let times = level.ratio_p95(measured).map_or(String::new(), |times| format!("{times:.2}"));
        let _ = writeln!(text, " {:.3} | {times} |", paced.max_ms());
    });
    text
}

fn throughput(report: &RunReport) -> String {
    let mut text = String::from(
        "## Throughput with all desks busy\n\n\
        | users | operation | samples | per second | p50 ms | p95 ms | : floor |\n|---:|---|---:|---:|---:|---:|---:|\n",
    );
    each_side(report, |level, name, measured| {
        let saturated = &measured.saturated;
        let share = level.ratio_tps(measured).map_or(String::new(), |share| format!("{share:.2}"));
        let _ = writeln!(
            text,
            "| {} | {name} | {} | {:.0} | {:.3} | {:.3} | {share} |",
            level.users,
            saturated.count(),
            saturated.per_second(),
            saturated.percentile_ms(50.0),
            saturated.percentile_ms(95.0)
        );
    });
    text
}

fn errors(report: &RunReport) -> String {
    let mut text = String::from("## Errors\n\n");
    let all: u64 = report.levels.iter().flat_map(|level| &level.operations).map(|(_, m)| m.failures()).sum();
    if all == 0 {
        text.push_str("None.\n");
    }
    for level in &report.levels {
        for (name, measured) in level.operations.iter().filter(|(_, m)| m.failures() > 0) {
            let calls = measured.paced.count() + measured.saturated.count() + measured.failures();
            let failures = measured.failures();
            let _ = writeln!(text, "- {}, {} users: {failures} of {calls} calls.", spoken(name), level.users);
        }
    }
    for (what, failure) in report.failure_texts() {
        let _ = writeln!(text, "- {what}: `{}`", failure.replace('`', "'"));
    }
    text
}

fn runs(report: &RunReport) -> String {
    let timing = &report.timing;
    let pace = match timing.pace {
        Pace::ShareOfCapacity(share) => {
            format!("{:.0} % of what the slowest side did when saturated with as many desks", share * 100.0)
        }
        Pace::PerSecond(rate) => format!("{rate} a second"),
    };
    let names = report.levels.first().map(|level| &level.operations).into_iter().flatten();
    let order: String = names.map(|(name, _)| name.replace('_', "-") + ", ").collect();
    format!(
        "## Test runs\n\n- Users: {:?}; rounds: {}.\n- Each round and level: floor, {order}\
        first saturated ({:.1} s each side), then paced ({:.1} s each side).\n- Arrival rate: {pace}; evenly spaced, the \
        same for all sides.\n",
        timing.levels,
        timing.rounds,
        timing.saturated.as_secs_f64(),
        timing.paced.as_secs_f64()
    )
}

fn data(report: &RunReport) -> String {
    let fate = match report.left_behind() {
        Some(warning) => warning,
        None => "as many items available, loans and requests open after the run as before it".into(),
    };
    format!(
        "## Data\n\n- Before: {}.\n- Check after the run: {fate}.\n- The floor's tables had as many items and users.\n",
        report.before
    )
}

fn each_side<'a>(report: &'a RunReport, mut row: impl FnMut(&'a RunLevel, &str, &'a Measured)) {
    for level in &report.levels {
        if let Some(floor) = &level.floor {
            row(level, "floor", floor);
        }
        for (name, measured) in &level.operations {
            row(level, &spoken(name).to_lowercase(), measured);
        }
    }
}
