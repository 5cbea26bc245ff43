//! Whether the request may be placed, and what changes when it is (circulation.md 6.1).

use super::choose::{self, Choice};
use super::facts::{Candidate, Facts, OpenLoan};
use super::requester::{
    refuse_for_blocks, refuse_for_proxy, refuse_for_requester, refuse_if_already_requested,
};
use super::suits::{refuse_by_policy, refuse_for_item, refuse_title_that_can_be_paged};
use super::{Actor, PlaceRequest};
use crate::effects::{recall, status_after};
use crate::form::{
    expiration_at_end_of_day, refuse_fulfillment, refuse_level, refuse_pickup, status, without_related,
};
use carrel_circulation::desk::{ItemAtDesk, queue};
use carrel_circulation::request_snapshot::{self as snapshot, Related};
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self as words, Kind};
use carrel_records::{Failure, Refusal, time};
use serde_json::{Map, Value};
use uuid::Uuid;

/// What changes when the request is placed.
#[derive(Debug, Clone)]
pub struct Placed {
    pub id: Uuid,
    /// The request to be stored.
    pub document: Map<String, Value>,
    pub queue: Option<Uuid>,
    pub item: Option<ItemAtDesk>,
    /// The item's new status, where it changes.
    pub item_becomes: Option<&'static str>,
    pub loan: Option<OpenLoan>,
    /// The loan as it is after the recall, where it changes.
    pub recalled: Option<Map<String, Value>>,
}

impl Placed {
    /// When the item is due back.
    pub fn due_date(&self) -> Option<&str> {
        let loan = self.recalled.as_ref().or(self.loan.as_ref().map(|loan| &loan.document))?;
        words::text(loan, "dueDate")
    }
}

/// Refusals on which later checks depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    InstanceId,
    ItemId,
    TitleWithItem,
    NoInstance,
    NoItem,
    Requester,
    NothingToRecall,
    Other,
}

#[derive(Default)]
pub(super) struct Found {
    refusals: Vec<Refusal>,
    faults: Vec<Fault>,
}

impl Found {
    pub(super) fn add(&mut self, fault: Fault, refusal: Refusal) {
        // The same refusal twice says nothing new.
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
        self.faults.push(fault);
    }
    pub(super) fn none(&self, faults: &[Fault]) -> bool {
        !self.faults.iter().any(|fault| faults.contains(fault))
    }
}

