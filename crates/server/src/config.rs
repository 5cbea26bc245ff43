//! Configuration: flags first, then the environment, then one TOML file, then defaults.

use crate::event_stream::{EventStream, KafkaSettings};
use carrel_embedded_postgres::{HOW_TO_INSTALL, find_programs, usual_data_directory};
use carrel_platform::http::Certificate;
use carrel_platform::{SameSite, ServerOptions};
use clap::Args;
use serde::Deserialize;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The private PostgreSQL accepts 300 connections; tests, the lab and other programs need some of them.
const MOST_OF_PRIVATE: usize = 250;
/// The longest time for proxies, in seconds.
const LONGEST_DRAIN: u64 = 300;
/// The shortest secret between a gateway and this server.
const SHORTEST_SECRET: usize = 16;

/// All settings, each by a flag, an environment variable, or a line of the file.
#[derive(Debug, Clone, Default, Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// One TOML file with the same names as the flags, underscores for dashes.
    #[arg(long, env = "CARREL_CONFIG")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Address to listen on.
    #[arg(long, env = "CARREL_LISTEN")]
    pub listen: Option<IpAddr>,
    /// Port to listen on.
    #[arg(long, env = "CARREL_PORT")]
    pub port: Option<u16>,
    /// Serve HTTPS with the certificate in this PEM file, followed by its chain; read again whenever it changes.
    #[arg(long, env = "CARREL_TLS_CERTIFICATE")]
    pub tls_certificate: Option<PathBuf>,
    /// The certificate's private key, a PEM file.
    #[arg(long, env = "CARREL_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
    /// Directory of the private PostgreSQL.
    #[arg(long, env = "CARREL_DATA")]
    pub data: Option<PathBuf>,
    /// A PostgreSQL to use instead of a private one, as URL or key=value text.
    #[arg(long, env = "CARREL_DATABASE")]
    pub database: Option<String>,
    /// A streaming replica for reading; can be given several times, in the environment separated by semicolons.
    #[arg(long = "replica", env = "CARREL_REPLICA", value_delimiter = ';')]
    pub replica: Vec<String>,
    /// Database connections open at the same time, of all tenants together. By default the nodes share four fifths of
    /// what the PostgreSQL server gives, and each takes at most two fifths and at most 64.
    #[arg(long, env = "CARREL_CONNECTIONS")]
    pub connections: Option<usize>,
    /// Database connections of one tenant.
    #[arg(long, env = "CARREL_TENANT_CONNECTIONS")]
    pub tenant_connections: Option<usize>,
    /// Largest body of a batch of records, in MiB; other routes take less.
    #[arg(long, env = "CARREL_LARGEST_BODY")]
    pub largest_body: Option<usize>,
    /// Records of a list, at most.
    #[arg(long, env = "CARREL_MAX_LIST_SIZE")]
    pub max_list_size: Option<i64>,
    /// Milliseconds for which a refresh of a list is shown as running at least, so that clients can see it.
    #[arg(long, env = "CARREL_LIST_REFRESH_VISIBLE")]
    pub list_refresh_visible: Option<u64>,
    /// Address of a module that subscribes to events, MODULE=http://host:port; `*` stands for all other modules. Can be
    /// given several times, in the environment separated by semicolons.
    #[arg(long = "subscriber", env = "CARREL_SUBSCRIBER", value_delimiter = ';')]
    pub subscriber: Vec<String>,
    /// A Kafka broker, host:port, that gets the events of all tenants; can be given several times, in the environment with
    /// commas between them. Needs a program built with the feature `kafka`.
    #[arg(long = "kafka", env = "CARREL_KAFKA", value_delimiter = ',')]
    pub kafka: Vec<String>,
    /// First part of the names of Kafka topics: FOLIO's ENV. Usually folio.
    #[arg(long, env = "CARREL_KAFKA_PREFIX")]
    pub kafka_prefix: Option<String>,
    /// Copies that Kafka keeps of topics which this program makes. Usually 1.
    #[arg(long, env = "CARREL_KAFKA_REPLICATION")]
    pub kafka_replication: Option<i16>,
    /// Address at which consumers of events reach this server, sent with each event as x-okapi-url.
    #[arg(long, env = "CARREL_KAFKA_OKAPI_URL")]
    pub kafka_okapi_url: Option<String>,
    /// Encrypt connections to Kafka, and accept brokers whose certificate is signed by one of those in this PEM file;
    /// system for those that the machine trusts.
    #[arg(long, env = "CARREL_KAFKA_CERTIFICATES")]
    pub kafka_certificates: Option<String>,
    /// Log in to Kafka by SASL: plain, scram-sha-256 or scram-sha-512.
    #[arg(long, env = "CARREL_KAFKA_SASL")]
    pub kafka_sasl: Option<String>,
    /// The user of --kafka-sasl.
    #[arg(long, env = "CARREL_KAFKA_USER")]
    pub kafka_user: Option<String>,
    /// The password of --kafka-user; better in the environment or the file, as others see the arguments of a program.
    #[arg(long, env = "CARREL_KAFKA_PASSWORD", hide_env_values = true)]
    pub kafka_password: Option<String>,
    /// Refreshes, queries and exports of lists at once.
    #[arg(long, env = "CARREL_LIST_WORKERS")]
    pub list_workers: Option<usize>,
    /// Memory for all bodies of more than 64 KiB together, in MiB.
    #[arg(long, env = "CARREL_BODY_MEMORY")]
    pub body_memory: Option<usize>,
    /// Connections of clients that may be open at once; at most the limit of open files less 200.
    #[arg(long, env = "CARREL_CLIENT_CONNECTIONS")]
    pub client_connections: Option<usize>,
    /// Connections of one address that may be open at once; at most half of all.
    #[arg(long, env = "CARREL_ADDRESS_CONNECTIONS")]
    pub address_connections: Option<usize>,
    /// Seconds for the head of a request, and for which a kept connection may be idle.
    #[arg(long, env = "CARREL_HEADER_TIMEOUT")]
    pub header_timeout: Option<u64>,
    /// An origin whose pages may use cookies, such as https://desk.example.org; can be given several times, in the
    /// environment separated by semicolons.
    #[arg(long = "allowed-origin", env = "CARREL_ALLOWED_ORIGIN", value_delimiter = ';')]
    pub allowed_origin: Vec<String>,
    /// SameSite of cookies: strict, lax or none; none needs secure cookies.
    #[arg(long, env = "CARREL_COOKIE_SAME_SITE")]
    pub cookie_same_site: Option<String>,
    /// Answer /metrics without a token, for a Prometheus that has none.
    #[arg(long, env = "CARREL_OPEN_METRICS")]
    pub open_metrics: bool,
    /// Mark cookies Secure: for a server reached by HTTPS through a proxy. With --tls-certificate they always are.
    #[arg(long, env = "CARREL_SECURE_COOKIES")]
    pub secure_cookies: bool,
    /// Let POST /authn/login issue tokens without expiration, and accept them. Without it they expire after twelve
    /// hours.
    #[arg(long, env = "CARREL_ENDLESS_TOKENS")]
    pub endless_tokens: bool,
    /// Let an operator disable mod-authtoken for a tenant in which no user can log in, so that its first administrator
    /// can be created by the API: for fifteen minutes calls to that tenant need no token. Not for production.
    #[arg(long, env = "CARREL_ALLOW_BOOTSTRAP")]
    pub allow_bootstrap: bool,
    /// Address of a proxy whose X-Forwarded-For is trusted for the client's address; can be given several times, in the
    /// environment separated by commas.
    #[arg(long = "trusted-proxy", env = "CARREL_TRUSTED_PROXY", value_delimiter = ',')]
    pub trusted_proxy: Vec<IpAddr>,
    /// Trust tenant, user and permissions in the headers, like a module behind Okapi. Loopback only, unless
    /// --gateway-secret is given.
    #[arg(long, env = "CARREL_BEHIND_GATEWAY")]
    pub behind_gateway: bool,
    /// The secret that the gateway must send in X-Carrel-Gateway.
    #[arg(long, env = "CARREL_GATEWAY_SECRET")]
    pub gateway_secret: Option<String>,
    /// Behind a gateway: create an unknown tenant on first use, empty and lenient (for public test suites of FOLIO's
    /// modules, whose fixtures omit what real storage requires).
    #[arg(long, env = "CARREL_MAKE_TENANTS")]
    pub make_tenants: bool,
    /// Seconds for which the server still answers calls after SIGTERM while its health page says that it stops, so that
    /// a proxy finds other servers first.
    #[arg(long, env = "CARREL_DRAIN")]
    pub drain: Option<u64>,
    /// Answer with a header X-Carrel-Round-Trips that counts database round trips.
    #[arg(long, env = "CARREL_COUNT_ROUND_TRIPS")]
    pub count_round_trips: bool,
}

