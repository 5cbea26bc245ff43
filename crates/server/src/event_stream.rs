//! The event stream to Kafka. Only a program that is built with the feature `kafka` can send it.

use carrel_platform::Node;
use carrel_platform::database::verifying_client;
use std::net::IpAddr;
use std::sync::Arc;

/// Where events are sent and under which names, as the settings name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventStream {
    /// `host:port` of brokers.
    pub brokers: Vec<String>,
    /// First part of every topic name.
    pub prefix: String,
    /// Copies of topics that are made here.
    pub replication: i16,
    pub okapi_url: Option<String>,
    /// A PEM file with the certificates by which those of the brokers are signed, or `system`.
    pub certificates: Option<String>,
    pub login: Option<Login>,
}

/// A login to the brokers.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// One of [`MECHANISMS`].
    pub mechanism: &'static str,
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} as {}", self.mechanism, self.user)
    }
}

/// The SASL mechanisms that can be configured.
const MECHANISMS: [&str; 3] = ["plain", "scram-sha-256", "scram-sha-512"];

/// What the settings say about Kafka, as it is written there.
#[derive(Debug, Clone, Default)]
pub struct KafkaSettings {
    pub brokers: Vec<String>,
    pub prefix: Option<String>,
    pub replication: Option<i16>,
    pub okapi_url: Option<String>,
    pub certificates: Option<String>,
    pub sasl: Option<String>,
    pub user: Option<String>,
    pub password: Option<String>,
}

impl EventStream {
    /// The error names what is wrong; nothing where no broker is named.
    pub fn read(settings: KafkaSettings) -> Result<Option<EventStream>, String> {
        let KafkaSettings { brokers, prefix, replication, okapi_url, certificates, sasl, user, password } =
            settings;
        if brokers.is_empty() {
            let others = [&prefix, &okapi_url, &certificates, &sasl, &user, &password];
            return match others.iter().any(|other| other.is_some()) || replication.is_some() {
                true => Err("the other settings that begin with --kafka belong to --kafka".into()),
                false => Ok(None),
            };
        }
        if cfg!(not(feature = "kafka")) {
            return Err("--kafka needs a program built with `cargo build --release --features kafka`".into());
        }
        let is_address = |text: &String| {
            text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        if let Some(wrong) = brokers.iter().find(|broker| !is_address(broker)) {
            return Err(format!("--kafka is host:port, and not {wrong}"));
        }
        let prefix = prefix.unwrap_or_else(|| "folio".into());
        let is_of_topic = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if prefix.is_empty() || !prefix.chars().all(is_of_topic) {
            return Err(format!(
                "--kafka-prefix has letters, digits, '.', '_' and '-' only, and is not {prefix}"
            ));
        }
        let replication = replication.unwrap_or(1);
        if replication < 1 {
            return Err("--kafka-replication is at least 1".into());
        }
        if let Some(file) = &certificates {
            verifying_client(file).map_err(|words| format!("--kafka-certificates {file}: {words}"))?;
        }
        let login = login(sasl, user, password)?;
        if login.as_ref().is_some_and(|login| login.mechanism == "plain")
            && certificates.is_none()
            && !brokers.iter().all(|broker| is_loopback(broker))
        {
            return Err("--kafka-sasl plain shows the password to the network: encrypt it with --kafka-certificates, or use scram-sha-256 or scram-sha-512".into());
        }
        Ok(Some(EventStream { brokers, prefix, replication, okapi_url, certificates, login }))
    }
}

fn login(
    sasl: Option<String>,
    user: Option<String>,
    password: Option<String>,
) -> Result<Option<Login>, String> {
    match (sasl, user, password) {
        (None, None, None) => Ok(None),
        (Some(sasl), Some(user), Some(password)) => {
            let known = MECHANISMS.into_iter().find(|known| *known == sasl);
            let mechanism = known.ok_or_else(|| {
                format!("--kafka-sasl is plain, scram-sha-256 or scram-sha-512, and not {sasl}")
            })?;
            Ok(Some(Login { mechanism, user, password }))
        }
        _ => {
            Err("--kafka-sasl, --kafka-user and the password (CARREL_KAFKA_PASSWORD) belong together".into())
        }
    }
}

fn is_loopback(broker: &str) -> bool {
    let host = broker.rsplit_once(':').map_or("", |(host, _)| host);
    host == "localhost" || host.trim_matches(['[', ']']).parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Begins to send.
#[cfg(feature = "kafka")]
pub fn start(node: &Arc<Node>, stream: &EventStream) {
    use carrel_kafka_bridge::{Login, Mechanism, Options};
    let EventStream { brokers, prefix, replication, okapi_url, certificates, login } = stream.clone();
    let login = login.map(|login| Login {
        mechanism: match login.mechanism {
            "scram-sha-256" => Mechanism::ScramSha256,
            "scram-sha-512" => Mechanism::ScramSha512,
            _ => Mechanism::Plain,
        },
        user: login.user,
        password: login.password,
    });
    let options = Options { brokers, prefix, replication, okapi_url, certificates, login };
    carrel_kafka_bridge::start(node, options);
}

/// Begins to send: [`EventStream::read`] has refused it.
#[cfg(not(feature = "kafka"))]
pub fn start(_: &Arc<Node>, _: &EventStream) {}

/// Stops sending.
#[cfg(feature = "kafka")]
pub fn stop(node: &Arc<Node>) {
    carrel_kafka_bridge::stop(node);
}

/// Stops sending: nothing was started.
#[cfg(not(feature = "kafka"))]
pub fn stop(_: &Arc<Node>) {}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(brokers: &[&str]) -> KafkaSettings {
        let brokers = brokers.iter().map(|broker| (*broker).to_owned()).collect();
        KafkaSettings { brokers, ..KafkaSettings::default() }
    }

    #[test]
    fn without_brokers_nothing_is_sent() {
        assert_eq!(EventStream::read(settings(&[])), Ok(None));
        let prefix = KafkaSettings { prefix: Some("folio".into()), ..settings(&[]) };
        assert!(EventStream::read(prefix).is_err_and(|error| error.contains("belong to --kafka")));
    }

    #[test]
    fn a_login_has_a_mechanism_a_user_and_a_password() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(login(None, None, None), Ok(None));
        assert!(login(text("plain"), text("u"), None).is_err_and(|error| error.contains("belong together")));
        assert!(login(text("gssapi"), text("u"), text("p")).is_err_and(|error| error.contains("gssapi")));
        let read = login(text("scram-sha-512"), text("u"), text("secret")).expect("right").expect("a login");
        assert_eq!((read.mechanism, read.user.as_str()), ("scram-sha-512", "u"));
        assert!(!format!("{read:?}").contains("secret"));
    }

