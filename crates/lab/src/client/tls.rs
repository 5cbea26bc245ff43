//! HTTPS to a server: which certificates are trusted, and the handshake.

use crate::error::{Context, LabError, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Where Linux distributions keep the certificates that the machine trusts.
const SYSTEM_FILES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// Opens encrypted connections to one host.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl Tls {
    /// Trusts the certificates in the file that `SSL_CERT_FILE` names, else those that the machine trusts.
    pub fn to(host: &str) -> Result<Tls> {
        let named = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from);
        let system = || SYSTEM_FILES.iter().map(PathBuf::from).find(|file| file.is_file());
        let file = named.or_else(system).ok_or_else(|| {
            LabError::new("this machine has no list of trusted certificates; name a file in SSL_CERT_FILE")
        })?;
        Tls::trusting(&file, host)
    }

    /// Trusts the certificates in a PEM file.
    pub fn trusting(file: &Path, host: &str) -> Result<Tls> {
        let reading = || format!("reading certificates in {}", file.display());
        let certificates: Vec<_> = CertificateDer::pem_file_iter(file)
            .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
            .context(reading())?;
        let mut roots = RootCertStore::empty();
        // A system's list may contain some that rustls does not accept.
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err(LabError::new(format!("{} holds no certificate that can be used", file.display())));
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .context("choosing versions of TLS")?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let host = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
            .context(format!("reading the host name {host}"))?;
        Ok(Tls { connector: TlsConnector::from(Arc::new(config)), host })
    }

    /// Shakes hands over an open connection.
    pub async fn encrypt(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>> {
        self.connector.connect(self.host.clone(), stream).await.context("encrypting the connection")
    }
}
