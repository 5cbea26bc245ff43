//! Observations during the load: processor time and memory of processes, connections and waits of the database, what
//! its statistics views and the server's metrics counted meanwhile, and series of a Prometheus server.
//!
//! A separate thread with its own runtime takes the samples, so that a slow sample does not delay the generator.

mod consistency;
mod database;
mod metrics;
mod processes;
mod prometheus;

pub use consistency::check;
pub use database::DatabaseFigures;
pub use metrics::{MissingIndex, ModuleFigures};
pub use processes::{Process, ProcessSeries, Reading};
pub use prometheus::{PrometheusOptions, Series};

use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{LabError, Result};
use database::Database;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What to observe.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// Processes by name.
    pub processes: Vec<Process>,
    /// The server's database, for its statistics views.
    pub database: Option<String>,
    /// The server, for its metrics and missing indexes, if it has such routes.
    pub server: Option<(Address, Credentials)>,
    /// A Prometheus server.
    pub prometheus: Option<PrometheusOptions>,
    /// The server's log.
    pub log: Option<PathBuf>,
    /// Seconds of a flame graph of the server, at most 50; 0 for none.
    pub flame_graph: u64,
}

/// The observations while a level was played.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// Time of each sample, in seconds from the start.
    pub at: Vec<f64>,
    /// Processor time and memory over time.
    pub processes: Vec<ProcessSeries>,
    /// The database's connections and counts; nothing without a database.
    pub database: Option<DatabaseFigures>,
    /// The server's work by module.
    pub modules: Vec<ModuleFigures>,
    /// Queries without an index since the server started.
    pub missing_indexes: Vec<MissingIndex>,
    /// Series of Prometheus.
    pub prometheus: Vec<Series>,
    /// Lines and bytes added to the server's log.
    pub log: Option<(u64, u64)>,
    /// The flame graph of the server, as SVG.
    pub flame_graph: Option<String>,
    /// What could not be observed, and why.
    pub notes: Vec<String>,
}

impl Observed {
    /// The figures as JSON.
    pub fn json(&self) -> Value {
        json!({
            "seconds": self.at,
            "processes": self.processes.iter().map(ProcessSeries::json).collect::<Vec<_>>(),
            "database": self.database.as_ref().map(DatabaseFigures::json),
            "modules": self.modules.iter().map(ModuleFigures::json).collect::<Vec<_>>(),
            "missing_indexes": self.missing_indexes.iter().map(MissingIndex::json).collect::<Vec<_>>(),
            "prometheus": self.prometheus.iter().map(Series::json).collect::<Vec<_>>(),
            "log": self.log.map(|(lines, bytes)| json!({ "lines": lines, "bytes": bytes })),
            "notes": self.notes,
        })
    }
}

/// The last sample, for the progress line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Glance {
    /// Processor time of the watched processes, in percent of one core.
    pub cpu: f64,
    /// Connections to the database.
    pub connections: u64,
}

/// A running observation.
pub struct Watch {
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    outcome: Option<tokio::sync::oneshot::Receiver<Observed>>,
    glance: Arc<Mutex<Glance>>,
}

impl Watch {
    /// Starts to take a sample once per `interval`; returns after the first one.
    pub async fn begin(options: WatchOptions, interval: Duration) -> Result<Watch> {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (send, outcome) = tokio::sync::oneshot::channel();
        let (began, begun) = tokio::sync::oneshot::channel();
        let glance: Arc<Mutex<Glance>> = Arc::default();
        let shared = glance.clone();
        std::thread::Builder::new()
            .name("lab-watch".into())
            .spawn(move || {
                if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
                    let _ = send.send(runtime.block_on(watch(options, interval, began, stopped, shared)));
                }
            })
            .map_err(|error| LabError::new(format!("starting the observing thread: {error}")))?;
        let _ = begun.await;
        Ok(Watch { stop: Some(stop), outcome: Some(outcome), glance })
    }

    /// The last sample.
    pub fn glance(&self) -> Glance {
        *self.glance.lock().expect("sampling does not panic")
    }

    /// Ends the observation.
    pub async fn finish(mut self) -> Result<Observed> {
        drop(self.stop.take());
        let outcome = self.outcome.take().ok_or_else(|| LabError::new("the observation has ended"))?;
        outcome.await.map_err(|_| LabError::new("the observing thread panicked"))
    }
}

