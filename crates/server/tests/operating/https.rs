//! HTTPS with the operator's certificate, which is renewed on disk while the server runs.

use crate::program::{ADMIN, PASSWORD, TENANT, carrel_output, carrel_refused, library_data, serve};
use carrel_testkit::{Program, Scratch};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

/// For effects that take seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Writes a self-signed certificate and its key; returns their files.
fn make_certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate can be made");
    let (certificate, key) = (folder.join("server.crt"), folder.join("server.key"));
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a key can be written");
    std::fs::write(&certificate, made.cert.pem()).expect("a certificate can be written");
    (certificate, key)
}

/// A server with a certificate in its folder.
fn served_with_certificate(name: &str) -> (Scratch, PathBuf, Program) {
    let data = library_data(name);
    let (certificate, key) = make_certificate(&data.folder);
    let [folder, shown, secret] = [&data.folder, &certificate, &key].map(|path| path.to_string_lossy());
    let program =
        serve(&data.folder, &["--data", &folder, "--tls-certificate", &shown, "--tls-key", &secret]);
    (data, certificate, program)
}

/// Calls by HTTPS, trusting only the certificates in the file; returns the whole answer with its head.
async fn call(address: SocketAddr, trusted: &Path, request: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(trusted).expect("a certificate")).expect("it can be trusted");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS has versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let host = ServerName::try_from("localhost").expect("a name");
    let mut stream = TlsConnector::from(Arc::new(config)).connect(host, stream).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_answers_by_https_and_marks_its_cookies_secure() {
    let (_data, certificate, program) = served_with_certificate("https");
    assert!(program.log_text().contains("listening on https://"), "{}", program.log_text());

    let health = call(program.address, &certificate, &get("/admin/health")).await.expect("an answer");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");

    let body = format!(r#"{{"username":"{ADMIN}","password":"{PASSWORD}"}}"#);
    let login = format!(
        "POST /authn/login-with-expiry HTTP/1.1\r\nhost: localhost\r\nx-okapi-tenant: {TENANT}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let login = call(program.address, &certificate, &login).await.expect("an answer");
    assert!(login.starts_with("HTTP/1.1 201"), "{login}");
    let cookies: Vec<&str> = login.lines().filter(|line| line.starts_with("set-cookie")).collect();
    assert!(cookies.len() == 2 && cookies.iter().all(|cookie| cookie.contains("Secure")), "{cookies:?}");

    let plain = carrel_testkit::Client::new(program.address).get("/admin/health").await;
    assert_eq!(plain.status, 400, "plain HTTP is answered with the reason");
    assert!(plain.text().contains("HTTPS"), "{}", plain.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_loaded_without_a_restart_and_a_broken_one_is_not() {
    let (data, certificate, mut program) = served_with_certificate("renewed");
    let old = data.folder.join("old.crt");
    std::fs::copy(&certificate, &old).expect("a file can be copied");

    std::fs::write(&certificate, "half a certif").expect("a file can be written");
    program.wait_until("it has looked at the files", PATIENCE, |program| {
        program.log_text().contains("the certificate is not reloaded")
    });
    call(program.address, &old, &get("/admin/health")).await.expect("the certificate at hand goes on");

    make_certificate(&data.folder);
    let renewed = Instant::now();
    while call(program.address, &certificate, &get("/admin/health")).await.is_err() {
        assert!(renewed.elapsed() < PATIENCE, "it is not taken:\n{}", program.log_text());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(call(program.address, &old, &get("/")).await.is_err(), "the old one is not shown any more");
}

#[test]
fn config_check_reports_errors_of_a_certificate() {
    let scratch = Scratch::named("checked");
    std::fs::create_dir_all(&scratch.folder).expect("a folder can be made");
    let (certificate, key) = make_certificate(&scratch.folder);
    let file = scratch.folder.join("carrel.toml");
    let write = |key: &Path| {
        let text = format!("tls_certificate = {certificate:?}\ntls_key = {key:?}\nport = 9443\n");
        std::fs::write(&file, text).expect("a file can be written");
    };
    write(&key);
    let config = file.to_string_lossy().into_owned();
    let reported = carrel_output(&["config", "check", "--config", &config]);
    assert!(reported.contains("TLS") && reported.contains("server.crt"), "{reported}");
    assert!(reported.contains("secure cookies      true"), "{reported}");

    let other = scratch.folder.join("other");
    std::fs::create_dir_all(&other).expect("a folder can be made");
    let (_, other_key) = make_certificate(&other);
    write(&other_key);
    let reported = carrel_refused(&["config", "check", "--config", &config]);
    assert!(reported.contains("server.crt") && reported.contains("other/server.key"), "{reported}");
}
