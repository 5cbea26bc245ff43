//! A Kafka broker of its own, from the jars of Maven Central, and a consumer.

use carrel_testkit::free_port;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::UnknownTopicHandling;
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Largest message that the broker takes, in bytes.
pub const LARGEST_MESSAGE: usize = 1_000_000;
const START: Duration = Duration::from_secs(120);

/// Who may log in on the encrypted port.
pub const USER: &str = "carrel";
pub const PASSWORD: &str = "a secret of the test";

/// A running broker; it is killed when the value is dropped.
pub struct Kafka {
    process: Child,
    pub port: u16,
    /// Encrypted, and open to [`USER`] only.
    pub secure_port: u16,
    /// The certificate of this port, which is for `localhost`.
    pub certificate: PathBuf,
}

impl Kafka {
    /// A broker that names `advertised` as its port; the reason where none can be started on this machine.
    pub async fn start(folder: &Path, advertised: u16) -> Result<Kafka, String> {
        let classpath = classpath(folder)?;
        let (port, secure_port, controller) = (free_port(), free_port(), free_port());
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .map_err(|error| error.to_string())?;
        let certificate = folder.join("broker.crt");
        std::fs::write(&certificate, made.cert.pem()).map_err(|error| error.to_string())?;
        let in_one_line = |pem: String| pem.lines().collect::<Vec<_>>().join("\\n");
        let settings = folder.join("server.properties");
        let lines = [
            "process.roles=broker,controller".to_owned(),
            "node.id=1".to_owned(),
            format!("controller.quorum.voters=1@127.0.0.1:{controller}"),
            format!(
                "listeners=PLAINTEXT://127.0.0.1:{port},SECURE://127.0.0.1:{secure_port},CONTROLLER://127.0.0.1:{controller}"
            ),
            format!(
                "advertised.listeners=PLAINTEXT://127.0.0.1:{advertised},SECURE://localhost:{secure_port}"
            ),
            "controller.listener.names=CONTROLLER".to_owned(),
            "inter.broker.listener.name=PLAINTEXT".to_owned(),
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT".to_owned(),
            "listener.name.secure.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256".to_owned(),
            format!(
                "listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}=\"{PASSWORD}\";"
            ),
            "listener.name.secure.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;".to_owned(),
            "listener.name.secure.ssl.keystore.type=PEM".to_owned(),
            format!(
                "listener.name.secure.ssl.keystore.certificate.chain={}",
                in_one_line(made.cert.pem())
            ),
            format!("listener.name.secure.ssl.keystore.key={}", in_one_line(made.signing_key.serialize_pem())),
            format!("log.dirs={}", folder.join("kafka").display()),
            "auto.create.topics.enable=false".to_owned(),
            "offsets.topic.replication.factor=1".to_owned(),
            format!("message.max.bytes={LARGEST_MESSAGE}"),
        ];
        std::fs::write(&settings, lines.join("\n")).map_err(|error| error.to_string())?;
        let java = |class: &str| {
            let mut command = Command::new("java");
            command.args(["-Xmx256m", "-cp", &classpath, class]).stdin(Stdio::null());
            command
        };
        let log = File::create(folder.join("kafka.log")).map_err(|error| error.to_string())?;
        let formatted = java("kafka.tools.StorageTool")
            .args(["format", "--cluster-id", "MkU3OEVBNTcwNTJENDM2Qk", "--config"])
            .arg(&settings)
            .arg("--add-scram")
            .arg(format!("SCRAM-SHA-256=[name={USER},password={PASSWORD}]"))
            .stdout(log.try_clone().map_err(|error| error.to_string())?)
            .stderr(log.try_clone().map_err(|error| error.to_string())?)
            .status();
        if !formatted.is_ok_and(|status| status.success()) {
            return Err(format!("Kafka's storage cannot be formatted: {}", log_text(folder)));
        }
        let process = java("kafka.Kafka")
            .arg(&settings)
            .stdout(log.try_clone().map_err(|error| error.to_string())?)
            .stderr(log)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut kafka = Kafka { process, port, secure_port, certificate };
        let begun = Instant::now();
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            let is_alive = matches!(kafka.process.try_wait(), Ok(None));
            assert!(is_alive && begun.elapsed() < START, "Kafka does not start: {}", log_text(folder));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(kafka)
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn log_text(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("kafka.log")).unwrap_or_default()
}

/// Kafka's jars in Maven's own repository of this machine, downloaded if they are not there.
fn classpath(folder: &Path) -> Result<String, String> {
    let file = folder.join("classpath");
    let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broker/pom.xml");
    let java = Command::new("java").arg("-version").stderr(Stdio::null()).status();
    if !java.is_ok_and(|status| status.success()) {
        return Err("Java is not installed".into());
    }
    let output = Command::new("mvn")
        .args(["-q", "-B", "-f"])
        .arg(pom)
        .arg("dependency:build-classpath")
        .arg(format!("-Dmdep.outputFile={}", file.display()))
        .output();
    match output {
        Err(_) => Err("Maven is not installed".into()),
        Ok(output) if !output.status.success() => {
            Err(format!("Kafka's jars cannot be downloaded: {}", String::from_utf8_lossy(&output.stdout)))
        }
        Ok(_) => std::fs::read_to_string(file).map_err(|error| error.to_string()),
    }
}

/// Reads topics from their beginning.
pub struct Consumer(Client);

impl Consumer {
    pub async fn connect(port: u16) -> Consumer {
        let client = ClientBuilder::new(vec![format!("127.0.0.1:{port}")]).build().await;
        Consumer(client.expect("the broker answers"))
    }

    /// All records of a topic, by partition and in order; none where the topic is not there.
    pub async fn records(&self, topic: &str) -> Vec<Record> {
        let topics = self.0.list_topics().await.expect("topics");
        let Some(found) = topics.into_iter().find(|known| known.name == topic) else { return Vec::new() };
        let mut records = Vec::new();
        for partition in found.partitions {
            let client = self.0.partition_client(topic, partition, UnknownTopicHandling::Retry).await;
            let client = client.expect("a partition");
            let mut offset = 0;
            loop {
                let (fetched, end) = match client.fetch_records(offset, 1..10_000_000, 100).await {
                    Ok(records) => records,
                    // The partition is new, and its log is not open yet.
                    Err(Error::ServerError { protocol_error: ProtocolError::OffsetOutOfRange, .. }) => break,
                    Err(error) => panic!("records of {topic}: {error}"),
                };
                let Some(last) = fetched.last() else { break };
                offset = last.offset + 1;
                records.extend(fetched.into_iter().map(|fetched| fetched.record));
                if offset >= end {
                    break;
                }
            }
        }
        records
    }
}
