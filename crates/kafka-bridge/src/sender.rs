//! Sends messages to the brokers and waits until all in-sync replicas have them.

use crate::message::Message;
use crate::{Login, Mechanism, Options, partitioner, topics};
use carrel_platform::database::verifying_client;
use futures_util::future::try_join_all;
use rskafka::BackoffConfig;
use rskafka::chrono::DateTime;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rskafka::record::Record;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Records of one call to a broker have at most this size, in bytes; brokers usually take 1 MiB.
const LARGEST_BATCH: usize = 900_000;
/// Time for which the client itself tries a call again.
const RETRIES: Duration = Duration::from_secs(10);
/// Time that the brokers get to make a topic, in milliseconds.
const TOPIC_CREATION: i32 = 10_000;

/// A message that the brokers will never take, such as one beyond their size limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Number of the event in the outbox.
    pub number: i64,
    pub topic: String,
    pub key: String,
    pub error: String,
}

/// The connection to the brokers, opened when it is first needed.
pub struct Sender {
    options: Options,
    connected: Mutex<Option<Arc<Connected>>>,
}

struct Connected {
    client: Client,
    /// Partitions by topic.
    topics: Mutex<HashMap<String, i32>>,
    partitions: Mutex<HashMap<(String, i32), Arc<PartitionClient>>>,
}

impl Sender {
    pub fn new(options: Options) -> Sender {
        Sender { options, connected: Mutex::default() }
    }

    /// Forgets the connection, so that the next call opens another.
    pub async fn disconnect(&self) {
        self.connected.lock().await.take();
    }

    /// Sends messages of a tenant; returns when all are acknowledged but those that are refused for good. The error of
    /// anything else: then some may have been sent.
    pub async fn send(&self, tenant: &str, messages: Vec<Message>) -> Result<Vec<Refused>, String> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let connected = self.connect().await?;
        let mut by_partition: BTreeMap<(String, i32), Vec<Message>> = BTreeMap::new();
        for message in messages {
            let topic = format!("{}.{tenant}.{}", self.options.prefix, message.topic);
            let partitions =
                connected.partitions_of(&topic, &message.topic, self.options.replication).await?;
            let partition = partitioner::partition(message.key.as_bytes(), partitions);
            by_partition.entry((topic, partition)).or_default().push(message);
        }
        let sends = by_partition.into_iter().map(|((topic, partition), messages)| {
            let connected = Arc::clone(&connected);
            async move {
                let client = connected.partition(topic, partition).await?;
                self.send_in_order(tenant, &client, messages).await
            }
        });
        Ok(try_join_all(sends).await?.concat())
    }

    async fn send_in_order(
        &self,
        tenant: &str,
        client: &PartitionClient,
        messages: Vec<Message>,
    ) -> Result<Vec<Refused>, String> {
        let mut refused = Vec::new();
        for chunk in chunks(&messages) {
            match self.produce(tenant, client, chunk).await {
                Ok(()) => {}
                Err(error) if !is_too_large(&error) => return Err(error.to_string()),
                // One of them is too large, or the brokers take less than usual.
                Err(_) => {
                    for message in chunk {
                        match self.produce(tenant, client, std::slice::from_ref(message)).await {
                            Ok(()) => {}
                            Err(error) if is_too_large(&error) => refused.push(Refused {
                                number: message.number,
                                topic: message.topic.clone(),
                                key: message.key.clone(),
                                error: error.to_string(),
                            }),
                            Err(error) => return Err(error.to_string()),
                        }
                    }
                }
            }
        }
        Ok(refused)
    }

    async fn produce(
        &self,
        tenant: &str,
        client: &PartitionClient,
        messages: &[Message],
    ) -> Result<(), Error> {
        let mut headers = BTreeMap::from([("x-okapi-tenant".to_owned(), tenant.as_bytes().to_vec())]);
        if let Some(url) = &self.options.okapi_url {
            headers.insert("x-okapi-url".to_owned(), url.as_bytes().to_vec());
        }
        let records = messages
            .iter()
            .map(|message| Record {
                key: Some(message.key.as_bytes().to_vec()),
                value: Some(message.value.as_bytes().to_vec()),
                headers: headers.clone(),
                timestamp: DateTime::from_timestamp_millis(message.timestamp).unwrap_or_default(),
            })
            .collect();
        client.produce(records, Compression::NoCompression).await.map(|_| ())
    }

    async fn connect(&self) -> Result<Arc<Connected>, String> {
        let mut connected = self.connected.lock().await;
        if let Some(connected) = &*connected {
            return Ok(Arc::clone(connected));
        }
        let retries = BackoffConfig { deadline: Some(RETRIES), ..BackoffConfig::default() };
        let mut builder =
            ClientBuilder::new(self.options.brokers.clone()).client_id("carrel").backoff_config(retries);
        if let Some(certificates) = &self.options.certificates {
            // Read at each connection, as they may have been renewed.
            let tls = verifying_client(certificates).map_err(|error| format!("{certificates}: {error}"))?;
            builder = builder.tls_config(tls);
        }
        if let Some(login) = &self.options.login {
            builder = builder.sasl_config(sasl(login));
        }
        let client = builder.build().await.map_err(|error| error.to_string())?;
        let topics = client.list_topics().await.map_err(|error| error.to_string())?;
        let topics = topics.into_iter().map(|topic| (topic.name, number(topic.partitions.len()))).collect();
        let new = Arc::new(Connected { client, topics: Mutex::new(topics), partitions: Mutex::default() });
        Ok(Arc::clone(connected.insert(new)))
    }
}

