//! The first administrator of a tenant.

use crate::login::password;
use crate::permissions::PERMISSION_USER;
use crate::records::people::USER;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write;
use carrel_platform::{Pipeline, Tenant, surface};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

/// The outcome of [`appoint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appointed {
    Now,
    /// A user with this name exists and was not changed.
    NameTaken,
}

/// Creates a user with all permissions.
pub async fn appoint(tenant: &Tenant, username: &str, password: &str) -> Result<Appointed, Failure> {
    let now = Timestamp::now();
    let password = password.to_owned();
    let hash = tokio::task::spawn_blocking(move || password::hash_blocking(&password))
        .await
        .map_err(|error| Failure::internal(format!("hashing a password: {error}")))??;
    let user = json!({"username": username, "active": true, "type": "staff",
        "personal": {"lastName": "Administrator", "preferredContactTypeId": "002", "addresses": []}});
    let user = write::prepare_new(&USER, object(user)?, &Caller::default(), now)?;
    let given = json!({"userId": user.id, "permissions": [surface::EVERYTHING]});
    let given = write::prepare_new(&PERMISSION_USER, object(given)?, &Caller::default(), now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &USER, &user, now);
    pipeline.add(
        "INSERT INTO auth_credentials (user_id, id, hash, changed) VALUES ($1, $2, $3, $4)",
        vec![user.id.into(), Uuid::new_v4().into(), hash.into(), now.into()],
    );
    write::insert(&mut pipeline, tenant, &PERMISSION_USER, &given, now);
    match tenant.begin().await?.send_and_commit(pipeline).await {
        Ok(_) => Ok(Appointed::Now),
        // Of all inserted values only the username can violate a constraint.
        Err(error) if error.is_unique_violation() => Ok(Appointed::NameTaken),
        Err(error) => Err(error.into()),
    }
}

/// Whether any user can log in to the tenant.
pub async fn has_staff(tenant: &Tenant) -> Result<bool, Failure> {
    let rows = tenant.writer().await?.query("SELECT 1 FROM auth_credentials LIMIT 1", vec![]).await?;
    Ok(!rows.is_empty())
}

fn object(document: Value) -> Result<write::Document, Failure> {
    match document {
        Value::Object(document) => Ok(document),
        _ => Err(Failure::internal("a record is a JSON object")),
    }
}