/// Refusals in the order of the checks, or the request.
pub fn decide(
    facts: &Facts,
    order: &PlaceRequest,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Placed, Failure> {
    let title_level = refuse_at_once(order, settings)?;
    let mut found = Found::default();
    refuse_missing(order, title_level, &mut found);
    if found.none(&[Fault::InstanceId]) && facts.title.is_none() {
        found.add(Fault::NoInstance, with_sent("Instance does not exist", "instanceId", order));
    }
    let group = facts.requester.as_ref().and_then(|requester| requester.patron_group);
    let choices = match (title_level, &facts.requester) {
        (true, Some(_)) if found.none(&[Fault::InstanceId]) => {
            choose::choices(&facts.candidates, group, settings)?
        }
        _ => Vec::new(),
    };
    let target = target(facts, order, title_level, &choices, settings, &mut found)?;
    refuse_for_proxy(facts, order, actor.now, &mut found);
    refuse_for_pickup(order, settings, &mut found);
    refuse_for_requester(facts, order, actor.now, &mut found);
    refuse_if_already_requested(facts, order, title_level, settings, &mut found);
    refuse_for_blocks(facts, order, actor, settings, &mut found);
    refuse_for_item(facts, order, title_level, target, &mut found);
    refuse_by_policy(order, title_level, target, &choices, group, settings, &mut found)?;
    refuse_title_that_can_be_paged(order, title_level, &choices, &mut found);
    if !found.refusals.is_empty() {
        return Err(Failure::Refused(found.refusals));
    }
    placed(facts, order, actor, settings, target)
}

/// A parameter as it was sent: absent ones are reported as null.
pub(super) fn with_sent(message: &str, key: &str, order: &PlaceRequest) -> Refusal {
    and_sent(Refusal::new(message), key, order)
}

pub(super) fn and_sent(refusal: Refusal, key: &str, order: &PlaceRequest) -> Refusal {
    match order.sent(key) {
        Some(value) => refusal.with(key, value),
        None => refusal.with_null(key),
    }
}

/// What makes no sense as a request; tells whether it is of title level.
fn refuse_at_once(order: &PlaceRequest, settings: &CirculationSettings) -> Result<bool, Failure> {
    status(&order.document)?;
    refuse_level(&order.document, settings.title_level_requests.enabled())?;
    refuse_fulfillment(&order.document)?;
    Ok(order.is_title_level())
}

fn refuse_missing(order: &PlaceRequest, title_level: bool, found: &mut Found) {
    if order.text("instanceId").is_none() {
        found.add(
            Fault::InstanceId,
            with_sent("Cannot create a request with no instance ID", "instanceId", order),
        );
    }
    let (item, holdings) = (order.text("itemId"), order.text("holdingsRecordId"));
    let mut item_is_clear = true;
    if !title_level && item.is_none() {
        item_is_clear = false;
        found.add(
            Fault::ItemId,
            with_sent("Cannot create an item level request with no item ID", "itemId", order),
        );
    } else if item.is_some() && holdings.is_none() {
        item_is_clear = false;
        found.add(
            Fault::Other,
            with_sent(
                "Cannot create a request with item ID but no holdings record ID",
                "holdingsRecordId",
                order,
            ),
        );
    }
    let shared_between_libraries = matches!(order.text("ecsRequestPhase"), Some("Primary" | "Intermediate"));
    if item_is_clear && title_level && !shared_between_libraries && (item.is_some() || holdings.is_some()) {
        let text = "Cannot create a title level page request for this instance ID with no item ID";
        let refusal = and_sent(with_sent(text, "itemId", order), "holdingsRecordId", order);
        found.add(Fault::TitleWithItem, refusal.code("CANNOT_CREATE_PAGE_TLR_WITHOUT_ITEM_ID"));
    }
    if order.text("requestDate").and_then(time::parse).is_none() {
        // FOLIO quirk: a missing date stops the checks that a missing item stops.
        found.add(
            Fault::ItemId,
            Refusal::new("Cannot create a request with no requestDate").with_null("requestDate"),
        );
    }
}

/// The item that the request is for; a title-level hold is for none.
fn target<'a>(
    facts: &'a Facts,
    order: &PlaceRequest,
    title_level: bool,
    choices: &'a [Choice<'a>],
    settings: &CirculationSettings,
    found: &mut Found,
) -> Result<Option<&'a Candidate>, Failure> {
    if !found.none(&[Fault::ItemId, Fault::NoInstance]) {
        return Ok(None);
    }
    let named = || facts.candidates.iter().find(|candidate| Some(candidate.item.id) == order.id("itemId"));
    if !title_level || matches!(order.text("ecsRequestPhase"), Some("Primary" | "Intermediate")) {
        return Ok(named());
    }
    match order.kind() {
        Some(Kind::Page) => choose::to_page(
            choices,
            order.text("instanceId"),
            order.text("itemLocationCode"),
            order.id("pickupServicePointId"),
            settings,
        )
        .map(Some)
        // FOLIO quirk: this refusal stands alone, whatever else was found.
        .map_err(Failure::from),
        Some(Kind::Recall) if found.none(&[Fault::InstanceId]) => match choose::to_recall(choices) {
            Ok(candidate) => Ok(Some(candidate)),
            Err(refusal) => {
                found.add(Fault::NothingToRecall, refusal);
                Ok(None)
            }
        },
        Some(Kind::Recall | Kind::Hold) | None => Ok(None),
    }
}

fn refuse_for_pickup(order: &PlaceRequest, settings: &CirculationSettings, found: &mut Found) {
    if let Err(refusal) = refuse_pickup(&order.document, settings) {
        found.add(Fault::Other, refusal);
    }
}

fn placed(
    facts: &Facts,
    order: &PlaceRequest,
    actor: &Actor,
    settings: &CirculationSettings,
    target: Option<&Candidate>,
) -> Result<Placed, Failure> {
    let sent = order.id("id");
    let id = sent.unwrap_or(actor.request_id);
    let mut document = order.document.clone();
    without_related(&mut document);
    // What is no id is left for the stored record's shape to refuse.
    if sent.is_some() || order.text("id").is_none() {
        document.insert("id".into(), id.to_string().into());
    }
    document.insert("status".into(), status(&order.document)?.into());
    expiration_at_end_of_day(&mut document, &settings.zone);
    if let Some(target) = target {
        document.insert("itemId".into(), target.item.id.to_string().into());
        if let Some(holdings) = target.item.holdings_id {
            document.insert("holdingsRecordId".into(), holdings.to_string().into());
        }
    }
    document.insert("position".into(), (facts.last_position + 1).into());
    let around = Related {
        item: target.map(|target| &target.item),
        title: facts.title.as_ref(),
        requester: facts.requester.as_ref(),
        proxy: facts.proxy.as_ref(),
    };
    snapshot::write(&mut document, &around, settings);
    let item_becomes =
        target.and_then(|target| status_after(order.kind(), &target.item.status, target.requests > 0));
    let loan = target.and_then(|target| target.loan.clone());
    let recalled = match (target, &loan) {
        (Some(target), Some(loan)) if order.kind() == Some(Kind::Recall) => {
            recall(loan, &target.item, actor, settings)?
        }
        _ => None,
    };
    Ok(Placed {
        id,
        queue: queue::id_of(
            settings.title_level_requests.enabled(),
            words::id(&document, "instanceId"),
            words::id(&document, "itemId"),
        ),
        document,
        item: target.map(|target| target.item.clone()),
        item_becomes,
        loan,
        recalled,
    })
}

#[cfg(test)]
mod tests;
