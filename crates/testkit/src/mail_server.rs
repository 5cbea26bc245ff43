//! A mail server for tests: it implements SMTP on a free port and stores the mails that it accepts.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A mail that the server has accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Mail {
    /// Recipients of the envelope.
    pub to: Vec<String>,
    /// Headers and body, as they were sent.
    pub text: String,
}

/// Serves until it is dropped.
pub struct MailServer {
    pub address: SocketAddr,
    mails: Arc<Mutex<Vec<Mail>>>,
    /// Number of mails that are still refused temporarily (451).
    refusals: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl MailServer {
    pub async fn start() -> MailServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (mails, refusals) = (Arc::<Mutex<Vec<Mail>>>::default(), Arc::<Mutex<usize>>::default());
        let (taken, refused) = (Arc::clone(&mails), Arc::clone(&refusals));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (taken, refused) = (Arc::clone(&taken), Arc::clone(&refused));
                tokio::spawn(async move {
                    // A client that disconnects ends its session.
                    let _ = session(stream, &taken, &refused).await;
                });
            }
        });
        MailServer { address, mails, refusals, task }
    }

    /// The mails accepted so far.
    pub fn mails(&self) -> Vec<Mail> {
        self.mails.lock().expect("no holder of this lock panics").clone()
    }

    /// How many mails the server has taken so far.
    pub fn count(&self) -> usize {
        self.mails.lock().expect("no holder of this lock panics").len()
    }

    /// Refuses the next mails temporarily, like a busy server.
    pub fn refuse_next(&self, mails: usize) {
        *self.refusals.lock().expect("no holder of this lock panics") = mails;
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn session(
    stream: TcpStream,
    mails: &Mutex<Vec<Mail>>,
    refusals: &Mutex<usize>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 test\r\n").await?;
    let (mut to, mut line) = (Vec::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let command = line.trim().to_uppercase();
        let answer: &[u8] = if command.starts_with("EHLO") || command.starts_with("HELO") {
            b"250-test\r\n250 8BITMIME\r\n"
        } else if command.starts_with("RCPT TO:") {
            to.push(line.trim()[8..].trim().trim_matches(['<', '>']).to_owned());
            b"250 ok\r\n"
        } else if command == "DATA" {
            stream.write_all(b"354 go on\r\n").await?;
            let text = data(&mut stream).await?;
            let refused = {
                let mut left = refusals.lock().expect("no holder of this lock panics");
                let refused = *left > 0;
                *left -= usize::from(refused);
                refused
            };
            let to = std::mem::take(&mut to);
            if refused {
                b"451 try again later\r\n"
            } else {
                mails.lock().expect("no holder of this lock panics").push(Mail { to, text });
                b"250 taken\r\n"
            }
        } else if command == "QUIT" {
            stream.write_all(b"221 bye\r\n").await?;
            return Ok(());
        } else {
            b"250 ok\r\n"
        };
        stream.write_all(answer).await?;
    }
}

/// The mail up to the line that ends it.
async fn data(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let (mut text, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 || line == ".\r\n" {
            return Ok(text);
        }
        text.push_str(line.strip_prefix('.').unwrap_or(&line));
    }
}
