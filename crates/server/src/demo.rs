//! `carrel demo`: a sample library to try things out with.

use crate::config::Resolved;
use crate::serve;
use carrel_records::Failure;
use serde_json::json;
use uuid::Uuid;

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
    administrator(&tenant, ADMIN, PASSWORD).await.map_err(told)?;
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

/// A user who may do everything; left alone when the name is taken.
async fn administrator(
    tenant: &carrel_platform::Tenant,
    username: &str,
    password: &str,
) -> Result<(), Failure> {
    let connection = tenant.writer().await?;
    let taken =
        connection.query("SELECT 1 FROM users WHERE doc->>'username' = $1", vec![username.into()]).await?;
    if !taken.is_empty() {
        return Ok(());
    }
    let hash = carrel_users::login::password::hash(password).await?;
    let (user, now) = (Uuid::new_v4(), jiff::Timestamp::now());
    let mut flight = carrel_platform::Flight::new();
    let document = json!({"id": user, "username": username, "active": true, "type": "staff",
        "personal": {"lastName": "Administrator", "firstName": "Diku", "preferredContactTypeId": "002", "addresses": []}});
    flight.add("INSERT INTO users (id, doc) VALUES ($1, $2)", vec![user.into(), (&document).into()]);
    flight.add(
        "INSERT INTO auth_credentials (user_id, id, hash, changed) VALUES ($1, $2, $3, $4)",
        vec![user.into(), Uuid::new_v4().into(), hash.into(), now.into()],
    );
    let id = Uuid::new_v4();
    let held = json!({"id": id, "userId": user, "permissions": [carrel_platform::surface::EVERYTHING]});
    flight.add("INSERT INTO permissions_users (id, doc) VALUES ($1, $2)", vec![id.into(), (&held).into()]);
    carrel_platform::tenant::move_stamp(&mut flight);
    connection.begin().fly_and_commit(flight).await?;
    tenant.stamp_is_stale();
    Ok(())
}
