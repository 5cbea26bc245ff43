//! `carrel demo`: a sample library to try things out with.

use crate::administrator;
use crate::config::Resolved;
use crate::serve;
use carrel_records::Failure;

const TENANT: &str = "diku";
const ADMIN: &str = "diku_admin";
const PASSWORD: &str = "admin";

/// Makes the sample library where it is not there yet, and serves it.
pub async fn demo(settings: Resolved) -> Result<(), String> {
    let house = serve::open(&settings).await?;
    let tenant = house
        .library
        .create_tenant(TENANT, "Datalogisk Institut", "The sample library")
        .await
        .map_err(told)?;
    administrator::appoint(&tenant, ADMIN, PASSWORD).await.map_err(told)?;
    serve::listen(&settings, &house, |address| {
        println!("\nCarrel is ready at http://{address}/\nLog in as {ADMIN} with password {PASSWORD}, tenant {TENANT}.\nCtrl-C stops it.");
    })
    .await?;
    serve::stop(house).await;
    Ok(())
}

fn told(failure: Failure) -> String {
    failure.to_string()
}