/// The configuration in force.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub listen: SocketAddr,
    /// The certificate of HTTPS; without one the server answers HTTP.
    pub certificate: Option<Arc<Certificate>>,
    /// The certificate's file, for display.
    pub certificate_file: Option<PathBuf>,
    pub data: PathBuf,
    /// A note for the operator about the data directory.
    pub about_data: Option<String>,
    pub database: Option<String>,
    pub replicas: Vec<String>,
    /// `None` derives it from the database server's limit.
    pub connections: Option<usize>,
    pub tenant_connections: usize,
    pub options: ServerOptions,
    pub lists: carrel_lists::Options,
    /// Time between SIGTERM and the end of taking calls.
    pub drain: Duration,
    pub subscribers: carrel_pub_sub::Addresses,
    pub event_stream: Option<EventStream>,
}

impl Settings {
    /// Combines flags, environment and file; the error describes what is wrong.
    pub fn resolve(self) -> Result<Resolved, String> {
        let file = match &self.config {
            None => Settings::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| format!("the configuration {}: {error}", path.display()))?;
                toml::from_str(&text)
                    .map_err(|error| format!("the configuration {}: {error}", path.display()))?
            }
        };
        let database = self.database.or(file.database);
        let replicas = if self.replica.is_empty() { file.replica } else { self.replica };
        for text in database.iter().chain(&replicas) {
            crate::database::read(text)?;
        }
        let trusted_proxies: Vec<IpAddr> =
            if self.trusted_proxy.is_empty() { file.trusted_proxy } else { self.trusted_proxy };
        let trusted_proxies = trusted_proxies.iter().map(IpAddr::to_canonical).collect();
        if database.is_none() && !replicas.is_empty() {
            return Err("--replica needs --database: a private PostgreSQL has no replicas".into());
        }
        let behind_gateway = self.behind_gateway || file.behind_gateway;
        let makes_tenants = self.make_tenants || file.make_tenants;
        let gateway_secret = self.gateway_secret.or(file.gateway_secret);
        if !behind_gateway && (makes_tenants || gateway_secret.is_some()) {
            return Err("--make-tenants and --gateway-secret belong to --behind-gateway".into());
        }
        let ip = self.listen.or(file.listen).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let connections = self.connections.or(file.connections);
        let tenant_connections = self.tenant_connections.or(file.tenant_connections).unwrap_or(10);
        if connections == Some(0) || tenant_connections == 0 {
            return Err("at least one database connection is needed".into());
        }
        if let Some(connections) = connections
            && database.is_none()
            && connections > MOST_OF_PRIVATE
        {
            return Err(format!(
                "{connections} connections are more than the private PostgreSQL gives: at most {MOST_OF_PRIVATE}"
            ));
        }
        let files = (self.tls_certificate.or(file.tls_certificate), self.tls_key.or(file.tls_key));
        let (certificate, certificate_file) = match files {
            (Some(certificate), Some(key)) => {
                let read = Certificate::read(&certificate, &key).map_err(|words| format!("TLS: {words}"))?;
                (Some(Arc::new(read)), Some(certificate))
            }
            (None, None) => (None, None),
            _ => return Err("--tls-certificate and --tls-key belong together".into()),
        };
        let largest_body = self.largest_body.or(file.largest_body).unwrap_or(64);
        if !(1..=4096).contains(&largest_body) {
            return Err(format!("--largest-body is in MiB, from 1 to 4096, and not {largest_body}"));
        }
        let subscribers = if self.subscriber.is_empty() { &file.subscriber } else { &self.subscriber };
        let subscribers = carrel_pub_sub::Addresses::read(subscribers)?;
        let event_stream = EventStream::read(KafkaSettings {
            brokers: if self.kafka.is_empty() { file.kafka } else { self.kafka },
            prefix: self.kafka_prefix.or(file.kafka_prefix),
            replication: self.kafka_replication.or(file.kafka_replication),
            okapi_url: self.kafka_okapi_url.or(file.kafka_okapi_url),
            certificates: self.kafka_certificates.or(file.kafka_certificates),
            sasl: self.kafka_sasl.or(file.kafka_sasl),
            user: self.kafka_user.or(file.kafka_user),
            password: self.kafka_password.or(file.kafka_password),
        })?;
        let mut lists = carrel_lists::Options::default();
        if let Some(max_size) = self.max_list_size.or(file.max_list_size) {
            lists.max_size = max_size;
        }
        if let Some(milliseconds) = self.list_refresh_visible.or(file.list_refresh_visible) {
            lists.visible_for = Duration::from_millis(milliseconds);
        }
        if let Some(workers) = self.list_workers.or(file.list_workers) {
            lists.workers = workers;
        }
        if lists.max_size < 1
            || lists.visible_for > Duration::from_secs(60)
            || !(1..=64).contains(&lists.workers)
        {
            return Err("--max-list-size is at least 1, --list-refresh-visible at most 60000, --list-workers from 1 to 64".into());
        }
        let drain = self.drain.or(file.drain).unwrap_or(0);
        if drain > LONGEST_DRAIN {
            return Err(format!("--drain is at most {LONGEST_DRAIN} seconds"));
        }
        let body_memory = self.body_memory.or(file.body_memory).unwrap_or(256.max(largest_body));
        if body_memory < largest_body {
            return Err(format!("--body-memory is too small for one body of {largest_body} MiB"));
        }
        let usual = ServerOptions::default();
        let connections_in_all =
            self.client_connections.or(file.client_connections).unwrap_or(usual.connections_in_all);
        let connections_per_address =
            self.address_connections.or(file.address_connections).unwrap_or(usual.connections_per_address);
        let header_timeout = self.header_timeout.or(file.header_timeout).unwrap_or(60);
        if connections_in_all == 0 || connections_per_address == 0 || header_timeout == 0 {
            return Err(
                "--client-connections, --address-connections and --header-timeout are at least 1".into()
            );
        }
        let allowed_origins =
            if self.allowed_origin.is_empty() { file.allowed_origin } else { self.allowed_origin };
        if let Some(wrong) = allowed_origins.iter().find(|origin| !is_origin(origin)) {
            return Err(format!(
                "--allowed-origin is a scheme, a host and a port where it is not the usual one, such as https://desk.example.org, and not {wrong}"
            ));
        }
        let secure_cookies = self.secure_cookies || file.secure_cookies || certificate.is_some();
        let cookie_same_site = self.cookie_same_site.or(file.cookie_same_site);
        let cookie_same_site = match cookie_same_site.as_deref() {
            None | Some("lax") => SameSite::Lax,
            Some("strict") => SameSite::Strict,
            Some("none") if secure_cookies => SameSite::None,
            Some("none") => return Err("--cookie-same-site none needs --secure-cookies".into()),
            Some(other) => return Err(format!("--cookie-same-site is strict, lax or none, and not {other}")),
        };
        match &gateway_secret {
            Some(secret) if secret.len() < SHORTEST_SECRET => {
                return Err(format!("--gateway-secret needs at least {SHORTEST_SECRET} characters"));
            }
            None if behind_gateway && !ip.is_loopback() => {
                return Err(format!(
                    "--behind-gateway on {ip} trusts whoever can reach it: listen on loopback or give a --gateway-secret"
                ));
            }
            _ => {}
        }
        let (data, about_data) = match self.data.or(file.data) {
            Some(data) => (data, None),
            None => usual_data_directory(&PathBuf::from(
                std::env::var_os("CARREL_USUAL_DATA").unwrap_or_else(|| "data".into()),
            )),
        };
        Ok(Resolved {
            listen: SocketAddr::new(ip, self.port.or(file.port).unwrap_or(9130)),
            data,
            certificate_file,
            about_data: about_data.filter(|_| database.is_none()),
            replicas,
            connections,
            tenant_connections,
            database,
            options: ServerOptions {
                behind_gateway,
                gateway_secret,
                makes_tenants,
                largest_body: largest_body * 1024 * 1024,
                body_memory: body_memory * 1024 * 1024,
                connections_in_all,
                connections_per_address,
                header_timeout: Duration::from_secs(header_timeout),
                allowed_origins,
                cookie_same_site,
                open_metrics: self.open_metrics || file.open_metrics,
                secure_cookies,
                endless_tokens: self.endless_tokens || file.endless_tokens,
                allows_bootstrap: self.allow_bootstrap || file.allow_bootstrap,
                trusted_proxies,
                counts_round_trips: self.count_round_trips || file.count_round_trips,
                ..Default::default()
            },
            lists,
            drain: Duration::from_secs(drain),
            subscribers,
            event_stream,
            certificate,
        })
    }
}