fn sasl(login: &Login) -> SaslConfig {
    let credentials = Credentials::new(login.user.clone(), login.password.clone());
    match login.mechanism {
        Mechanism::Plain => SaslConfig::Plain(credentials),
        Mechanism::ScramSha256 => SaslConfig::ScramSha256(credentials),
        Mechanism::ScramSha512 => SaslConfig::ScramSha512(credentials),
    }
}

impl Connected {
    /// The topic's number of partitions; makes the topic if the brokers do not have it.
    async fn partitions_of(&self, topic: &str, of_outbox: &str, replication: i16) -> Result<i32, String> {
        let mut topics = self.topics.lock().await;
        if let Some(partitions) = topics.get(topic) {
            return Ok(*partitions);
        }
        let wanted = topics::partitions(of_outbox);
        let controller = self.client.controller_client().map_err(|error| error.to_string())?;
        match controller.create_topic(topic, wanted, replication, TOPIC_CREATION).await {
            Ok(()) => {}
            // Another node or a consumer was quicker.
            Err(Error::ServerError { protocol_error: ProtocolError::TopicAlreadyExists, .. }) => {}
            Err(error) => return Err(format!("the topic {topic} cannot be made: {error}")),
        }
        let known = self.client.list_topics().await.map_err(|error| error.to_string())?;
        let made = known.iter().find(|known| known.name == topic);
        let partitions = made.map_or(wanted, |known| number(known.partitions.len()));
        topics.insert(topic.to_owned(), partitions);
        Ok(partitions)
    }

    async fn partition(&self, topic: String, partition: i32) -> Result<Arc<PartitionClient>, String> {
        let mut partitions = self.partitions.lock().await;
        if let Some(client) = partitions.get(&(topic.clone(), partition)) {
            return Ok(Arc::clone(client));
        }
        let client = self.client.partition_client(topic.clone(), partition, UnknownTopicHandling::Retry);
        let client = Arc::new(client.await.map_err(|error| error.to_string())?);
        partitions.insert((topic, partition), Arc::clone(&client));
        Ok(client)
    }
}

/// Consecutive messages up to [`LARGEST_BATCH`]; a larger message is alone.
fn chunks(messages: &[Message]) -> Vec<&[Message]> {
    let mut chunks = Vec::new();
    let (mut begin, mut size) = (0, 0);
    for (index, message) in messages.iter().enumerate() {
        let next = message.key.len() + message.value.len() + 200;
        if index > begin && size + next > LARGEST_BATCH {
            chunks.push(&messages[begin..index]);
            (begin, size) = (index, 0);
        }
        size += next;
    }
    if begin < messages.len() {
        chunks.push(&messages[begin..]);
    }
    chunks
}

fn is_too_large(error: &Error) -> bool {
    matches!(
        error,
        Error::ServerError {
            protocol_error: ProtocolError::MessageTooLarge | ProtocolError::RecordListTooLarge,
            ..
        }
    )
}

fn number(partitions: usize) -> i32 {
    i32::try_from(partitions).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(size: usize) -> Message {
        Message {
            number: 1,
            topic: "inventory.item".into(),
            key: "k".into(),
            value: "v".repeat(size),
            timestamp: 0,
        }
    }

    #[test]
    fn chunks_keep_the_order_and_stay_below_the_limit() {
        let messages = [10, 500_000, 500_000, 2_000_000, 10, 10].map(message);
        let sizes: Vec<usize> = chunks(&messages).iter().map(|chunk| chunk.len()).collect();
        assert_eq!(sizes, [2, 1, 1, 2]);
        assert!(chunks(&[]).is_empty());
    }
}
