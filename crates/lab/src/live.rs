//! `lab play --live`: a page that shows a run while it goes on: rate, percentiles, errors, processor time, connections.
//!
//! It is drawn by the server and reloads itself every second. A thread of its own answers, one reader after the other, so
//! that a reader does not delay the generator; it listens on this machine only.

use crate::error::{Context, Result};
use crate::report::{Plot, escaped};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Seconds that the plots go back.
const SHOWN: usize = 600;
/// A request is not longer, in bytes.
const LONGEST_REQUEST: usize = 8192;
/// A reader that takes longer is hung up on.
const PATIENCE: Duration = Duration::from_secs(2);

/// One second of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LiveSecond {
    /// Seconds since the level began.
    pub at: f64,
    /// Turns that succeeded.
    pub good: u64,
    /// Turns that failed.
    pub failed: u64,
    /// Percentiles of their times in milliseconds.
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    /// Turns that have begun and not ended.
    pub under_way: u64,
    /// Processor time of the watched processes, in percent of one core.
    pub cpu: f64,
    /// Connections to the database.
    pub connections: u64,
}

#[derive(Default)]
struct Shown {
    /// Workload and level.
    title: String,
    seconds: Vec<LiveSecond>,
}

/// The page. It can be read as long as the value exists.
pub struct LivePage {
    shown: Arc<Mutex<Shown>>,
    address: SocketAddr,
}

impl LivePage {
    /// Opens the page on a port of this machine; 0 takes a free one.
    pub fn open(port: u16) -> Result<LivePage> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .context(format!("opening the live page on port {port}"))?;
        let address = listener.local_addr().context("opening the live page")?;
        let shown = Arc::new(Mutex::new(Shown::default()));
        let state = Arc::downgrade(&shown);
        let answer = move || {
            for reader in listener.incoming() {
                let Some(shown) = state.upgrade() else { return };
                let html = page(&shown.lock().expect("drawing does not panic"));
                if let Ok(reader) = reader {
                    // A reader who hangs up misses the page, and nobody else does.
                    let _ = reply(reader, &html);
                }
            }
        };
        std::thread::Builder::new()
            .name("lab-live".into())
            .spawn(answer)
            .context("starting the live page")?;
        Ok(LivePage { shown, address })
    }

    /// Where it can be read.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Begins a level.
    pub fn begin(&self, title: String) {
        *self.shown.lock().expect("drawing does not panic") = Shown { title, seconds: Vec::new() };
    }

    /// Adds a second.
    pub fn add(&self, second: LiveSecond) {
        let seconds = &mut self.shown.lock().expect("drawing does not panic").seconds;
        if seconds.len() == SHOWN {
            seconds.remove(0);
        }
        seconds.push(second);
    }
}

fn reply(mut reader: TcpStream, html: &str) -> std::io::Result<()> {
    reader.set_read_timeout(Some(PATIENCE))?;
    reader.set_write_timeout(Some(PATIENCE))?;
    let (mut request, mut chunk) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        match reader.read(&mut chunk)? {
            0 => return Ok(()),
            read => request.extend_from_slice(&chunk[..read]),
        }
    }
    let (status, body) = match request.starts_with(b"GET / ") {
        true => ("200 OK", html),
        false => ("404 Not Found", "Not found"),
    };
    write!(
        reader,
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         cache-control: no-store\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn page(shown: &Shown) -> String {
    let title = escaped(&shown.title);
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"1\">\
         <title>{title}</title><style>body{{font-family:system-ui,sans-serif;margin:1.5rem}}\
         td,th{{padding:.2rem 1rem .2rem 0;text-align:right}}</style><h1>{title}</h1>"
    );
    let Some(last) = shown.seconds.last() else { return html + "<p>No turn has ended yet.</p></html>" };
    let _ = write!(
        html,
        "<table><tr><th>second</th><th>turns a second</th><th>failed</th><th>p50 ms</th><th>p95 ms</th><th>p99 ms</th>\
         <th>under way</th><th>CPU %</th><th>connections</th></tr><tr><td>{:.0}</td><td>{}</td><td>{}</td><td>{:.1}</td>\
         <td>{:.1}</td><td>{:.1}</td><td>{}</td><td>{:.0}</td><td>{}</td></tr></table>",
        last.at,
        last.good,
        last.failed,
        last.p50_ms,
        last.p95_ms,
        last.p99_ms,
        last.under_way,
        last.cpu,
        last.connections
    );
    type Value = fn(&LiveSecond) -> f64;
    let plots: [(&str, &[(&str, Value)]); 4] = [
        ("Turns a second", &[("succeeded", |s| s.good as f64), ("failed", |s| s.failed as f64)]),
        ("Milliseconds", &[("p50", |s| s.p50_ms), ("p95", |s| s.p95_ms), ("p99", |s| s.p99_ms)]),
        ("Processor time, percent of one core", &[("all", |s| s.cpu)]),
        ("Under way", &[("connections", |s| s.connections as f64), ("turns", |s| s.under_way as f64)]),
    ];
    for (title, lines) in plots {
        let lines = lines
            .iter()
            .map(|(name, value)| {
                (name.to_string(), shown.seconds.iter().map(|second| (second.at, value(second))).collect())
            })
            .collect();
        html.push_str(&Plot { title: title.into(), x: "seconds".into(), lines }.svg());
    }
    html + "</html>"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(page: &LivePage, path: &str) -> String {
        let mut stream = TcpStream::connect(page.address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_page_shows_the_last_second_of_the_level() {
        let page = LivePage::open(0).unwrap();
        page.begin("holds <5 users>".into());
        assert!(read(&page, "/").contains("No turn has ended yet"));
        page.add(LiveSecond {
            at: 1.0,
            good: 1234,
            failed: 7,
            p95_ms: 45.6,
            cpu: 150.0,
            ..LiveSecond::default()
        });
        let shown = read(&page, "/");
        assert!(shown.starts_with("HTTP/1.1 200 OK") && shown.contains("holds &lt;5 users&gt;"), "{shown}");
        for figure in ["<td>1234</td>", "<td>7</td>", "<td>45.6</td>", "<td>150</td>", "<svg"] {
            assert!(shown.contains(figure), "{figure}: {shown}");
        }
        assert!(read(&page, "/other").starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn a_reader_who_says_nothing_does_not_keep_the_next_one_waiting_for_long() {
        let page = LivePage::open(0).unwrap();
        let _silent = TcpStream::connect(page.address).unwrap();
        assert!(read(&page, "/").contains("200 OK"));
    }
}
