//! The first administrator of a tenant: whoever makes the tenant names him.

use carrel_platform::tenant::move_settings_version;
use carrel_platform::{Pipeline, Tenant, surface};
use carrel_records::Failure;
use serde_json::json;
use uuid::Uuid;

/// What became of the wish for an administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appointed {
    Now,
    /// A user with this name exists and is left as he is.
    NameTaken,
}

/// Makes a user who may do everything.
pub async fn appoint(tenant: &Tenant, username: &str, password: &str) -> Result<Appointed, Failure> {
    let connection = tenant.writer().await?;
    let taken = connection
        .query("SELECT 1 FROM users WHERE lower(doc->>'username') = lower($1)", vec![username.into()])
        .await?;
    if !taken.is_empty() {
        return Ok(Appointed::NameTaken);
    }
    let hash = carrel_users::login::password::hash(password).await?;
    let (user, now) = (Uuid::new_v4(), jiff::Timestamp::now());
    let document = json!({"id": user, "username": username, "active": true, "type": "staff",
        "personal": {"lastName": "Administrator", "preferredContactTypeId": "002", "addresses": []}});
    let mut pipeline = Pipeline::new();
    pipeline.add("INSERT INTO users (id, doc) VALUES ($1, $2)", vec![user.into(), (&document).into()]);
    pipeline.add(
        "INSERT INTO auth_credentials (user_id, id, hash, changed) VALUES ($1, $2, $3, $4)",
        vec![user.into(), Uuid::new_v4().into(), hash.into(), now.into()],
    );
    let id = Uuid::new_v4();
    let held = json!({"id": id, "userId": user, "permissions": [surface::EVERYTHING]});
    pipeline.add("INSERT INTO permissions_users (id, doc) VALUES ($1, $2)", vec![id.into(), (&held).into()]);
    move_settings_version(&mut pipeline);
    connection.begin().send_and_commit(pipeline).await?;
    tenant.settings_version_is_stale();
    Ok(Appointed::Now)
}

/// Whether anybody can log in to the tenant.
pub async fn has_staff(tenant: &Tenant) -> Result<bool, Failure> {
    let rows = tenant.writer().await?.query("SELECT 1 FROM auth_credentials LIMIT 1", vec![]).await?;
    Ok(!rows.is_empty())
}
