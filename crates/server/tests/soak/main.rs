//! Long measurements of what must not grow and must not be slow. They take minutes, so that only
//! `cargo test -p carrel-server --test soak -- --nocapture` builds and runs them; see docs/how-to/measure.md.

mod events;
mod notices;

use std::time::Duration;

/// The number that a variable of the environment says, or `default`.
fn number_from(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Memory of this process that is resident, in MiB.
fn resident_mib() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("memory figures");
    let pages: usize = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4096 / 1024 / 1024
}

/// Waits until `count` reaches `wanted`, and fails if it stands still for a minute.
async fn reach(wanted: usize, mut count: impl FnMut() -> usize) {
    let (mut last, mut still) = (0, 0);
    loop {
        let now = count();
        if now >= wanted {
            return;
        }
        still = if now == last { still + 1 } else { 0 };
        assert!(still < 600, "stands still at {now} of {wanted}");
        last = now;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
