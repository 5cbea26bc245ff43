//! The lab's calls by HTTPS.

use carrel_lab::{Address, Connection};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A server with a certificate for `localhost`, which it signed itself; its port and the certificate's file.
async fn serve() -> (u16, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let file = std::env::temp_dir().join(format!("carrel-lab-https-{port}.pem"));
    std::fs::write(&file, made.cert.pem()).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { return };
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let answer = service_fn(|request: Request<Incoming>| async move {
                    let text = Bytes::from(request.uri().path().to_owned());
                    Ok::<_, Infallible>(Response::new(Full::new(text)))
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), answer)
                    .await;
            });
        }
    });
    (port, file)
}

async fn call(address: Address) -> Result<Bytes, String> {
    let answer = Connection::new(address).call(Method::GET, "/hello", &HeaderMap::new(), Bytes::new()).await;
    answer.map(|answer| answer.body).map_err(|failed| failed.to_string())
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_called_by_https() {
    let (port, file) = serve().await;
    let address = Address::parse(&format!("localhost:{port}")).unwrap().trusting(&file).unwrap();
    assert_eq!(address.to_string(), format!("https://localhost:{port}"));
    assert_eq!(call(address).await.unwrap(), "/hello");
    std::fs::remove_file(file).unwrap();
}

#[tokio::test]
async fn a_certificate_of_a_stranger_or_for_another_host_is_refused() {
    let ((port, file), (_, other)) = (serve().await, serve().await);
    for (host, trusted) in [("localhost", &other), ("127.0.0.1", &file)] {
        let address = Address::parse(&format!("{host}:{port}")).unwrap().trusting(trusted).unwrap();
        let refused = call(address).await.expect_err("the certificate is not trusted");
        assert!(refused.contains("encrypting the connection"), "{refused}");
    }
    [file, other].iter().for_each(|file| std::fs::remove_file(file).unwrap());
}
