//! Starting and stopping: database, tenants, listener.

use crate::config::Resolved;
use crate::database;
use crate::event_stream;
use crate::modules;
use carrel_embedded_postgres::{EmbeddedPostgres, Purpose};
use carrel_platform::Node;
use carrel_platform::database::{Address, ConnectionLimit, LARGEST_BUDGET, Server};
use carrel_platform::http::{self, App};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// An open node, before it listens.
pub struct OpenNode {
    pub node: Arc<Node>,
    /// The database server with its data.
    pub primary: Server,
    /// The private PostgreSQL, which stops with the node.
    pub postgres: Option<EmbeddedPostgres>,
}

/// Opens the database, private or configured, and the node on it.
pub async fn open(settings: &Resolved) -> Result<OpenNode, String> {
    let replicas: Vec<Server> =
        settings.replicas.iter().map(|text| database::read(text)).collect::<Result<_, _>>()?;
    let (configured, primary, postgres, budget) = match &settings.database {
        Some(text) => {
            let configured = database::read(text)?;
            database::refuse_foreign_replicas(&configured, &replicas).await?;
            let primary = database::find_primary(&configured, &replicas).await;
            let budget = database::wait_for(&primary).await?;
            (configured, primary, None, budget)
        }
        None => {
            if let Some(sentence) = &settings.about_data {
                eprintln!("carrel: {sentence}");
            }
            let data = settings.data.clone();
            let postgres =
                tokio::task::spawn_blocking(move || EmbeddedPostgres::start(&data, Purpose::Production))
                    .await
                    .map_err(|error| error.to_string())??;
            let primary: Server = postgres.config("postgres").into();
            database::count_statements(&primary).await;
            (primary.clone(), primary, Some(postgres), LARGEST_BUDGET)
        }
    };
    let address = Address { primary: configured, replicas, per_tenant: settings.tenant_connections };
    let node = Node::open(
        address,
        settings.connections.map_or(ConnectionLimit::Share(budget), ConnectionLimit::Fixed),
        modules::modules(),
        settings.options.clone(),
        crate::first_records::all(),
    )
    .await
    .map_err(|error| error.to_string())?;
    carrel_lists::configure(&node, settings.lists);
    carrel_pub_sub::configure(&node, settings.subscribers.clone());
    Ok(OpenNode { node, primary, postgres })
}

/// The node with its routes and its authorizer.
pub fn app(node: &Arc<Node>) -> Arc<App> {
    App::new(
        Arc::clone(node),
        modules::router(),
        Box::new(carrel_users::authorizer::PermissionAuthorizer::default()),
    )
}

/// `carrel serve`.
pub async fn serve(settings: Resolved) -> Result<(), String> {
    let open_node = unless_stopped(open(&settings)).await?;
    if open_node.node.tenants().is_empty() && !settings.options.makes_tenants {
        tracing::info!(
            "no tenant yet: 'carrel tenant create ID --admin NAME' creates one, also while this server runs"
        );
    }
    listen(&settings, &open_node, |_| {}).await?;
    stop(open_node).await;
    Ok(())
}

