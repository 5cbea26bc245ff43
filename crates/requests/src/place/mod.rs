//! Placing a request: a patron asks for an item, or for any item of a title.
//!
//! Routes: `POST /circulation/requests`. Reads patron, proxy, blocks, title, items with their loans, the end of
//! the queue; creates the request at the end of its queue, pages an item or recalls a loan, announces
//! `circulation.request` and `circulation.loan`. Two pipelines: facts, changes.

pub(super) mod apply;
mod choose;
mod copies;
pub(super) mod decide;
pub(super) mod facts;
pub(super) mod requester;
pub(super) mod suits;

use self::copies::{Look, Looked};
use super::view::{LoanContext, extended};
use carrel_circulation::desk::OverrideBlocks;
use carrel_circulation::desk::override_blocks::MayOverride;
use carrel_circulation::request_snapshot::Related;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self as words, Kind};
use carrel_platform::http::{Caller, pretty};
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Call, Router, Tenant};
use carrel_records::{Failure, Refusal};
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

pub use decide::Placed;
pub use facts::Facts;

/// What is asked for: the request as sent, and the blocks that staff override.
#[derive(Debug, Clone, Default)]
pub struct PlaceRequest {
    pub document: Map<String, Value>,
    pub overrides: OverrideBlocks,
    /// Only the item is named: its holdings record and title are looked up with the facts.
    pub by_item: bool,
}

/// Who asks, and when.
#[derive(Clone)]
pub struct Actor {
    pub caller: Caller,
    pub may: MayOverride,
    pub now: Timestamp,
    /// Id of the request, should the client give none.
    pub request_id: Uuid,
}

impl Actor {
    pub fn of(call: &Call) -> Actor {
        Actor {
            caller: call.caller.clone(),
            may: MayOverride::of(&call.caller),
            now: call.now,
            request_id: Uuid::new_v7(uuid_time(call.now)),
        }
    }
}

impl PlaceRequest {
    /// Takes the overrides out of a request as sent.
    pub fn read(mut document: Map<String, Value>) -> Result<PlaceRequest, Failure> {
        let parameters = document.remove("requestProcessingParameters");
        let overrides = match parameters.as_ref().and_then(|parameters| parameters.get("overrideBlocks")) {
            None | Some(Value::Null) => OverrideBlocks::default(),
            Some(blocks) => serde_json::from_value(blocks.clone())
                .map_err(|error| Failure::Invalid(format!("overrideBlocks cannot be read: {error}")))?,
        };
        // Clients from before title-level requests name the item only.
        let by_item =
            !["requestLevel", "holdingsRecordId", "instanceId"].iter().any(|key| document.contains_key(*key));
        if by_item {
            document.insert("requestLevel".into(), "Item".into());
        }
        // Clients write the level in any case; it is kept as FOLIO spells it.
        if let Some(Value::String(level)) = document.get_mut("requestLevel")
            && let Some(known) = ["Item", "Title"].into_iter().find(|known| known.eq_ignore_ascii_case(level))
        {
            *level = known.to_owned();
        }
        Ok(PlaceRequest { document, overrides, by_item })
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        words::text(&self.document, key)
    }
    pub fn id(&self, key: &str) -> Option<Uuid> {
        words::id(&self.document, key)
    }
    /// The value as it was sent, for a refusal; `None` where there was none.
    pub fn sent(&self, key: &str) -> Option<String> {
        self.document.get(key).and_then(Value::as_str).map(str::to_owned)
    }
    pub fn kind(&self) -> Option<Kind> {
        self.text("requestType").and_then(Kind::named)
    }
    pub fn is_title_level(&self) -> bool {
        self.text("requestLevel").is_some_and(|level| level.eq_ignore_ascii_case("Title"))
    }
}

/// A request that was placed, with what is shown beside it.
pub struct Receipt {
    pub placed: Placed,
    pub facts: Facts,
    pub settings: Arc<CirculationSettings>,
}

/// Places a request, durably.
pub async fn place(tenant: &Arc<Tenant>, mut order: PlaceRequest, actor: &Actor) -> Result<Receipt, Failure> {
    let recall = order.kind() == Some(Kind::Recall);
    let (tx, facts, settings) = facts::gather(tenant, &mut order, recall, actor.now).await?;
    let mut placed = decide::decide(&facts, &order, actor, &settings)?;
    apply::apply(tx, tenant, &mut placed, actor).await?;
    Ok(Receipt { placed, facts, settings })
}

/// Places a request of the type that is found once item, requester and rules are known.
pub async fn place_as(
    tenant: &Arc<Tenant>,
    mut order: PlaceRequest,
    actor: &Actor,
    kind: impl FnOnce(&Facts, &CirculationSettings) -> Result<Kind, Failure>,
) -> Result<Receipt, Failure> {
    let (tx, facts, settings) = facts::gather(tenant, &mut order, true, actor.now).await?;
    order.document.insert("requestType".into(), kind(&facts, &settings)?.text().into());
    let mut placed = decide::decide(&facts, &order, actor, &settings)?;
    apply::apply(tx, tenant, &mut placed, actor).await?;
    Ok(Receipt { placed, facts, settings })
}

