//! Places a request for an item, or for any item of an instance.
//!
//! Routes: `POST /circulation/requests`. Reads patron, proxy, blocks, instance, items with their loans, the end of the
//! queue; creates the request at the end of its queue, pages an item or recalls a loan, announces
//! `circulation.request` and `circulation.loan`. Two round trips: facts, changes.

pub(super) mod apply;
mod best_items;
mod choose;
pub(super) mod decide;
pub(super) mod eligibility;
pub(super) mod facts;
pub(super) mod requester;

use self::best_items::{Candidates, Scope};
use super::view::{DisplayContext, extended};
use crate::actor::Actor;
use carrel_circulation::desk::OverrideBlocks;
use carrel_circulation::request_snapshot::Related;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, RequestLevel, RequestType};
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Router, Tenant};
use carrel_records::{Failure, Refusal};
use http::StatusCode;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

pub use decide::Placement;
pub use facts::Facts;

/// The command: the request as sent, and the overridden blocks.
#[derive(Debug, Clone, Default)]
pub struct PlaceRequest {
    pub document: Map<String, Value>,
    pub overrides: OverrideBlocks,
    /// The client sends only the item: holdings record and instance are read with the facts.
    pub by_item: bool,
}

impl PlaceRequest {
    /// Parses a request as sent and removes the overrides from it.
    pub fn read(mut document: Map<String, Value>) -> Result<PlaceRequest, Failure> {
        let parameters = document.remove("requestProcessingParameters");
        let overrides = match parameters.as_ref().and_then(|parameters| parameters.get("overrideBlocks")) {
            None | Some(Value::Null) => OverrideBlocks::default(),
            Some(blocks) => serde_json::from_value(blocks.clone())
                .map_err(|error| Failure::Invalid(format!("overrideBlocks cannot be read: {error}")))?,
        };
        // Clients older than title-level requests send only the item.
        let by_item =
            !["requestLevel", "holdingsRecordId", "instanceId"].iter().any(|key| document.contains_key(*key));
        if by_item {
            document.insert("requestLevel".into(), RequestLevel::Item.into());
        }
        // Clients write the level in any letter case; it is stored in FOLIO's spelling.
        if let Some(Value::String(level)) = document.get_mut("requestLevel")
            && let Some(known) = RequestLevel::parse_ignoring_case(level)
        {
            *level = known.to_string();
        }
        Ok(PlaceRequest { document, overrides, by_item })
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        request::text(&self.document, key)
    }
    pub fn id(&self, key: &str) -> Option<Uuid> {
        request::id(&self.document, key)
    }
    /// The value as it was sent, for a refusal; `None` if absent.
    pub fn sent(&self, key: &str) -> Option<String> {
        self.document.get(key).and_then(Value::as_str).map(str::to_owned)
    }
    pub fn kind(&self) -> Option<RequestType> {
        request::kind(&self.document)
    }
    pub fn is_title_level(&self) -> bool {
        self.text("requestLevel").and_then(RequestLevel::parse_ignoring_case) == Some(RequestLevel::Title)
    }
}

/// A placed request with its related records.
pub struct PlacedRequest {
    pub placed: Placement,
    pub facts: Facts,
    pub settings: Arc<CirculationSettings>,
}

/// Places a request and commits it.
pub async fn place(
    tenant: &Arc<Tenant>,
    mut command: PlaceRequest,
    actor: &Actor,
) -> Result<PlacedRequest, Failure> {
    let recall = command.kind() == Some(RequestType::Recall);
    let (tx, facts, settings) = facts::gather(tenant, &mut command, recall, actor.now).await?;
    let mut placed = decide::decide(&facts, &command, actor, &settings)?;
    apply::apply(tx, tenant, &mut placed, &settings, actor).await?;
    Ok(PlacedRequest { placed, facts, settings })
}

/// Places a request whose type depends on item, requester and rules.
pub async fn place_as(
    tenant: &Arc<Tenant>,
    mut command: PlaceRequest,
    actor: &Actor,
    kind: impl FnOnce(&Facts, &CirculationSettings) -> Result<RequestType, Failure>,
) -> Result<PlacedRequest, Failure> {
    let (tx, facts, settings) = facts::gather(tenant, &mut command, true, actor.now).await?;
    command.document.insert("requestType".into(), kind(&facts, &settings)?.into());
    let mut placed = decide::decide(&facts, &command, actor, &settings)?;
    apply::apply(tx, tenant, &mut placed, &settings, actor).await?;
    Ok(PlacedRequest { placed, facts, settings })
}

