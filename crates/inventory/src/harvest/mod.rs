//! Harvesting: what discovery systems, OAI-PMH servers and reporting tools fetch in bulk: which titles have changed
//! since they last asked, and what the library holds of them.
//!
//! Routes: `/inventory-hierarchy/updated-instance-ids`, `/inventory-hierarchy/items-and-holdings`,
//! `/oai-pmh-view/instances`, `/oai-pmh-view/updatedInstanceIds`, `/oai-pmh-view/enrichedInstances`. Reads titles,
//! holdings records, items and the notes of what is gone (`deletions`); changes nothing. Everything is sent as it
//! is read, one JSON object behind the other.

mod asked;
mod contents;
mod oai;
mod pieces;
mod row;
mod updated;

use asked::{Harvest, Titles};
use carrel_platform::record_store::stream;
use carrel_platform::{Answer, Bind, Call, Router};
use carrel_records::Failure;

/// Connects the use case.
pub fn routes(router: &mut Router) {
    router.on("GET", "/inventory-hierarchy/updated-instance-ids", |call: Call| async move {
        let harvest = Harvest::read(&call.query)?;
        sent(call, harvest.statement(&updated::ids()), &updated::ID_COLUMNS).await
    });
    router.on("POST", "/inventory-hierarchy/items-and-holdings", |call: Call| async move {
        let titles = Titles::read(&call)?;
        sent(call, (contents::holdings_and_items(), titles.binds()), &contents::COLUMNS).await
    });
    router.on("GET", "/oai-pmh-view/updatedInstanceIds", |call: Call| async move {
        let harvest = Harvest::read(&call.query)?.of_everything();
        sent(call, harvest.statement(&updated::ids()), &oai::ID_COLUMNS).await
    });
    router.on("GET", "/oai-pmh-view/instances", |call: Call| async move {
        let harvest = Harvest::read(&call.query)?.of_everything();
        sent(call, harvest.statement(&oai::updated()), &oai::UPDATED_COLUMNS).await
    });
    router.on("POST", "/oai-pmh-view/enrichedInstances", |call: Call| async move {
        let titles = Titles::read(&call)?;
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
