//! A database with TLS: the address determines encryption and trust.

use crate::program::{ADMIN, TENANT, admin_of, carrel_output, carrel_refused, serve};
use carrel_testkit::{OwnPostgres, Scratch};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// A server with a certificate for `localhost`, and the file of the authority that signed it.
fn server_with_tls(scratch: &Scratch) -> (OwnPostgres, String) {
    let authority_key = KeyPair::generate().expect("a key can be made");
    let mut authority = CertificateParams::new(Vec::new()).expect("no names are fine");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = authority.self_signed(&authority_key).expect("a certificate can be signed");
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("a key can be made");
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .and_then(|server| server.signed_by(&key, &issuer))
        .expect("a certificate can be signed");
    let mut postgres = OwnPostgres::start(&scratch.folder, "with-tls", "");
    postgres.keep("server.crt", &certificate.pem());
    postgres.keep("server.key", &key.serialize_pem());
    postgres.write("postgresql.conf", "ssl = on");
    postgres.keep("pg_hba.conf", "local all all trust\nhostssl all all 127.0.0.1/32 trust\n");
    postgres.kill();
    postgres.start_again();
    let file = scratch.folder.join("root.crt");
    std::fs::write(&file, root.pem()).expect("a file can be written");
    (postgres, file.to_string_lossy().into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_use_tls_as_the_address_requires() {
    let scratch = Scratch::named("database-tls");
    let (postgres, root) = server_with_tls(&scratch);
    let numeric = postgres.by_network("postgres");
    let named = numeric.replace("host=127.0.0.1", "host=localhost hostaddr=127.0.0.1");

    let full = format!("{named} sslmode=verify-full sslrootcert={root}");
    carrel_output(&["tenant", "create", TENANT, "--admin", ADMIN, "--database", &full]);
    let program = serve(&scratch.folder, &["--database", &full]);
    admin_of(&program).await.get("/groups").await.expect(200);
    let looker = postgres.connect("postgres").await;
    let row = looker
        .query_one(
            "SELECT count(*) FILTER (WHERE ssl), count(*) FILTER (WHERE NOT ssl)
             FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'carrel%'",
            &[],
        )
        .await
        .expect("connections can be listed");
    let (encrypted, plain): (i64, i64) = (row.get(0), row.get(1));
    assert!(encrypted >= 2 && plain == 0, "{encrypted} connections are encrypted, {plain} are not");

    let url = format!(
        "postgresql://carrel@127.0.0.1:{}/postgres?sslmode=verify-ca&sslrootcert={root}",
        postgres.port
    );
    for address in [url, format!("{numeric} sslmode=require"), numeric.clone()] {
        let reported = carrel_output(&["tenant", "list", "--database", &address]);
        assert!(reported.starts_with(TENANT), "{address}: {reported}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_the_wrong_certificate_is_refused_with_the_reason() {
    let scratch = Scratch::named("database-mistrusted");
    let (postgres, root) = server_with_tls(&scratch);
    let address = postgres.by_network("postgres");
    let other = rcgen::generate_simple_self_signed(vec!["elsewhere".to_owned()]).expect("made");
    let other_root = scratch.folder.join("other.crt");
    std::fs::write(&other_root, other.cert.pem()).expect("a file can be written");
    let without_tls = OwnPostgres::start(&scratch.folder, "without-tls", "");
    for (address, words) in [
        (format!("{address} sslmode=verify-full sslrootcert={root}"), "not made for this host"),
        (
            format!("{address} sslmode=verify-ca sslrootcert={}", other_root.display()),
            "not signed by any of those in sslrootcert",
        ),
        (format!("{address} sslmode=disable"), "takes encrypted connections only"),
        (format!("{} sslmode=require", without_tls.by_network("postgres")), "the server does not offer"),
    ] {
        let started = std::time::Instant::now();
        let reported = carrel_refused(&["tenant", "list", "--database", &address]);
        assert!(reported.contains(words), "{address}: {reported}");
        assert!(started.elapsed().as_secs() < 10, "{address}: it was waited for");
    }
}