/// Places a request as the first of these types that is not refused, from one look at the facts; else gives the
/// first refusal of each type.
pub async fn place_first_of(
    tenant: &Arc<Tenant>,
    mut order: PlaceRequest,
    kinds: &[Kind],
    actor: &Actor,
) -> Result<Receipt, Failure> {
    let recall = kinds.contains(&Kind::Recall);
    let (tx, facts, settings) = facts::gather(tenant, &mut order, recall, actor.now).await?;
    let mut placed = first_of(kinds, &mut order, &facts, actor, &settings).map_err(Failure::Refused)?;
    apply::apply(tx, tenant, &mut placed, actor).await?;
    Ok(Receipt { placed, facts, settings })
}

/// Places a request for the first copy of a title for which some type of request is not refused; `None` where the
/// library takes requests for titles. The wish names the title; `in_order` makes an item-level request for each
/// copy, the most promising first.
///
/// Two pipelines where one of the most promising copies can be had; two more where all have to be looked at.
pub async fn place_for_a_copy(
    tenant: &Arc<Tenant>,
    wish: &PlaceRequest,
    actor: &Actor,
    in_order: impl Fn(&Facts, &CirculationSettings) -> Result<Vec<Map<String, Value>>, Failure>,
) -> Result<Option<Receipt>, Failure> {
    for look in [Look::Best, Look::All] {
        let Some(looked) = copies::gather(tenant, wish, look, actor.now).await? else { return Ok(None) };
        let more = looked.more;
        match place_for_one_of(looked, tenant, actor, &in_order).await {
            Err(Failure::Refused(_)) if more => {}
            placed => return placed.map(Some),
        }
    }
    Err(Failure::internal("a look at all copies is the last one"))
}

/// Places a request for the first of the copies looked at that can be had.
async fn place_for_one_of(
    looked: Looked,
    tenant: &Tenant,
    actor: &Actor,
    in_order: impl Fn(&Facts, &CirculationSettings) -> Result<Vec<Map<String, Value>>, Failure>,
) -> Result<Receipt, Failure> {
    let Looked { tx, mut facts, settings, .. } = looked;
    let mut refusals = Vec::new();
    for document in in_order(&facts, &settings)? {
        let mut order = PlaceRequest { document, ..PlaceRequest::default() };
        let copy = facts.candidates.iter().find(|copy| Some(copy.item.id) == order.id("itemId"));
        facts.last_position = copy.map_or(0, |copy| copy.last_position);
        match first_of(&Kind::BY_SPEED, &mut order, &facts, actor, &settings) {
            Err(more) => refusals.extend(more),
            Ok(mut placed) => {
                apply::apply(tx, tenant, &mut placed, actor).await?;
                return Ok(Receipt { placed, facts, settings });
            }
        }
    }
    Err(Failure::Refused(refusals))
}

/// What the first of these types that is not refused makes of the order; else the first refusal of each type.
fn first_of(
    kinds: &[Kind],
    order: &mut PlaceRequest,
    facts: &Facts,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Placed, Vec<Refusal>> {
    let mut refusals = Vec::new();
    for kind in kinds {
        order.document.insert("requestType".into(), kind.text().into());
        match decide::decide(facts, order, actor, settings) {
            Err(failure) => refusals.extend(first_refusal(failure)),
            Ok(placed) => return Ok(placed),
        }
    }
    Err(refusals)
}

/// One way that did not succeed, as one of several is reported.
fn first_refusal(failure: Failure) -> Vec<Refusal> {
    match failure {
        Failure::Refused(refusals) => refusals.into_iter().take(1).collect(),
        other => vec![Refusal::new(other.to_string())],
    }
}

impl Receipt {
    /// The request as clients see it.
    pub fn extended(&self) -> Value {
        let Receipt { placed, facts, settings } = self;
        let beside = LoanContext {
            around: Related {
                item: placed.item.as_ref(),
                title: facts.title.as_ref(),
                requester: facts.requester.as_ref(),
                proxy: facts.proxy.as_ref(),
            },
            item_status: placed.item_becomes,
            due_date: placed.due_date(),
            printed_by: None,
        };
        extended(&placed.document, &beside, settings)
    }
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests", |call| async move {
        let order = PlaceRequest::read(call.object()?)?;
        let receipt = place(call.tenant()?, order, &Actor::of(&call)).await?;
        Ok(Answer::json_bytes(pretty(&receipt.extended()))
            .status(StatusCode::CREATED)
            .location(format!("/circulation/requests/{}", receipt.placed.id)))
    });
}