/// Places a request as the first of these types that is not refused, with the facts read once; otherwise returns the
/// first refusal of each type.
pub async fn place_first_of(
    tenant: &Arc<Tenant>,
    mut command: PlaceRequest,
    kinds: &[RequestType],
    actor: &Actor,
) -> Result<PlacedRequest, Failure> {
    let recall = kinds.contains(&RequestType::Recall);
    let (tx, facts, settings) = facts::gather(tenant, &mut command, recall, actor.now).await?;
    let mut placed = first_of(kinds, &mut command, &facts, actor, &settings).map_err(Failure::Refused)?;
    apply::apply(tx, tenant, &mut placed, &settings, actor).await?;
    Ok(PlacedRequest { placed, facts, settings })
}

/// Places a request for the first item of an instance for which some type is not refused; `None` if title-level
/// requests are enabled. `in_order` creates an item-level request for each item, the best first.
///
/// Two round trips if one of the best items can be requested; two more if all items are read.
pub async fn place_for_a_copy(
    tenant: &Arc<Tenant>,
    request: &PlaceRequest,
    actor: &Actor,
    in_order: impl Fn(&Facts, &CirculationSettings) -> Result<Vec<Map<String, Value>>, Failure>,
) -> Result<Option<PlacedRequest>, Failure> {
    for scope in [Scope::Best, Scope::All] {
        let Some(candidates) = best_items::gather(tenant, request, scope, actor.now).await? else {
            return Ok(None);
        };
        let more = candidates.more;
        match place_for_one_of(candidates, tenant, actor, &in_order).await {
            Err(Failure::Refused(_)) if more => {}
            placed => return placed.map(Some),
        }
    }
    Err(Failure::internal("no scope follows the one with all items"))
}

/// Places a request for the first item read that can be requested.
async fn place_for_one_of(
    candidates: Candidates,
    tenant: &Arc<Tenant>,
    actor: &Actor,
    in_order: impl Fn(&Facts, &CirculationSettings) -> Result<Vec<Map<String, Value>>, Failure>,
) -> Result<PlacedRequest, Failure> {
    let Candidates { tx, mut facts, settings, .. } = candidates;
    let mut refusals = Vec::new();
    for document in in_order(&facts, &settings)? {
        let mut command = PlaceRequest { document, ..PlaceRequest::default() };
        let item_as = facts.candidates.iter().find(|item_as| Some(item_as.item.id) == command.id("itemId"));
        facts.last_position = item_as.map_or(0, |item_as| item_as.last_position);
        match first_of(&RequestType::FASTEST_FIRST, &mut command, &facts, actor, &settings) {
            Err(more) => refusals.extend(more),
            Ok(mut placed) => {
                apply::apply(tx, tenant, &mut placed, &settings, actor).await?;
                return Ok(PlacedRequest { placed, facts, settings });
            }
        }
    }
    Err(Failure::Refused(refusals))
}

/// The placement as the first of these types that is not refused; otherwise the first refusal of each type.
fn first_of(
    kinds: &[RequestType],
    command: &mut PlaceRequest,
    facts: &Facts,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Placement, Vec<Refusal>> {
    let mut refusals = Vec::new();
    for kind in kinds {
        command.document.insert("requestType".into(), (*kind).into());
        match decide::decide(facts, command, actor, settings) {
            Err(failure) => refusals.extend(first_refusal(failure)),
            Ok(placed) => return Ok(placed),
        }
    }
    Err(refusals)
}

/// The refusal of one type that is reported among several.
fn first_refusal(failure: Failure) -> Vec<Refusal> {
    match failure {
        Failure::Refused(refusals) => refusals.into_iter().take(1).collect(),
        other => vec![Refusal::new(other.to_string())],
    }
}

impl PlacedRequest {
    /// The request in the form of the circulation API.
    pub fn extended(&self) -> Value {
        let PlacedRequest { placed, facts, settings } = self;
        let context = DisplayContext {
            related: Related {
                item: placed.item.as_ref(),
                title: facts.title.as_ref(),
                requester: facts.requester.as_ref(),
                proxy: facts.proxy.as_ref(),
            },
            item_status: placed.item_becomes.as_ref(),
            due_date: placed.due_date(),
            printed_by: None,
        };
        extended(&placed.document, &context, settings)
    }
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests", |call| async move {
        let command = PlaceRequest::read(call.object()?)?;
        let receipt = place(call.tenant()?, command, &Actor::of(&call)).await?;
        Ok(Answer::json_bytes(pretty(&receipt.extended()))
            .status(StatusCode::CREATED)
            .location(format!("/circulation/requests/{}", receipt.placed.id)))
    });
}
