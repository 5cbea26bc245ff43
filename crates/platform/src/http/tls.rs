//! HTTPS: a certificate that may be renewed on disk while the server runs, and a listener that shakes hands.

use crate::database::{certificates_in, key_in};
use std::fs::Metadata;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::server::TlsStream;

/// How often the files are looked at.
const BETWEEN_LOOKS: Duration = Duration::from_secs(2);
/// Who takes longer to shake hands is let go.
const LONGEST_HANDSHAKE: Duration = Duration::from_secs(10);
/// Hands shaken at once; others wait to be accepted.
const MOST_HANDSHAKES: usize = 256;
/// The first byte of whoever begins to speak TLS.
const HANDSHAKE: u8 = 0x16;

/// Told to whoever speaks plain HTTP here.
const PLAIN_HTTP: &str = "This address answers by HTTPS only.";

/// A certificate with its chain and its key, read from two PEM files, and again whenever they change.
#[derive(Debug)]
pub struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<CertifiedKey>>,
}

impl Certificate {
    /// Reads both files; says what is wrong with them.
    pub fn read(certificate: &Path, key: &Path) -> Result<Certificate, String> {
        let current = RwLock::new(Arc::new(pair(certificate, key)?));
        Ok(Certificate { certificate: certificate.to_owned(), key: key.to_owned(), current })
    }

    /// Follows the files for ever; what cannot be used is reported once, and the certificate at hand goes on.
    async fn follow(&self) {
        let mut seen = self.looks();
        loop {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            let now = self.looks();
            if now == seen {
                continue;
            }
            seen = now;
            match pair(&self.certificate, &self.key) {
                Ok(renewed) => {
                    *self.current.write().expect("no holder of this lock panics") = Arc::new(renewed);
                    tracing::info!("the certificate {} was read again", self.certificate.display());
                }
                // Files that are written one after the other do not fit together for a moment.
                Err(words) => tracing::warn!("the certificate in use stays: {words}"),
            }
        }
    }

    /// What changes when a file does.
    fn looks(&self) -> [Option<(SystemTime, u64)>; 2] {
        let look = |metadata: Metadata| Some((metadata.modified().ok()?, metadata.len()));
        [&self.certificate, &self.key].map(|file| std::fs::metadata(file).ok().and_then(look))
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().expect("no holder of this lock panics")))
    }
}

fn pair(certificate: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let chain = certificates_in(certificate)?;
    let key_of_it = key_in(key)?;
    CertifiedKey::from_der(chain, key_of_it, &ring::default_provider())
        .map_err(|error| format!("{} and {}: {error}", certificate.display(), key.display()))
}

/// Accepts connections whose hands are shaken.
pub struct TlsListener {
    address: SocketAddr,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    accepting: JoinHandle<()>,
    change_listeners: JoinHandle<()>,
}

impl TlsListener {
    pub fn new(listener: TcpListener, certificate: Arc<Certificate>) -> io::Result<TlsListener> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&certificate) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let address = listener.local_addr()?;
        let (hand_over, ready) = mpsc::channel(MOST_HANDSHAKES);
        let accepting = tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), hand_over));
        let change_listeners = tokio::spawn(async move { certificate.follow().await });
        Ok(TlsListener { address, ready, accepting, change_listeners })
    }
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(ready) => ready,
            // The task that accepts does not end before this listener does.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.accepting.abort();
        self.change_listeners.abort();
    }
}

/// Shakes hands beside each other, so that nobody waits for a slow one.
async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    hand_over: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let room = Arc::new(Semaphore::new(MOST_HANDSHAKES));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Files run out, or the caller is gone already; the next one may do better.
                tracing::debug!("a connection could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (acceptor, hand_over) = (acceptor.clone(), hand_over.clone());
        tokio::spawn(async move {
            let _place = place;
            // Answers leave at once: waiting to fill packets would add 40 ms to each call.
            let _ = stream.set_nodelay(true);
            match tokio::time::timeout(LONGEST_HANDSHAKE, shake_hands(stream, acceptor)).await {
                Ok(Ok(Some(stream))) => {
                    let _ = hand_over.send((stream, peer)).await;
                }
                Ok(Ok(None)) | Err(_) => {}
                Ok(Err(error)) => tracing::debug!("no TLS with {peer}: {error}"),
            }
        });
    }
}

async fn shake_hands(
    mut stream: TcpStream,
    acceptor: TlsAcceptor,
) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] == HANDSHAKE {
        return acceptor.accept(stream).await.map(Some);
    }
    if first[0].is_ascii_uppercase() {
        let answer = format!(
            "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{PLAIN_HTTP}",
            PLAIN_HTTP.len()
        );
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        // What is left unread would make the system take the answer back.
        let mut rest = [0; 1024];
        while tokio::io::AsyncReadExt::read(&mut stream, &mut rest).await? > 0 {}
    }
    Ok(None)
}
