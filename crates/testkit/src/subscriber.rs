//! A module that subscribes to events, on a separate port.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A call that it received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub path: String,
    pub body: String,
}

/// Records the calls that it receives, and answers with a configurable status.
pub struct Subscriber {
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    callbacks: Mutex<Vec<Callback>>,
    count: AtomicUsize,
    status: AtomicU16,
    /// Bodies are counted but not stored.
    counts: bool,
}

impl Subscriber {
    pub async fn start() -> Subscriber {
        Subscriber::serving(false).await
    }

    /// A subscriber for very many events: it counts them and stores none.
    pub async fn counting() -> Subscriber {
        Subscriber::serving(true).await
    }

    async fn serving(counts: bool) -> Subscriber {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(State {
            callbacks: Mutex::default(),
            count: AtomicUsize::new(0),
            status: AtomicU16::new(204),
            counts,
        });
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Subscriber { address, state }
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers with this status from now on.
    pub fn answer(&self, status: u16) {
        self.state.status.store(status, SeqCst);
    }

    /// The calls that it answered with a status of success, in order.
    pub fn accepted(&self) -> Vec<Callback> {
        self.state.callbacks.lock().expect("no holder of this lock panics").clone()
    }

    /// Calls so far, including those that it answered with an error.
    pub fn count(&self) -> usize {
        self.state.count.load(SeqCst)
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            match stream.read_line(&mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) if line == "\r\n" => break,
                Ok(_) => head.push(line),
            }
        }
        let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        let length = head.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        if stream.read_exact(&mut body).await.is_err() {
            return;
        }
        let status = state.status.load(SeqCst);
        state.count.fetch_add(1, SeqCst);
        if status < 300 && !state.counts {
            let body = String::from_utf8_lossy(&body).into_owned();
            state.callbacks.lock().expect("no holder of this lock panics").push(Callback { path, body });
        }
        let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}
