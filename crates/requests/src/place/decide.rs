//! Whether the request may be placed, and the changes that placing it makes.

use super::PlaceRequest;
use super::choose::{self, Choice};
use super::eligibility::{refuse_by_policy, refuse_for_item, refuse_title_that_can_be_paged};
use super::facts::Facts;
use super::requester::{
    refuse_for_blocks, refuse_for_proxy, refuse_for_requester, refuse_if_already_requested,
};
use crate::actor::Actor;
use crate::candidate::{Candidate, OpenLoan};
use crate::effects::{recall, status_after};
use crate::validate::{
    expiration_at_end_of_day, refuse_fulfillment, refuse_level, refuse_pickup, status, without_related,
};
use carrel_circulation::desk::{ItemAtDesk, queue};
use carrel_circulation::request_snapshot::{self as snapshot, Related};
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::{self, RequestType};
use carrel_records::{Failure, ItemStatus, Refusal, RefusalCode, time};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};
use uuid::Uuid;

/// What changes when the request is placed.
#[derive(Debug, Clone)]
pub struct Placement {
    pub id: Uuid,
    /// The request to be stored.
    pub document: Map<String, Value>,
    pub queue: Option<Uuid>,
    /// Item, title and requester, of which the request has copies, are records of the tenant.
    pub keeps_copies: bool,
    pub item: Option<ItemAtDesk>,
    /// The item's new status, if it changes.
    pub item_becomes: Option<ItemStatus>,
    pub loan: Option<OpenLoan>,
    /// The loan after the recall, if it changes.
    pub recalled: Option<Map<String, Value>>,
    /// Staff override a block.
    pub overrides: bool,
    /// The tenant's time zone, for the circulation log.
    pub zone: TimeZone,
}

impl Placement {
    /// When the item is due back.
    pub fn due_date(&self) -> Option<&str> {
        let loan = self.recalled.as_ref().or(self.loan.as_ref().map(|loan| &loan.document))?;
        request::text(loan, "dueDate")
    }
}

/// Refusals on which later checks depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
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
pub(super) struct Refusals {
    refusals: Vec<Refusal>,
    failed: Vec<Check>,
}

impl Refusals {
    pub(super) fn add(&mut self, fault: Check, refusal: Refusal) {
        // Each refusal is reported once.
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
        self.failed.push(fault);
    }
    pub(super) fn none(&self, failed: &[Check]) -> bool {
        !self.failed.iter().any(|fault| failed.contains(fault))
    }
}

/// Refusals in the order of the checks, or the request.
pub fn decide(
    facts: &Facts,
    command: &PlaceRequest,
    actor: &Actor,
    settings: &CirculationSettings,
) -> Result<Placement, Failure> {
    let title_level = refuse_at_once(command, settings)?;
    let mut refusals = Refusals::default();
    refuse_missing(command, title_level, &mut refusals);
    if refusals.none(&[Check::InstanceId]) && facts.title.is_none() {
        refusals.add(Check::NoInstance, with_sent("Instance does not exist", "instanceId", command));
    }
    let group = facts.requester.as_ref().and_then(|requester| requester.patron_group);
    let choices = match (title_level, &facts.requester) {
        (true, Some(_)) if refusals.none(&[Check::InstanceId]) => {
            choose::choices(&facts.candidates, group, settings)?
        }
        _ => Vec::new(),
    };
    let target = target(facts, command, title_level, &choices, settings, &mut refusals)?;
    refuse_for_proxy(facts, command, actor.now, &mut refusals);
    refuse_for_pickup(command, settings, &mut refusals);
    refuse_for_requester(facts, command, actor.now, &mut refusals);
    refuse_if_already_requested(facts, command, title_level, settings, &mut refusals);
    refuse_for_blocks(facts, command, actor, settings, &mut refusals);
    refuse_for_item(facts, command, title_level, target, &mut refusals);
    refuse_by_policy(command, title_level, target, &choices, group, settings, &mut refusals)?;
    refuse_title_that_can_be_paged(command, title_level, &choices, &mut refusals);
    if !refusals.refusals.is_empty() {
        return Err(Failure::Refused(refusals.refusals));
    }
    placed(facts, command, actor, settings, target)
}

/// A parameter as it was sent; an absent one is reported as null.
pub(super) fn with_sent(message: &str, key: &str, command: &PlaceRequest) -> Refusal {
    and_sent(Refusal::new(message), key, command)
}

pub(super) fn and_sent(refusal: Refusal, key: &str, command: &PlaceRequest) -> Refusal {
    match command.sent(key) {
        Some(value) => refusal.with(key, value),
        None => refusal.with_null(key),
    }
}

/// Refuses an unknown status, level or fulfillment preference; returns whether the request is title-level.
fn refuse_at_once(command: &PlaceRequest, settings: &CirculationSettings) -> Result<bool, Failure> {
    status(&command.document)?;
    refuse_level(&command.document, settings.title_level_requests.enabled())?;
    refuse_fulfillment(&command.document)?;
    Ok(command.is_title_level())
}