/// Listens until a signal stops it; calls `ready` once it listens.
pub async fn listen(
    settings: &Resolved,
    open_node: &OpenNode,
    ready: impl FnOnce(std::net::SocketAddr),
) -> Result<(), String> {
    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", settings.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let app = app(&open_node.node);
    if settings.options.behind_gateway {
        tracing::warn!(
            "BEHIND A GATEWAY: tenant, user and permissions are taken from the headers of every call from {}",
            if settings.options.gateway_secret.is_some() { "whoever knows the secret" } else { "loopback" }
        );
    }
    let scheme = if settings.certificate.is_some() { "https" } else { "http" };
    tracing::info!("listening on {scheme}://{address}");
    ready(address);
    let jobs = carrel_platform::jobs::start(&open_node.node);
    carrel_lists::start(&open_node.node);
    carrel_pub_sub::start(&open_node.node);
    if let Some(stream) = &settings.event_stream {
        event_stream::start(&open_node.node, stream);
    }
    let looking = tokio::spawn(look_for_changes(Arc::downgrade(&open_node.node)));
    let serving = async {
        match &settings.certificate {
            None => http::serve(app, listener, drained(&open_node.node, settings.drain)).await,
            Some(certificate) => {
                let stop = drained(&open_node.node, settings.drain);
                http::serve_with_tls(app, listener, Arc::clone(certificate), stop).await
            }
        }
    };
    let served = tokio::select! {
        served = serving => served,
        () = waited_long_enough(settings.drain) => {
            tracing::warn!("stopping without waiting for the remaining calls");
            Ok(())
        }
    };
    looking.abort();
    carrel_lists::stop(&open_node.node).await;
    carrel_pub_sub::stop(&open_node.node);
    event_stream::stop(&open_node.node);
    jobs.stop().await;
    served.map_err(|error| format!("serving ended: {error}"))
}

/// Stops the node and the private PostgreSQL.
pub async fn stop(open_node: OpenNode) {
    tracing::info!("stopping");
    let OpenNode { node, postgres, .. } = open_node;
    drop(node);
    if let Some(postgres) = postgres {
        let _ = tokio::task::spawn_blocking(move || postgres.stop()).await;
    }
}

/// Runs the work until it completes or a signal requests a stop; dropping it stops the processes that it has started.
pub async fn unless_stopped<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::select! {
        done = work => done,
        _ = asked_to_stop() => Err("stopped before it was done".into()),
    }
}

/// Completes when no more calls are taken: after a signal, and after SIGTERM once proxies had time to see on the health
/// page that the server stops.
fn drained(node: &Arc<Node>, drain: Duration) -> impl Future<Output = ()> + use<> {
    let node = Arc::clone(node);
    async move {
        let time = asked_to_stop().await.drain(drain);
        node.begin_to_stop();
        tokio::time::sleep(time).await;
    }
}

/// After the first signal and the time for proxies, calls have 10 seconds to complete; a second signal ends the wait.
async fn waited_long_enough(drain: Duration) {
    let time = asked_to_stop().await.drain(drain);
    tokio::select! {
        () = tokio::time::sleep(time + Duration::from_secs(10)) => {}
        _ = asked_to_stop() => {}
    }
}

/// Checks every 5 seconds for tenants that other nodes have created or dropped.
async fn look_for_changes(node: Weak<Node>) {
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let Some(node) = node.upgrade() else { return };
        // An unreachable database is reported by the calls that need it.
        let _ = node.look_for_changes().await;
    }
}

/// What asked the program to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C, or a closed terminal: a person waits for the end.
    Person,
    /// SIGTERM, from a service manager.
    Service,
}

impl StopSignal {
    fn drain(self, configured: Duration) -> Duration {
        match self {
            StopSignal::Person => Duration::ZERO,
            StopSignal::Service => configured,
        }
    }
}

/// Completes on Ctrl-C, SIGTERM or SIGHUP; a closed terminal must not leave PostgreSQL running alone.
pub async fn asked_to_stop() -> StopSignal {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    let terminal_ends = async {
        // Checked first: installing a handler would end an inherited SIG_IGN.
        if is_to_outlive_its_terminal() {
            return std::future::pending().await;
        }
        match signal(SignalKind::hangup()) {
            Ok(mut hangup) => hangup.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => StopSignal::Person,
        _ = terminate.recv() => StopSignal::Service,
        _ = terminal_ends => StopSignal::Person,
    }
}

/// Whether SIGHUP was ignored when the program started, as by `nohup`.
fn is_to_outlive_its_terminal() -> bool {
    static IGNORED: LazyLock<bool> = LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
        ignored.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 1 == 1)
    });
    *IGNORED
}
