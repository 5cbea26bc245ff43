//! Circulation items: items of other libraries that are checked out here (mod-circulation-item). They are stored as
//! items with `dcbItem`.
//!
//! Routes, of tenants with stand-ins: `/circulation-item…`.

use super::save;
use crate::batch;
use crate::records::items::ITEM;
use crate::store::WriteMode;
use carrel_platform::record_store::routes;
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use serde_json::json;

pub fn connect(router: &mut Router) {
    router.on_stand_in("GET", "/circulation-item", |call| routes::list(&ITEM, call));
    router.on_stand_in("GET", "/circulation-item/{id}", |call| routes::find(&ITEM, call));
    router.on_stand_in("POST", "/circulation-item", create);
    router.on_stand_in("PUT", "/circulation-item/{id}", replace);
    router.on_stand_in("DELETE", "/circulation-item/{id}", super::delete);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    // An item without status can be requested.
    document.entry("status").or_insert_with(|| json!({"name": ""}));
    let stored = save(&call, vec![document], WriteMode::create_in(call.tenant()?)).await?;
    batch::created(&ITEM, stored)
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    save(&call, vec![batch::body_with_path_id(&call)?], WriteMode::Replace).await?;
    Ok(Answer::no_content())
}
