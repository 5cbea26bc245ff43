//! TLS to PostgreSQL by rustls, with libpq's meaning of `sslmode` and `sslrootcert`.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as ClientStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Where Linux distributions keep the root certificates of the machine (`sslrootcert=system`).
const SYSTEM_ROOT_FILES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// Which certificates of a server are accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Any: encrypted, but not authenticated.
    #[default]
    AnyCertificate,
    /// Signed by one of the certificates in the file, for any host.
    SignedBy(String),
    /// The same, and issued for the host of the address.
    SignedByFor(String),
}

/// Opens encrypted connections.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// `own` are the files of this program's certificate and key.
    pub(crate) fn new(trust: &Trust, own: Option<(&str, &str)>) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let read = |file| Roots::read(file).map_err(|words| format!("sslrootcert: {words}"));
        let (roots, for_the_host) = match trust {
            Trust::AnyCertificate => (None, false),
            Trust::SignedBy(file) => (Some(read(file)?), false),
            Trust::SignedByFor(file) => (Some(read(file)?), true),
        };
        let judge = CertificateVerifier {
            roots,
            for_the_host,
            algorithms: provider.signature_verification_algorithms,
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(judge));
        let config = match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(certificates_in(Path::new(certificate))?, key_in(Path::new(key))?)
                .map_err(|error| format!("{certificate}: {error}"))?,
        };
        Ok(Tls { config: Arc::new(config) })
    }
}

/// TLS to servers of other protocols, whose certificate must be signed by one of those in the PEM file (`system`: by one
/// that the machine trusts), and be issued for their host.
pub fn verifying_client(certificates: &str) -> Result<Arc<ClientConfig>, String> {
    let tls = Tls::new(&Trust::SignedByFor(certificates.to_owned()), None);
    let without_setting = |words: String| words.trim_start_matches("sslrootcert: ").to_owned();
    Ok(tls.map_err(without_setting)?.config)
}

/// The certificates of a PEM file, at least one.
pub fn certificates_in(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match all {
        Ok(all) if all.is_empty() => Err(format!("{} holds no certificate", file.display())),
        Ok(all) => Ok(all),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

/// The private key of a PEM file.
pub fn key_in(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(file).map_err(|error| format!("{}: {error}", file.display()))
}

#[derive(Debug)]
struct Roots {
    store: RootCertStore,
    /// Roots that a server may also present as its own self-signed certificate.
    shown: Vec<CertificateDer<'static>>,
}

impl Roots {
    fn read(file: &str) -> Result<Roots, String> {
        let file = match file {
            "system" => SYSTEM_ROOT_FILES
                .iter()
                .find(|file| Path::new(file).is_file())
                .ok_or("this machine has no list of certificates that it trusts")?,
            file => file,
        };
        let shown = certificates_in(Path::new(file))?;
        let mut store = RootCertStore::empty();
        // A system's list may contain some that rustls does not accept.
        if store.add_parsable_certificates(shown.iter().cloned()).0 == 0 {
            return Err(format!("{file} holds no certificate that can be used"));
        }
        Ok(Roots { store, shown })
    }
}

/// Verifies a server's certificate according to `sslmode`.
#[derive(Debug)]
struct CertificateVerifier {
    roots: Option<Roots>,
    for_the_host: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl CertificateVerifier {
    /// Verifies a signature only if certificates are checked at all.
    fn unless_any_certificate(
        &self,
        verify: impl FnOnce(&WebPkiSupportedAlgorithms) -> Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        match self.roots {
            None => Ok(HandshakeSignatureValid::assertion()),
            Some(_) => verify(&self.algorithms),
        }
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(roots) = &self.roots else { return Ok(ServerCertVerified::assertion()) };
        let certificate = ParsedCertificate::try_from(shown)?;
        if !roots.shown.iter().any(|root| root.as_ref() == shown.as_ref()) {
            let algorithms = self.algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, &roots.store, others, now, algorithms)?;
        }
        if self.for_the_host {
            verify_server_name(&certificate, host)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.unless_any_certificate(|algorithms| {
            verify_tls12_signature(message, certificate, signed, algorithms)
        })
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.unless_any_certificate(|algorithms| {
            verify_tls13_signature(message, certificate, signed, algorithms)
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connect, io::Error> {
        // A Unix socket has no host, and is never encrypted.
        let host = ServerName::try_from(if host.is_empty() { "localhost" } else { host })
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("'{host}' is not a host name")))?
            .to_owned();
        Ok(Connect { connector: TlsConnector::from(Arc::clone(&self.config)), host })
    }
}

/// A connection that is being opened.
pub struct Connect {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connect {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { self.connector.connect(self.host, stream).await.map(Encrypted) })
    }
}

/// An encrypted connection.
pub struct Encrypted<S>(ClientStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
