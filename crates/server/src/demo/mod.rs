//! `carrel demo`: a sample library with real works in the public domain, invented patrons, policies and rules, and the
//! circulation of some weeks. It is loaded through the server's API; a check-out, a renewal and a check-in at the end
//! show that a desk works.

mod activity;
mod api;
mod first_loan;
mod ids;
mod load;
mod people;
mod works;

use crate::administrator;
use crate::config::Resolved;
use crate::serve;
use api::Api;
use carrel_records::Failure;
use std::net::SocketAddr;

const TENANT: &str = "diku";
const ADMIN: &str = "diku_admin";
const PASSWORD: &str = "admin";

/// Loads the sample library unless it is loaded already, shows a loan, and serves.
pub async fn demo(settings: Resolved) -> Result<(), String> {
    if settings.options.behind_gateway {
        return Err("the sample library logs in, which a server behind a gateway does not offer".into());
    }
    if settings.certificate.is_some() {
        return Err(
            "the sample library is loaded by plain HTTP: leave --tls-certificate to 'carrel serve'".into()
        );
    }
    let open_node = serve::unless_stopped(serve::open(&settings)).await?;
    let outcome = serve_sample(&settings, &open_node).await;
    serve::stop(open_node).await;
    outcome
}

async fn serve_sample(settings: &Resolved, open_node: &serve::OpenNode) -> Result<(), String> {
    let as_text = |failure: Failure| failure.to_string();
    serve::unless_stopped(async {
        let tenant = open_node
            .node
            .create_tenant(TENANT, "Datalogisk Institut", "The sample library")
            .await
            .map_err(as_text)?;
        administrator::appoint(&tenant, ADMIN, PASSWORD).await.map_err(as_text)
    })
    .await?;
    let (failed, mut failure) = tokio::sync::mpsc::channel(1);
    let serving = serve::listen(settings, open_node, |address| {
        tokio::spawn(async move {
            if let Err(words) = open_the_doors(address).await {
                let _ = failed.send(words).await;
            }
        });
    });
    tokio::select! {
        served = serving => served,
        Some(words) = failure.recv() => Err(format!("the sample library could not be loaded: {words}")),
    }
}

async fn open_the_doors(address: SocketAddr) -> Result<(), String> {
    let mut api = Api::log_in(address, TENANT, ADMIN, PASSWORD).await?;
    let started = std::time::Instant::now();
    match load::load(&mut api).await? {
        load::Loaded::Before => tell("The sample library was loaded by an earlier start."),
        load::Loaded::Now(counts) => {
            tell(&format!("Loaded {counts} in {:.1} s.", started.elapsed().as_secs_f64()));
        }
    }
    for line in first_loan::first_loan(&mut api).await? {
        tell(&line);
    }
    tell(&format!(
        "\nCarrel is ready at http://{address}/, the staff desk at http://{address}/desk/\n\
         Log in as {ADMIN} with password {PASSWORD}, tenant {TENANT}.\n\
         Use the service point {}, id {}; the others lend as well.\n\
         Ctrl-C stops it.",
        first_loan::SERVICE_POINT.0,
        first_loan::SERVICE_POINT.1,
    ));
    Ok(())
}

/// Prints a line; a closed output is ignored.
fn tell(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}
