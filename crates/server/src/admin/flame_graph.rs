//! A flame graph of this node: the functions in which processor time was spent during the request.
//!
//! Ninety-nine samples are taken for each second of processor time, and only during such a request.

use carrel_platform::{Answer, Call};
use carrel_records::Failure;
use http::StatusCode;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use tokio::sync::Mutex;

/// Samples per second; chosen so that samples do not coincide with periodic work.
const SAMPLES_A_SECOND: i32 = 99;
/// There is one sampler for the whole process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// Width and height of the picture, in pixels.
const WIDTH: f64 = 1200.0;
const LEVEL: usize = 18;
/// Narrower boxes are omitted.
const NARROWEST: f64 = 0.4;

pub async fn draw(call: Call) -> Result<Answer, Failure> {
    // Bounds the time for which one caller occupies the sampler.
    let seconds = match call.query.number("seconds", 0, 1, 60)? {
        0 => return Err(Failure::Invalid("Give the duration of sampling: ?seconds=5".into())),
        seconds => seconds,
    };
    let Ok(_alone) = ONE_AT_A_TIME.try_lock() else {
        return Err(Failure::TooMany("A flame graph is being taken. Try again in a moment.".into()));
    };
    let failed = |error: pprof::Error| Failure::Internal {
        context: "taking samples of the processor's time".into(),
        cause: Some(error.into()),
    };
    let guard = pprof::ProfilerGuardBuilder::default().frequency(SAMPLES_A_SECOND).build().map_err(failed)?;
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    // Reading the functions' names reads the program's file.
    let root = tokio::task::spawn_blocking(move || {
        let report = guard.report().build()?;
        let mut root = Flame::default();
        for (frames, count) in &report.data {
            let names = frames.frames.iter().rev().flat_map(|frame| frame.iter().rev());
            let stack = names.map(|symbol| without_hash(&symbol.name()).to_owned());
            add(&mut root, std::iter::once(frames.thread_name.clone()).chain(stack), (*count).max(0) as u64);
        }
        Ok(root)
    })
    .await
    .map_err(|error| Failure::internal(format!("drawing a flame graph: {error}")))?
    .map_err(failed)?;
    let mut answer = Answer::text(StatusCode::OK, picture(&root, seconds as u64));
    answer.content_type = "image/svg+xml";
    Ok(answer)
}

/// A function below its callers.
#[derive(Default)]
struct Flame {
    samples: u64,
    called: BTreeMap<String, Flame>,
}

impl Flame {
    fn levels(&self) -> usize {
        1 + self.called.values().map(Flame::levels).max().unwrap_or(0)
    }
}

fn add(root: &mut Flame, stack: impl Iterator<Item = String>, samples: u64) {
    root.samples += samples;
    let mut place = root;
    for name in stack {
        place = place.called.entry(name).or_default();
        place.samples += samples;
    }
}

/// `carrel::serve::h0123456789abcdef` without its hash.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => name,
    }
}

fn picture(root: &Flame, seconds: u64) -> String {
    let height = root.levels() * LEVEL + 40;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"11\">\
         <text x=\"4\" y=\"16\">{} samples of {seconds} seconds; wider is longer, callers stand below what they call</text>",
        root.samples
    );
    if root.samples > 0 {
        level(&mut text, "all", root, 0.0, height - LEVEL, WIDTH / root.samples as f64);
    }
    text.push_str("</svg>");
    text
}

fn level(text: &mut String, name: &str, what: &Flame, x: f64, y: usize, scale: f64) {
    let width = what.samples as f64 * scale;
    if width < NARROWEST {
        return;
    }
    let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // Warm colors; a function always has the same one.
    let color = name.bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let _ = write!(
        text,
        "<g><title>{name}: {} samples</title><rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" fill=\"hsl({} 80% 70%)\"/>",
        what.samples,
        LEVEL - 1,
        color % 50
    );
    let letters = (width / 6.7) as usize;
    if letters > 3 {
        // The end of a path is more informative than its beginning.
        let plain = what_fits(&name, letters);
        let _ = write!(text, "<text x=\"{:.1}\" y=\"{}\">{plain}</text>", x + 2.0, y + 13);
    }
    text.push_str("</g>");
    let mut x = x;
    for (name, called) in &what.called {
        level(text, name, called, x, y.saturating_sub(LEVEL), scale);
        x += called.samples as f64 * scale;
    }
}

fn what_fits(name: &str, letters: usize) -> String {
    let all = name.chars().count();
    if all <= letters || name.contains('&') {
        return if all <= letters { name.to_owned() } else { String::new() };
    }
    let rest: String = name.chars().skip(all - (letters - 1)).collect();
    format!("…{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(names: &str) -> impl Iterator<Item = String> {
        names.split(' ').map(str::to_owned)
    }

    #[test]
    fn a_callers_box_is_as_wide_as_what_it_calls() {
        let mut root = Flame::default();
        add(&mut root, stack("desk check_out facts"), 3);
        add(&mut root, stack("desk check_out apply"), 1);
        add(&mut root, stack("desk Vec<u8>"), 4);
        let drawn = picture(&root, 5);
        for part in [
            "8 samples of 5 seconds",
            "<title>check_out: 4 samples</title><rect x=\"600.0\"",
            "width=\"450.0\"",
            "Vec&lt;u8&gt;",
        ] {
            assert!(drawn.contains(part), "{part} is missing in {drawn}");
        }
        assert_eq!(drawn.matches("<g>").count(), drawn.matches("</g>").count());
    }

    #[test]
    fn a_picture_of_nothing_is_a_picture() {
        assert!(picture(&Flame::default(), 1).ends_with("</svg>"));
    }

    #[test]
    fn what_tells_functions_of_one_name_apart_is_left_out() {
        assert_eq!(without_hash("a::b::h0123456789abcdef"), "a::b");
        assert_eq!(without_hash("a::hello"), "a::hello");
    }
}
