//! The event stream to Kafka. Only a program that is built with the feature `kafka` can send it.

use carrel_platform::Node;
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
}

impl EventStream {
    /// The error names what is wrong; nothing where no broker is named.
    pub fn read(
        brokers: Vec<String>,
        prefix: Option<String>,
        replication: Option<i16>,
        okapi_url: Option<String>,
    ) -> Result<Option<EventStream>, String> {
        if brokers.is_empty() {
            return match prefix.is_some() || replication.is_some() || okapi_url.is_some() {
                true => {
                    Err("--kafka-prefix, --kafka-replication and --kafka-okapi-url belong to --kafka".into())
                }
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
        Ok(Some(EventStream { brokers, prefix, replication, okapi_url }))
    }
}

/// Begins to send.
#[cfg(feature = "kafka")]
pub fn start(node: &Arc<Node>, stream: &EventStream) {
    let EventStream { brokers, prefix, replication, okapi_url } = stream.clone();
    carrel_kafka_bridge::start(
        node,
        carrel_kafka_bridge::Options { brokers, prefix, replication, okapi_url },
    );
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

    fn read(
        brokers: &[&str],
        prefix: Option<&str>,
        replication: Option<i16>,
    ) -> Result<Option<EventStream>, String> {
        let brokers = brokers.iter().map(|broker| (*broker).to_owned()).collect();
        EventStream::read(brokers, prefix.map(str::to_owned), replication, None)
    }

    #[test]
    fn without_brokers_nothing_is_sent() {
        assert_eq!(read(&[], None, None), Ok(None));
        assert!(read(&[], Some("folio"), None).is_err_and(|error| error.contains("belong to --kafka")));
    }

    #[cfg(not(feature = "kafka"))]
    #[test]
    fn a_program_without_the_feature_says_so() {
        assert!(read(&["kafka:9092"], None, None).is_err_and(|error| error.contains("--features kafka")));
    }

    #[cfg(feature = "kafka")]
    #[test]
    fn what_is_wrong_is_named() {
        assert!(read(&["kafka"], None, None).is_err_and(|error| error.contains("host:port")));
        assert!(
            read(&["kafka:9092"], Some("a b"), None).is_err_and(|error| error.contains("--kafka-prefix"))
        );
        assert!(
            read(&["kafka:9092"], None, Some(0)).is_err_and(|error| error.contains("--kafka-replication"))
        );
        let stream = read(&["kafka:9092"], None, None).expect("it is right").expect("there is a broker");
        assert_eq!((stream.prefix.as_str(), stream.replication), ("folio", 1));
    }
}
