//! Server-sent events: an answer that stays open and sends the newest value whenever it changes.

use crate::http::{Answer, Rest};
use bytes::Bytes;
use http::header;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Duration of an answer, and its longest silence.
struct Times {
    /// A comment is sent after this silence, so that proxies keep the connection and a lost one is noticed.
    heartbeat: Duration,
    /// An answer ends after this time; browsers connect again, and are authorized again.
    max_duration: Duration,
}

const TIMES: Times = Times { heartbeat: Duration::from_secs(15), max_duration: Duration::from_secs(600) };
/// A client that reads nothing for this long is disconnected.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Milliseconds after which browsers connect again.
const OPENING: &[u8] = b"retry: 3000\n\n";

/// Whether the node stops, for answers that would otherwise delay it.
pub(super) struct Stopping(pub watch::Sender<bool>);

impl Default for Stopping {
    fn default() -> Stopping {
        Stopping(watch::Sender::new(false))
    }
}

/// An answer that sends the value now and after each change, as events of this name. Values are one line each; if
/// values change faster than the client reads, intermediate ones are skipped. `guard` is dropped when the answer ends.
pub fn event_stream<G: Send + 'static>(
    node: &crate::Node,
    event: &'static str,
    values: watch::Receiver<Arc<str>>,
    guard: G,
) -> Answer {
    let (sender, receiver) = mpsc::channel(1);
    let stopping = node.state.of::<Stopping>().0.subscribe();
    tokio::spawn(async move {
        send_all(event, values, stopping, sender, &TIMES).await;
        drop(guard);
    });
    let mut answer = Answer::json_bytes(OPENING.to_vec());
    answer.content_type = "text/event-stream";
    answer.header(header::CACHE_CONTROL, "no-store").followed_by(Rest::of(receiver))
}

type Chunks = mpsc::Sender<Result<Bytes, std::io::Error>>;

async fn send_all(
    event: &str,
    mut values: watch::Receiver<Arc<str>>,
    mut stopping: watch::Receiver<bool>,
    sender: Chunks,
    times: &Times,
) {
    let end = Instant::now() + times.max_duration;
    values.mark_changed();
    loop {
        let chunk = tokio::select! {
            changed = values.changed() => match changed {
                Err(_) => return,
                Ok(()) => {
                    let value = Arc::clone(&values.borrow_and_update());
                    if value.is_empty() { continue }
                    Bytes::from(format!("event: {event}\ndata: {value}\n\n"))
                }
            },
            () = sleep(times.heartbeat) => Bytes::from_static(b":\n\n"),
            () = sleep_until(end) => return,
            () = sender.closed() => return,
            _ = stopping.wait_for(|stops| *stops) => return,
        };
        if !matches!(timeout(SEND_TIMEOUT, sender.send(Ok(chunk))).await, Ok(Ok(()))) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASTE: Times =
        Times { heartbeat: Duration::from_millis(20), max_duration: Duration::from_millis(200) };

    async fn next(receiver: &mut mpsc::Receiver<Result<Bytes, std::io::Error>>) -> String {
        let chunk = receiver.recv().await.expect("the stream goes on").expect("no error");
        String::from_utf8_lossy(&chunk).into_owned()
    }

    #[tokio::test]
    async fn the_newest_value_is_sent_at_once_and_when_it_changes_until_the_node_stops() {
        let values = watch::Sender::new(Arc::from("1"));
        let (stop, stopping) = watch::channel(false);
        let (sender, mut receiver) = mpsc::channel(1);
        let following = values.subscribe();
        tokio::spawn(async move { send_all("figures", following, stopping, sender, &TIMES).await });
        assert_eq!(next(&mut receiver).await, "event: figures\ndata: 1\n\n");
        values.send_replace(Arc::from("2"));
        assert_eq!(next(&mut receiver).await, "event: figures\ndata: 2\n\n");
        stop.send_replace(true);
        assert!(receiver.recv().await.is_none());
    }

    #[tokio::test]
    async fn comments_are_sent_during_silence_and_the_answer_ends_in_time() {
        let values = watch::Sender::new(Arc::from(""));
        let (_stop, stopping) = watch::channel(false);
        let (sender, mut receiver) = mpsc::channel(1);
        let following = values.subscribe();
        tokio::spawn(async move { send_all("figures", following, stopping, sender, &HASTE).await });
        assert_eq!(next(&mut receiver).await, ":\n\n");
        while receiver.recv().await.is_some() {}
    }

    #[tokio::test]
    async fn the_answer_ends_when_the_client_disconnects() {
        let values = watch::Sender::new(Arc::from("1"));
        let (_stop, stopping) = watch::channel(false);
        let (sender, receiver) = mpsc::channel(1);
        drop(receiver);
        send_all("figures", values.subscribe(), stopping, sender, &TIMES).await;
    }
}
