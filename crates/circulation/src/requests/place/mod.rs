//! Placing a request: a patron asks for an item, or for any item of a title.
//!
//! Routes: `POST /circulation/requests`. Reads patron, proxy, blocks, title, items with their loans, the end of
//! the queue; creates the request at the end of its queue, pages an item or recalls a loan, announces
//! `circulation.request` and `circulation.loan`. Two flights: facts, changes.

pub(super) mod apply;
mod choose;
mod copies;
pub(super) mod decide;
pub(super) mod facts;
pub(super) mod requester;
pub(super) mod suits;

use self::copies::{Look, Looked};
use super::snapshot::Around;
use super::view::{Beside, extended};
use super::words::{self, Kind};
use crate::desk::OverrideBlocks;
use crate::desk::override_blocks::MayOverride;
use crate::rulebook::Rulebook;
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
pub struct Order {
    pub document: Map<String, Value>,
    pub overrides: OverrideBlocks,
    /// Only the item is named: its holdings record and title are looked up with the facts.
    pub by_item: bool,
}

/// Who asks, and when.
#[derive(Clone)]
pub struct Asking {
    pub caller: Caller,
    pub may: MayOverride,
    pub now: Timestamp,
    /// Id of the request, should the client give none.
    pub request_id: Uuid,
}

impl Asking {
    pub fn of(call: &Call) -> Asking {
        Asking {
            caller: call.caller.clone(),
            may: MayOverride::of(&call.caller),
            now: call.now,
            request_id: Uuid::new_v7(uuid_time(call.now)),
        }
    }
}

impl Order {
    /// Takes the overrides out of a request as sent.
    pub fn read(mut document: Map<String, Value>) -> Result<Order, Failure> {
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
        Ok(Order { document, overrides, by_item })
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
    pub book: Arc<Rulebook>,
}

/// Places a request, durably.
pub async fn place(tenant: &Arc<Tenant>, mut order: Order, asking: &Asking) -> Result<Receipt, Failure> {
    let recall = order.kind() == Some(Kind::Recall);
    let (tx, facts, book) = facts::gather(tenant, &mut order, recall).await?;
    let mut placed = decide::decide(&facts, &order, asking, &book)?;
    apply::apply(tx, tenant, &mut placed, asking).await?;
    Ok(Receipt { placed, facts, book })
}

/// Places a request of the type that is found once item, requester and rules are known.
pub async fn place_as(
    tenant: &Arc<Tenant>,
    mut order: Order,
    asking: &Asking,
    kind: impl FnOnce(&Facts, &Rulebook) -> Result<Kind, Failure>,
) -> Result<Receipt, Failure> {
    let (tx, facts, book) = facts::gather(tenant, &mut order, true).await?;
    order.document.insert("requestType".into(), kind(&facts, &book)?.text().into());
    let mut placed = decide::decide(&facts, &order, asking, &book)?;
    apply::apply(tx, tenant, &mut placed, asking).await?;
    Ok(Receipt { placed, facts, book })
}

/// Places a request as the first of these types that is not refused, from one look at the facts; else gives the
/// first refusal of each type.
pub async fn place_first_of(
    tenant: &Arc<Tenant>,
    mut order: Order,
    kinds: &[Kind],
    asking: &Asking,
) -> Result<Receipt, Failure> {
    let recall = kinds.contains(&Kind::Recall);
    let (tx, facts, book) = facts::gather(tenant, &mut order, recall).await?;
    let mut placed = first_of(kinds, &mut order, &facts, asking, &book).map_err(Failure::Refused)?;
    apply::apply(tx, tenant, &mut placed, asking).await?;
    Ok(Receipt { placed, facts, book })
}

/// Places a request for the first copy of a title for which some type of request is not refused; `None` where the
/// library takes requests for titles. The wish names the title; `in_order` makes an item-level request for each
/// copy, the most promising first.
///
/// Two flights where one of the most promising copies can be had; two more where all have to be looked at.
pub async fn place_for_a_copy(
    tenant: &Arc<Tenant>,
    wish: &Order,
    asking: &Asking,
    in_order: impl Fn(&Facts, &Rulebook) -> Result<Vec<Map<String, Value>>, Failure>,
) -> Result<Option<Receipt>, Failure> {
    for look in [Look::Best, Look::All] {
        let Some(looked) = copies::gather(tenant, wish, look).await? else { return Ok(None) };
        let more = looked.more;
        match place_for_one_of(looked, tenant, asking, &in_order).await {
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
    asking: &Asking,
    in_order: impl Fn(&Facts, &Rulebook) -> Result<Vec<Map<String, Value>>, Failure>,
) -> Result<Receipt, Failure> {
    let Looked { tx, mut facts, book, .. } = looked;
    let mut refusals = Vec::new();
    for document in in_order(&facts, &book)? {
        let mut order = Order { document, ..Order::default() };
        let copy = facts.candidates.iter().find(|copy| Some(copy.item.id) == order.id("itemId"));
        facts.last_position = copy.map_or(0, |copy| copy.last_position);
        match first_of(&Kind::BY_SPEED, &mut order, &facts, asking, &book) {
            Err(more) => refusals.extend(more),
            Ok(mut placed) => {
                apply::apply(tx, tenant, &mut placed, asking).await?;
                return Ok(Receipt { placed, facts, book });
            }
        }
    }
    Err(Failure::Refused(refusals))
}

/// What the first of these types that is not refused makes of the order; else the first refusal of each type.
fn first_of(
    kinds: &[Kind],
    order: &mut Order,
    facts: &Facts,
    asking: &Asking,
    book: &Rulebook,
) -> Result<Placed, Vec<Refusal>> {
    let mut refusals = Vec::new();
    for kind in kinds {
        order.document.insert("requestType".into(), kind.text().into());
        match decide::decide(facts, order, asking, book) {
            Err(failure) => refusals.extend(first_refusal(failure)),
            Ok(placed) => return Ok(placed),
        }
    }
    Err(refusals)
}

/// One way that did not succeed, as one of several is told.
fn first_refusal(failure: Failure) -> Vec<Refusal> {
    match failure {
        Failure::Refused(refusals) => refusals.into_iter().take(1).collect(),
        other => vec![Refusal::new(other.to_string())],
    }
}

impl Receipt {
    /// The request as clients see it.
    pub fn extended(&self) -> Value {
        let Receipt { placed, facts, book } = self;
        let beside = Beside {
            around: Around {
                item: placed.item.as_ref(),
                title: facts.title.as_ref(),
                requester: facts.requester.as_ref(),
                proxy: facts.proxy.as_ref(),
            },
            item_status: placed.item_becomes,
            due_date: placed.due_date(),
            printed_by: None,
        };
        extended(&placed.document, &beside, book)
    }
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests", |call| async move {
        let order = Order::read(call.object()?)?;
        let receipt = place(call.tenant()?, order, &Asking::of(&call)).await?;
        Ok(Answer::json_bytes(pretty(&receipt.extended()))
            .status(StatusCode::CREATED)
            .location(format!("/circulation/requests/{}", receipt.placed.id)))
    });
}