impl Resolved {
    /// Refuses to start if a private PostgreSQL is needed and its programs are missing on this machine.
    pub fn refuse_if_there_is_no_postgres(&self) -> Result<(), String> {
        match self.database.is_none() && find_programs().is_none() {
            true => Err(HOW_TO_INSTALL.into()),
            false => Ok(()),
        }
    }
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "listen              {}", self.listen)?;
        match &self.certificate_file {
            Some(file) => writeln!(f, "TLS                 {}", file.display())?,
            None => writeln!(f, "TLS                 off")?,
        }
        match &self.database {
            Some(database) => writeln!(f, "database            {}", without_password(database))?,
            None => writeln!(f, "database            private, in {}", self.data.display())?,
        }
        for replica in &self.replicas {
            writeln!(f, "replica             {}", without_password(replica))?;
        }
        let connections = match self.connections {
            Some(number) => number.to_string(),
            None => "as the database allows".to_owned(),
        };
        writeln!(f, "connections         {connections} in all, {} per tenant", self.tenant_connections)?;
        writeln!(
            f,
            "lists               at most {} records, {} workers, refreshes shown for {:?}",
            self.lists.max_size, self.lists.workers, self.lists.visible_for
        )?;
        if let Some(stream) = &self.event_stream {
            let encrypted = if stream.certificates.is_some() { "encrypted" } else { "not encrypted" };
            let brokers = stream.brokers.join(", ");
            writeln!(f, "Kafka               {brokers}, topics {}.…, {encrypted}", stream.prefix)?;
        }
        let options = &self.options;
        writeln!(f, "largest body        {} MiB", options.largest_body / 1024 / 1024)?;
        writeln!(f, "secure cookies      {}", options.secure_cookies)?;
        writeln!(f, "endless tokens      {}", options.endless_tokens)?;
        writeln!(f, "allows bootstrap    {}", options.allows_bootstrap)?;
        for proxy in &options.trusted_proxies {
            writeln!(f, "trusted proxy       {proxy}")?;
        }
        writeln!(f, "behind a gateway    {}", options.behind_gateway)?;
        write!(f, "makes tenants       {}", options.makes_tenants)
    }
}

