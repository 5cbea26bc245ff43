//! Starting and stopping: database, tenants, listener.

use crate::config::Resolved;
use crate::database;
use crate::wings;
use carrel_platform::Library;
use carrel_platform::database::{Address, Server};
use carrel_platform::http::{self, App};
use carrel_platform::private_postgres::{PrivatePostgres, Purpose};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// A running house, before it listens.
pub struct House {
    pub library: Arc<Library>,
    /// Where its data are.
    pub primary: Server,
    /// Kept so that it stops with the house.
    pub postgres: Option<PrivatePostgres>,
}

/// Opens the database, private or named, and the library in it.
pub async fn open(settings: &Resolved) -> Result<House, String> {
    let (primary, postgres) = match &settings.database {
        Some(text) => {
            let primary = database::read(text)?;
            database::wait_for(&primary).await?;
            (primary, None)
        }
        None => {
            if let Some(sentence) = &settings.about_data {
                eprintln!("carrel: {sentence}");
            }
            let data = settings.data.clone();
            let postgres =
                tokio::task::spawn_blocking(move || PrivatePostgres::start(&data, Purpose::Library))
                    .await
                    .map_err(|error| error.to_string())??;
            (postgres.config("postgres").into(), Some(postgres))
        }
    };
    let address = Address {
        primary: primary.clone(),
        replicas: settings.replicas.iter().map(|text| database::read(text)).collect::<Result<_, _>>()?,
        per_tenant: settings.tenant_connections,
    };
    let library = Library::open(
        address,
        settings.connections,
        wings::wings(),
        settings.manner.clone(),
        crate::first_records::all(),
    )
    .await
    .map_err(|error| error.to_string())?;
    Ok(House { library, primary, postgres })
}

/// The library with its routes and its doorkeeper.
pub fn app(library: &Arc<Library>) -> Arc<App> {
    let app =
        App::new(Arc::clone(library), wings::router(), Box::new(carrel_users::doorkeeper::Keeper::default()));
    crate::outside::remember(&app);
    app
}

/// `carrel serve`.
pub async fn serve(settings: Resolved) -> Result<(), String> {
    let house = unless_stopped(open(&settings)).await?;
    if house.library.tenants().is_empty() && !settings.manner.makes_tenants {
        tracing::info!(
            "no tenant yet: 'carrel tenant create ID --admin NAME' makes one, also beside this server"
        );
    }
    listen(&settings, &house, |_| {}).await?;
    stop(house).await;
    Ok(())
}

/// Listens until told to stop; says so when it is ready.
pub async fn listen(
    settings: &Resolved,
    house: &House,
    ready: impl FnOnce(std::net::SocketAddr),
) -> Result<(), String> {
    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|error| format!("cannot listen on {}: {error}", settings.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let app = app(&house.library);
    if settings.manner.behind_gateway {
        tracing::warn!(
            "BEHIND A GATEWAY: tenant, user and permissions are taken from the headers of every call from {}",
            if settings.manner.gateway_secret.is_some() { "whoever knows the secret" } else { "loopback" }
        );
    }
    let scheme = if settings.certificate.is_some() { "https" } else { "http" };
    tracing::info!("listening on {scheme}://{address}");
    ready(address);
    let jobs = carrel_platform::jobs::start(&house.library);
    let looking = tokio::spawn(look_for_changes(Arc::downgrade(&house.library)));
    let serving = async {
        match &settings.certificate {
            None => http::serve(app, listener, asked_to_stop()).await,
            Some(certificate) => {
                http::serve_with_tls(app, listener, Arc::clone(certificate), asked_to_stop()).await
            }
        }
    };
    let served = tokio::select! {
        served = serving => served,
        () = waited_long_enough() => {
            tracing::warn!("stopping without waiting longer for the calls under way");
            Ok(())
        }
    };
    looking.abort();
    jobs.stop().await;
    served.map_err(|error| format!("serving ended: {error}"))
}

/// Ends what the house has started.
pub async fn stop(house: House) {
    tracing::info!("stopping");
    let House { library, postgres, .. } = house;
    drop(library);
    if let Some(postgres) = postgres {
        let _ = tokio::task::spawn_blocking(move || postgres.stop()).await;
    }
}

/// Does the work, or gives it up when the operator says so; what the work has started is stopped with it.
pub async fn unless_stopped<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    tokio::select! {
        done = work => done,
        () = asked_to_stop() => Err("stopped before it was done".into()),
    }
}

/// After the wish to stop, calls under way have ten seconds; a second wish ends their time.
async fn waited_long_enough() {
    asked_to_stop().await;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs(10)) => {}
        () = asked_to_stop() => {}
    }
}

/// Other nodes make and drop tenants, too.
async fn look_for_changes(library: Weak<Library>) {
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let Some(library) = library.upgrade() else { return };
        // A database that cannot be reached is told by the calls that need it.
        let _ = library.look_for_changes().await;
    }
}

/// Ctrl-C, SIGTERM, or the end of the terminal, which must not leave PostgreSQL behind alone.
async fn asked_to_stop() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    let terminal_ends = async {
        // Asked first: to listen is to take the signal back from whoever had it ignored.
        if is_to_outlive_its_terminal() {
            return std::future::pending().await;
        }
        match signal(SignalKind::hangup()) {
            Ok(mut hangup) => hangup.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
        _ = terminal_ends => {}
    }
}

/// Started by `nohup` or the like: with SIGHUP ignored from the start, before this program listens to it.
fn is_to_outlive_its_terminal() -> bool {
    static IGNORED: LazyLock<bool> = LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
        ignored.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 1 == 1)
    });
    *IGNORED
}
