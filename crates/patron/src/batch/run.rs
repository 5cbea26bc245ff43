//! Places the requests of stored batches.

use super::store::{self, BatchStatus, Line, LineStatus};
use carrel_circulation::desk::override_blocks::MayOverride;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{FulfillmentPreference, RequestLevel, RequestType};
use carrel_platform::Tenant;
use carrel_platform::http::Caller;
use carrel_platform::jobs::Job;
use carrel_records::{Failure, Refusal, RefusalCode};
use carrel_requests::actor::Actor;
use carrel_requests::place::{Facts, PlaceRequest, place_as};
use carrel_requests::policy::RequestPolicy;
use jiff::Timestamp;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Places the requests of stored batches.
pub static PLACING: Job = Job {
    name: "patron-batch-requests",
    every: Duration::from_secs(60),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            let (placed, failed) = place_all(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{placed} requests placed, {failed} refused"))
        })
    },
};

/// At most this many lines are read at once.
const PAGE: i64 = 100;

/// Places all open lines; returns the numbers of requests placed and refused.
async fn place_all(tenant: &Arc<Tenant>, now: Timestamp) -> Result<(usize, usize), Failure> {
    let (mut placed, mut failed) = (0, 0);
    loop {
        let waiting = store::waiting(&tenant.writer().await?, PAGE).await?;
        let nothing_left = waiting.is_empty();
        for batch in &waiting {
            for line in &batch.lines {
                match place_one(tenant, batch, line, now).await {
                    Ok(()) => {
                        note(tenant, batch, line, LineStatus::Completed, None).await?;
                        placed += 1;
                    }
                    // It may succeed later; requests placed so far are committed.
                    Err(Failure::Unavailable(request)) => return Err(Failure::Unavailable(request)),
                    Err(failure) => {
                        note(tenant, batch, line, LineStatus::Failed, Some(message_of(&failure, line)))
                            .await?;
                        failed += 1;
                    }
                }
            }
        }
        store::end(&tenant.writer().await?, now).await?;
        if nothing_left {
            return Ok((placed, failed));
        }
    }
}

async fn note(
    tenant: &Tenant,
    batch: &BatchStatus,
    line: &Line,
    status: LineStatus,
    error: Option<String>,
) -> Result<(), Failure> {
    store::note(&tenant.writer().await?, batch.id, line.place, status, error).await
}

/// The error message of a failed line.
fn message_of(failure: &Failure, line: &Line) -> String {
    match failure {
        Failure::Refused(refusals) => {
            let request: Vec<&str> = refusals.iter().map(|refusal| refusal.message.as_str()).collect();
            request.join("; ")
        }
        Failure::NotFound(request) | Failure::Invalid(request) | Failure::Misconfigured(request) => {
            request.clone()
        }
        _ => format!("Failed to create request for item {}", line.item),
    }
}

async fn place_one(
    tenant: &Arc<Tenant>,
    batch: &BatchStatus,
    line: &Line,
    now: Timestamp,
) -> Result<(), Failure> {
    let placed_before = tenant
        .writer()
        .await?
        .query("SELECT 1 FROM request WHERE id = $1", vec![line.request.into()])
        .await?;
    if !placed_before.is_empty() {
        return Ok(());
    }
    let request = json!({
        "id": line.request, "requestLevel": RequestLevel::Item, "itemId": line.item, "requesterId": batch.requester,
        "requestDate": batch.document["requestDate"], "fulfillmentPreference": FulfillmentPreference::HoldShelf,
        "pickupServicePointId": line.pickup, "patronComments": comments(batch),
    });
    let document = request.as_object().cloned().unwrap_or_default();
    let order = PlaceRequest { document, by_item: true, ..PlaceRequest::default() };
    let by = batch.document["metadata"]["createdByUserId"].as_str();
    let actor = Actor {
        caller: Caller { user_id: by.and_then(|by| Uuid::parse_str(by).ok()), ..Caller::default() },
        may: MayOverride::default(),
        now,
        request_id: line.request,
    };
    place_as(tenant, order, &actor, |facts, settings| kind_for(facts, batch.id, line, settings)).await?;
    Ok(())
}

fn comments(batch: &BatchStatus) -> String {
    let id = format!("Batch request ID: {}", batch.id);
    match batch.document["patronComments"].as_str() {
        Some(comments) => format!("{comments}\n\n\n{id}"),
        None => id,
    }
}

/// The first request type that policy, status and pickup service point allow.
fn kind_for(
    facts: &Facts,
    batch: Uuid,
    line: &Line,
    settings: &CirculationSettings,
) -> Result<RequestType, Failure> {
    let copy = facts
        .candidates
        .first()
        .ok_or_else(|| Failure::NotFound(format!("Item with ID [{}] was not found", line.item)))?;
    let group = facts.requester.as_ref().and_then(|patron| patron.patron_group);
    let policy = RequestPolicy::of_item(settings, &copy.item, group)?;
    let point = settings.service_points.get(&line.pickup);
    let is_pickup = point.is_some_and(|point| point.pickup_location == Some(true));
    let pickup = line.pickup.to_string();
    [RequestType::Page, RequestType::Hold, RequestType::Recall]
        .into_iter()
        .find(|kind| {
            is_pickup
                && policy.allows(*kind)
                && kind.is_possible_for(&copy.item.status)
                && policy.allows_service_point(*kind, &pickup)
        })
        .ok_or_else(|| {
            Refusal::new("Not allowed to create Request for the given service point id.")
                .with("servicePointId", pickup)
                .with("batchId", batch.to_string())
                .with("itemId", line.item.to_string())
                .code(RefusalCode::BatchServicePointNotAllowed)
                .into()
        })
}