/// A scheme and an authority, as browsers send it.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, host)| {
        matches!(scheme, "http" | "https")
            && !host.is_empty()
            && !host.contains(|c: char| c == '/' || c == '*' || c.is_whitespace() || c.is_uppercase())
    })
}

pub fn without_password(address: &str) -> String {
    let mut shown: Vec<String> = Vec::new();
    for word in address.split(' ') {
        if word.starts_with("password=") {
            shown.push("password=…".into());
        } else if let Some((scheme, rest)) = word.split_once("://")
            && let Some((login, host)) = rest.rsplit_once('@')
        {
            let user = login.split(':').next().unwrap_or("");
            shown.push(format!("{scheme}://{user}@{host}"));
        } else {
            shown.push(word.to_owned());
        }
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(without_password("postgresql://carrel:secret@db/x"), "postgresql://carrel@db/x");
        assert_eq!(without_password("host=db password=secret user=x"), "host=db password=… user=x");
    }

    #[test]
    fn what_contradicts_itself_is_reported() {
        let usual = Settings::default;
        let open: IpAddr = Ipv4Addr::UNSPECIFIED.into();
        let database = Some("host=db user=carrel".to_owned());
        let table = [
            (Settings { make_tenants: true, ..usual() }, "belong to --behind-gateway"),
            (Settings { replica: vec!["host=db".into()], ..usual() }, "--replica needs --database"),
            (Settings { behind_gateway: true, listen: Some(open), ..usual() }, "trusts whoever can reach it"),
            (
                Settings { behind_gateway: true, gateway_secret: Some("short".into()), ..usual() },
                "at least 16 characters",
            ),
            (Settings { connections: Some(0), ..usual() }, "at least one database connection"),
            (Settings { connections: Some(1000), ..usual() }, "more than the private PostgreSQL gives"),
            (Settings { largest_body: Some(0), ..usual() }, "in MiB, from 1 to 4096"),
            (Settings { config: Some("/nowhere.toml".into()), ..usual() }, "the configuration /nowhere.toml"),
            (
                Settings { database: Some("host=db sslmode=verify-full".into()), ..usual() },
                "needs sslrootcert",
            ),
            (Settings { tls_key: Some("/key.pem".into()), ..usual() }, "belong together"),
            (
                Settings {
                    tls_certificate: Some("/nowhere.pem".into()),
                    tls_key: Some("/key.pem".into()),
                    ..usual()
                },
                "TLS: /nowhere.pem",
            ),
        ];
        for (settings, words) in table {
            let error = settings.resolve().expect_err(words);
            assert!(error.contains(words), "{error}");
        }
        let good = Settings { database, connections: Some(1000), ..usual() };
        assert!(good.resolve().is_ok());
    }
}
