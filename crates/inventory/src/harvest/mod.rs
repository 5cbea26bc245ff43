//! Harvesting by discovery systems, OAI-PMH servers and reporting tools: which instances have changed since a date, and
//! their holdings records and items.
//!
//! Routes: `/inventory-hierarchy/updated-instance-ids`, `/inventory-hierarchy/items-and-holdings`,
//! `/oai-pmh-view/instances`, `/oai-pmh-view/updatedInstanceIds`, `/oai-pmh-view/enrichedInstances`. Reads
//! instances, holdings records, items and `deletion`; changes nothing. Answers are streamed as concatenated JSON
//! objects.

mod contents;
mod fragments;
mod oai;
mod request;
mod row;
mod updated;

use carrel_platform::record_store::stream;
use carrel_platform::{Answer, Bind, Call, Router};
use carrel_records::Failure;
use request::{ChangesRequest, ContentsRequest};

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", "/inventory-hierarchy/updated-instance-ids", |call: Call| async move {
        let harvest = ChangesRequest::read(&call.query)?;
        sent(call, harvest.statement(&updated::ids()), &updated::ID_COLUMNS).await
    });
    router.on("POST", "/inventory-hierarchy/items-and-holdings", |call: Call| async move {
        let titles = ContentsRequest::read(&call)?;
        sent(call, (contents::holdings_and_items(), titles.binds()), &contents::COLUMNS).await
    });
    router.on("GET", "/oai-pmh-view/updatedInstanceIds", |call: Call| async move {
        let harvest = ChangesRequest::read(&call.query)?.of_everything();
        sent(call, harvest.statement(&updated::ids()), &oai::ID_COLUMNS).await
    });
    router.on("GET", "/oai-pmh-view/instances", |call: Call| async move {
        let harvest = ChangesRequest::read(&call.query)?.of_everything();
        sent(call, harvest.statement(&oai::updated()), &oai::UPDATED_COLUMNS).await
    });
    router.on("POST", "/oai-pmh-view/enrichedInstances", |call: Call| async move {
        let titles = ContentsRequest::read(&call)?;
        sent(call, (oai::enriched(), titles.binds()), &oai::ENRICHED_COLUMNS).await
    });
}

/// The rows of a statement, each as an object with these properties.
async fn sent(
    call: Call,
    statement: (String, Vec<Bind>),
    columns: &'static [row::Column],
) -> Result<Answer, Failure> {
    stream::bare(&call, statement, Box::new(move |row| row::shown(row, columns))).await
}