    #[test]
    fn only_addresses_of_this_machine_are_loopback() {
        for (broker, expected) in
            [("localhost:9092", true), ("127.0.0.1:9092", true), ("[::1]:9092", true), ("kafka:9092", false)]
        {
            assert_eq!(is_loopback(broker), expected, "{broker}");
        }
    }

    #[cfg(not(feature = "kafka"))]
    #[test]
    fn a_program_without_the_feature_says_so() {
        let refused = EventStream::read(settings(&["kafka:9092"]));
        assert!(refused.is_err_and(|error| error.contains("--features kafka")));
    }

    #[cfg(feature = "kafka")]
    #[test]
    fn what_is_wrong_is_named() {
        let kafka = || settings(&["kafka:9092"]);
        let text = |text: &str| Some(text.to_owned());
        let plain = || KafkaSettings {
            sasl: text("plain"),
            user: text("u"),
            password: text("p"),
            ..settings(&["kafka:9092"])
        };
        for (wrong, words) in [
            (settings(&["kafka"]), "host:port"),
            (KafkaSettings { prefix: text("a b"), ..kafka() }, "--kafka-prefix"),
            (KafkaSettings { replication: Some(0), ..kafka() }, "--kafka-replication"),
            (KafkaSettings { certificates: text("/no/such.pem"), ..kafka() }, "--kafka-certificates"),
            (plain(), "shows the password"),
        ] {
            let error = EventStream::read(wrong).expect_err(words);
            assert!(error.contains(words), "{error}");
        }
        let local = KafkaSettings { brokers: vec!["localhost:9092".into()], ..plain() };
        assert!(EventStream::read(local).is_ok());
        let stream = EventStream::read(kafka()).expect("it is right").expect("there is a broker");
        assert_eq!((stream.prefix.as_str(), stream.replication), ("folio", 1));
    }
}
