//! The summary of an instance: numbers of holdings records and items, in total and as discovery shows them, and
//! aggregates over its items.
//!
//! Routes: `/instance-storage/instances/{id}/summary`. Reads the instance, its holdings records and items, including
//! those bound with them; changes nothing.

mod decide;
mod facts;

use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", "/instance-storage/instances/{id}/summary", show);
}

async fn show(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    match facts::gather(&connection, call.id(0)?).await? {
        Some(facts) => Ok(Answer::json(&decide::summary(&facts))),
        None => Err(Failure::NotFound("Not found".into())),
    }
}
