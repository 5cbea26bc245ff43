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
}
