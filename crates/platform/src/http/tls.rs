//! HTTPS: a certificate that may be renewed on disk while the server runs, and the TLS handshake.

use crate::database::{certificates_in, key_in};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::server::TlsStream;

/// The interval of checks whether the files have changed.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);
/// The time for a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first byte of a TLS connection.
const HANDSHAKE: u8 = 0x16;

/// The answer to plain HTTP.
const PLAIN_HTTP: &str = "This address answers by HTTPS only.";

/// A certificate with its chain and its key, read from two PEM files, and again whenever they change.
#[derive(Debug)]
pub struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<CertifiedKey>>,
    /// The state of both files before they were first read.
    first_seen: FileStates,
}

/// What changes when one of the two files does: its modification time and its length.
type FileStates = [Option<(SystemTime, u64)>; 2];

impl Certificate {
    /// Reads both files; the error describes what is wrong with them.
    pub fn read(certificate: &Path, key: &Path) -> Result<Certificate, String> {
        let first_seen = file_states(certificate, key);
        let current = RwLock::new(Arc::new(pair(certificate, key)?));
        Ok(Certificate { certificate: certificate.to_owned(), key: key.to_owned(), current, first_seen })
    }

    /// Reads the files whenever they change, in an endless loop. Unusable files are logged once, and the current
    /// certificate stays in use.
    pub(super) async fn reload_when_changed(&self) {
        // Changes between the first reading and the start of this task count, too.
        let mut seen = self.first_seen;
        loop {
            tokio::time::sleep(RELOAD_INTERVAL).await;
            let now = file_states(&self.certificate, &self.key);
            if now == seen {
                continue;
            }
            seen = now;
            match pair(&self.certificate, &self.key) {
                Ok(renewed) => {
                    *self.current.write().expect("no holder of this lock panics") = Arc::new(renewed);
                    tracing::info!("the certificate {} was reloaded", self.certificate.display());
                }
                // Between the writing of the two files they do not match.
                Err(words) => tracing::warn!("the certificate is not reloaded: {words}"),
            }
        }
    }
}

fn file_states(certificate: &Path, key: &Path) -> FileStates {
    let state = |metadata: Metadata| Some((metadata.modified().ok()?, metadata.len()));
    [certificate, key].map(|file| std::fs::metadata(file).ok().and_then(state))
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

/// Accepts TLS connections with the certificate, also after its renewal.
pub(super) fn acceptor(certificate: &Arc<Certificate>) -> io::Result<TlsAcceptor> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::clone(certificate) as Arc<dyn ResolvesServerCert>);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Performs the handshake within [`HANDSHAKE_TIMEOUT`]. A client that sends plain HTTP gets an explanation and no
/// stream.
pub(super) async fn handshake(
    stream: TcpStream,
    acceptor: TlsAcceptor,
) -> io::Result<Option<TlsStream<TcpStream>>> {
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, untimed_handshake(stream, acceptor)).await {
        Ok(shaken) => shaken,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn untimed_handshake(
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
        // If unread bytes remain, closing the socket resets the connection and the client loses the answer.
        let mut rest = [0; 1024];
        while tokio::io::AsyncReadExt::read(&mut stream, &mut rest).await? > 0 {}
    }
    Ok(None)
}