fn refuse_missing(command: &PlaceRequest, title_level: bool, refusals: &mut Refusals) {
    if command.text("instanceId").is_none() {
        refusals.add(
            Check::InstanceId,
            with_sent("Cannot create a request with no instance ID", "instanceId", command),
        );
    }
    let (item, holdings) = (command.text("itemId"), command.text("holdingsRecordId"));
    let mut item_is_clear = true;
    if !title_level && item.is_none() {
        item_is_clear = false;
        refusals.add(
            Check::ItemId,
            with_sent("Cannot create an item level request with no item ID", "itemId", command),
        );
    } else if item.is_some() && holdings.is_none() {
        item_is_clear = false;
        refusals.add(
            Check::Other,
            with_sent(
                "Cannot create a request with item ID but no holdings record ID",
                "holdingsRecordId",
                command,
            ),
        );
    }
    let shared_between_libraries =
        matches!(command.text("ecsRequestPhase"), Some("Primary" | "Intermediate"));
    if item_is_clear && title_level && !shared_between_libraries && (item.is_some() || holdings.is_some()) {
        let text = "Cannot create a title level page request for this instance ID with no item ID";
        let refusal = and_sent(with_sent(text, "itemId", command), "holdingsRecordId", command);
        refusals.add(Check::TitleWithItem, refusal.code(RefusalCode::CannotCreatePageTlrWithoutItemId));
    }
    if command.text("requestDate").and_then(time::parse).is_none() {
        // FOLIO quirk: a missing date stops the checks that a missing item stops.
        refusals.add(
            Check::ItemId,
            Refusal::new("Cannot create a request with no requestDate").with_null("requestDate"),
        );
    }
}

/// The item that the request is for; a title-level hold has none.
fn target<'a>(
    facts: &'a Facts,
    command: &PlaceRequest,
    title_level: bool,
    choices: &'a [Choice<'a>],
    settings: &CirculationSettings,
    refusals: &mut Refusals,
) -> Result<Option<&'a Candidate>, Failure> {
    if !refusals.none(&[Check::ItemId, Check::NoInstance]) {
        return Ok(None);
    }
    let named = || facts.candidates.iter().find(|candidate| Some(candidate.item.id) == command.id("itemId"));
    if !title_level || matches!(command.text("ecsRequestPhase"), Some("Primary" | "Intermediate")) {
        return Ok(named());
    }
    match command.kind() {
        Some(RequestType::Page) => choose::to_page(
            choices,
            command.text("instanceId"),
            command.text("itemLocationCode"),
            command.id("pickupServicePointId"),
            settings,
        )
        .map(Some)
        // FOLIO quirk: this refusal is reported alone, whatever others were found.
        .map_err(Failure::from),
        Some(RequestType::Recall) if refusals.none(&[Check::InstanceId]) => {
            match choose::to_recall(choices) {
                Ok(candidate) => Ok(Some(candidate)),
                Err(refusal) => {
                    refusals.add(Check::NothingToRecall, refusal);
                    Ok(None)
                }
            }
        }
        Some(RequestType::Recall | RequestType::Hold) | None => Ok(None),
    }
}

fn refuse_for_pickup(command: &PlaceRequest, settings: &CirculationSettings, refusals: &mut Refusals) {
    if let Err(refusal) = refuse_pickup(&command.document, settings) {
        refusals.add(Check::Other, refusal);
    }
}

fn placed(
    facts: &Facts,
    command: &PlaceRequest,
    actor: &Actor,
    settings: &CirculationSettings,
    target: Option<&Candidate>,
) -> Result<Placement, Failure> {
    let sent = command.id("id");
    let id = sent.unwrap_or(actor.request_id);
    let mut document = command.document.clone();
    without_related(&mut document);
    // The shape of the stored record refuses malformed ids.
    if sent.is_some() || command.text("id").is_none() {
        document.insert("id".into(), id.to_string().into());
    }
    document.insert("status".into(), status(&command.document)?.into());
    expiration_at_end_of_day(&mut document, &settings.zone);
    if let Some(target) = target {
        document.insert("itemId".into(), target.item.id.to_string().into());
        if let Some(holdings) = target.item.holdings_id {
            document.insert("holdingsRecordId".into(), holdings.to_string().into());
        }
    }
    document.insert("position".into(), (facts.last_position + 1).into());
    let statement = Related {
        item: target.map(|target| &target.item),
        title: facts.title.as_ref(),
        requester: facts.requester.as_ref(),
        proxy: facts.proxy.as_ref(),
    };
    snapshot::write(&mut document, &statement, settings);
    let item_becomes =
        target.and_then(|target| status_after(command.kind(), &target.item.status, target.requests > 0));
    let loan = target.and_then(|target| target.loan.clone());
    let recalled = match (target, &loan) {
        (Some(target), Some(loan)) if command.kind() == Some(RequestType::Recall) => {
            recall(loan, &target.item, actor, settings)?
        }
        _ => None,
    };
    let names_unknown_item = target.is_none() && document.contains_key("itemId");
    Ok(Placement {
        id,
        keeps_copies: facts.title.is_some()
            && facts.requester.is_some()
            && !names_unknown_item
            && !target.is_some_and(|target| target.item.is_of_another_library()),
        queue: queue::id_of(
            settings.title_level_requests.enabled(),
            request::id(&document, "instanceId"),
            request::id(&document, "itemId"),
        ),
        document,
        item: target.map(|target| target.item.clone()),
        item_becomes,
        loan,
        recalled,
        overrides: command.overrides.patron_block.is_some(),
        zone: settings.zone.clone(),
    })
}

#[cfg(test)]
mod tests;
