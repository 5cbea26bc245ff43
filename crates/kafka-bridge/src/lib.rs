//! Sends the events of the outbox to Kafka under the topic names and in the shapes of FOLIO's modules, so that programs
//! which consume FOLIO's events consume Carrel's.
//!
//! Each event is sent at least once: a position is stored only after the brokers have acknowledged all events up to it, so
//! a crash or a broken connection repeats some, with the same event id. The events of one record keep their order, as they
//! share a key and so a partition. A node reads for a tenant while it holds the lease of [`carrel_platform::outbox::reader`].
//! Desk actions write to the outbox only; brokers that do not answer delay nothing but the events.

mod bridge;
mod message;
mod partitioner;
mod sender;
mod topics;

pub use bridge::{READER, start, stop};
pub use message::Message;
pub use sender::{Refused, Sender};

/// Where events are sent and under which names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Addresses of brokers, `host:port`; the others of the cluster are learnt from them.
    pub brokers: Vec<String>,
    /// First part of every topic name, FOLIO's `ENV`.
    pub prefix: String,
    /// Copies that the cluster keeps of topics made here.
    pub replication: i16,
    /// Header `x-okapi-url` of every event, for consumers that call back.
    pub okapi_url: Option<String>,
    /// Encrypted connections to brokers whose certificate is signed by one of those in this PEM file, or, for `system`, by
    /// one that the machine trusts. Without it nothing is encrypted.
    pub certificates: Option<String>,
    /// Who logs in to the brokers, where they ask for it.
    pub login: Option<Login>,
}

/// A login to the brokers by SASL.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub mechanism: Mechanism,
    pub user: String,
    pub password: String,
}

/// How a password is shown to a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// As it is; it must be encrypted on its way.
    Plain,
    ScramSha256,
    ScramSha512,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} as {}", self.mechanism, self.user)
    }
}
