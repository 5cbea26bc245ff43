//! A patron's PIN, for self-service machines; stored as a hash.
//!
//! Routes: `/patron-pin`, `/patron-pin/verify`. The id is the user's.

use crate::login::password::PasswordHasher;
use crate::records::people::PATRON_PIN;
use carrel_platform::{Answer, Bind, Call, Pipeline, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

#[derive(Deserialize)]
struct Pin {
    id: Uuid,
    #[serde(default)]
    pin: String,
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/patron-pin", store);
    router.on("DELETE", "/patron-pin", delete);
    router.on("POST", "/patron-pin/verify", verify);
}

async fn store(call: Call) -> Result<Answer, Failure> {
    let sent: Pin = call.read_json()?;
    let hasher = call.node.state.of::<PasswordHasher>();
    let document = json!({"id": sent.id, "pin": hasher.hash(&sent.pin).await?});
    let mut pipeline = Pipeline::new();
    pipeline.add(
        format!(
            "INSERT INTO {} (id, doc) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc",
            PATRON_PIN.table
        ),
        vec![sent.id.into(), Bind::Json(document.to_string())],
    );
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::text(StatusCode::CREATED, ""))
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let sent: Pin = call.read_json()?;
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM patronpin WHERE id = $1", vec![sent.id.into()]);
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::text(StatusCode::OK, ""))
}

/// 200 for the right PIN; 422 with an empty body for any other, and for a patron without one.
async fn verify(call: Call) -> Result<Answer, Failure> {
    let sent: Pin = call.read_json()?;
    let hasher = call.node.state.of::<PasswordHasher>();
    let admission = hasher.admit()?;
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query("SELECT doc->>'pin' AS pin FROM patronpin WHERE id = $1", vec![sent.id.into()])
        .await?;
    drop(connection);
    let is_right = match rows.first().and_then(|row| row.get::<_, Option<String>>("pin")) {
        Some(hash) => admission.verify(&sent.pin, &hash).await?,
        None => {
            admission.verify_dummy(&sent.pin).await?;
            false
        }
    };
    Ok(Answer::text(if is_right { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }, ""))
}