async fn watch(
    mut options: WatchOptions,
    interval: Duration,
    began: tokio::sync::oneshot::Sender<()>,
    mut stopped: tokio::sync::oneshot::Receiver<()>,
    glance: Arc<Mutex<Glance>>,
) -> Observed {
    let mut observed = Observed::default();
    let mut database = match &options.database {
        None => None,
        Some(address) => match Database::open(address).await {
            Ok(database) => Some(database),
            Err(error) => {
                observed.notes.push(format!("the database is not observed: {error}"));
                None
            }
        },
    };
    if let Some(database) = &database
        && let Some(id) = database.postmaster().await
    {
        options.processes.push(Process { name: "database".into(), id, with_children: true });
    }
    let mut server = None;
    if let Some((address, credentials)) = &options.server {
        let mut connection = Connection::new(address.clone());
        if let Ok(session) = Session::login(&mut connection, credentials.clone()).await {
            server = Some((connection, session));
        }
    }
    let mut before = Vec::new();
    if let Some((connection, session)) = &mut server {
        before = metrics::read(connection, session).await.unwrap_or_default();
    }
    let log = |path: &PathBuf| std::fs::metadata(path).map(|data| data.len()).ok();
    let log_before = options.log.as_ref().and_then(log);

    let start = Instant::now();
    let since = jiff::Timestamp::now();
    let mut readings: Vec<Vec<Reading>> = vec![options.processes.iter().map(Reading::take).collect()];
    let mut times = vec![0.0];
    if let Some(database) = &mut database {
        database.look().await;
    }
    let flames = options.server.clone().filter(|_| options.flame_graph > 0).map(|(address, credentials)| {
        tokio::spawn(metrics::flame_graph(address, credentials, options.flame_graph.min(50)))
    });
    let _ = began.send(());
    loop {
        let is_over = tokio::select! {
            _ = &mut stopped => true,
            () = tokio::time::sleep(interval) => false,
        };
        times.push(start.elapsed().as_secs_f64());
        readings.push(options.processes.iter().map(Reading::take).collect());
        let connections = match &mut database {
            Some(database) => database.look().await,
            None => 0,
        };
        let [earlier, now] = [&readings[readings.len() - 2], &readings[readings.len() - 1]];
        let passed = times[times.len() - 1] - times[times.len() - 2];
        let cpu = earlier.iter().zip(now).map(|(a, b)| b.cpu_percent(a, passed)).sum();
        *glance.lock().expect("sampling does not panic") = Glance { cpu, connections };
        if is_over {
            break;
        }
    }
    if let Some(flames) = flames {
        match flames.await {
            Ok(Ok(picture)) => observed.flame_graph = Some(picture),
            Ok(Err(error)) => observed.notes.push(format!("no flame graph: {error}")),
            Err(error) => observed.notes.push(format!("no flame graph: {error}")),
        }
    }
    observed.processes = processes::series(&options.processes, &readings, &times);
    if let Some(database) = database {
        observed.database = Some(database.finish().await);
    }
    if let Some((connection, session)) = &mut server {
        let after = metrics::read(connection, session).await.unwrap_or_default();
        observed.modules = metrics::by_module(&before, &after);
        observed.missing_indexes = metrics::missing_indexes(connection, session).await;
    }
    if let Some(prometheus) = &options.prometheus {
        match prometheus::read(prometheus, since, jiff::Timestamp::now()).await {
            Ok(series) => observed.prometheus = series,
            Err(error) => observed.notes.push(format!("Prometheus: {error}")),
        }
    }
    if let (Some(path), Some(before)) = (&options.log, log_before) {
        let text = std::fs::read(path).unwrap_or_default();
        let grown = text.get(before as usize..).unwrap_or_default();
        let lines = grown.iter().filter(|byte| **byte == b'\n').count();
        observed.log = Some((lines as u64, grown.len() as u64));
    }
    observed.at = times;
    observed
}
