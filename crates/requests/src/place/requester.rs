//! Whether this patron may place the request: themselves or by proxy, with an active account, without blocks, and
//! without another request for the same item or instance.

use super::PlaceRequest;
use super::decide::{Check, Refusals, and_sent, with_sent};
use super::facts::Facts;
use crate::actor::Actor;
use carrel_circulation::desk::is_valid_relation;
use carrel_circulation::desk::override_blocks::PATRON_BLOCK;
use carrel_circulation::desk::patron::AccountStatus;
use carrel_circulation::desk::{Patron, blocks};
use carrel_circulation::patron_blocks::Action;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request::RequestStatus;
use carrel_records::{Refusal, RefusalCode};
use jiff::Timestamp;
use serde_json::{Map, Value};

pub(super) fn refuse_for_proxy(
    facts: &Facts,
    command: &PlaceRequest,
    now: Timestamp,
    refusals: &mut Refusals,
) {
    let Some(proxy) = command.text("proxyUserId") else { return };
    if Some(proxy) == command.text("requesterId") {
        refusals.add(
            Check::Other,
            Refusal::new("User cannot be proxy for themselves")
                .with("proxyUserId", proxy)
                .code(RefusalCode::UserCannotBeProxyForThemselves),
        );
    } else if !facts.proxy_relations.iter().any(|relation| is_valid_relation(relation, now)) {
        refusals.add(Check::Other, Refusal::new("proxyUserId is not valid").with("proxyUserId", proxy));
    }
}

pub(super) fn refuse_for_requester(
    facts: &Facts,
    command: &PlaceRequest,
    now: Timestamp,
    refusals: &mut Refusals,
) {
    if let Some(refusal) = refuse_unknown_requester(facts.requester.as_ref(), &command.document) {
        refusals.add(Check::Requester, refusal);
    }
    if facts
        .requester
        .as_ref()
        .is_some_and(|requester| requester.account_status(now) != AccountStatus::Active)
    {
        let refusal = with_sent("Inactive users cannot make requests", "requesterId", command);
        refusals.add(Check::Other, and_sent(refusal, "itemId", command));
    }
}

/// A requester must exist and belong to a patron group.
pub fn refuse_unknown_requester(
    requester: Option<&Patron>,
    document: &Map<String, Value>,
) -> Option<Refusal> {
    match requester {
        None => {
            let refusal = Refusal::new("A valid user and patron group are required. User is null");
            Some(match document.get("requesterId").and_then(Value::as_str) {
                Some(id) => refusal.with("userId", id),
                None => refusal.with_null("userId"),
            })
        }
        Some(patron) if patron.patron_group.is_none() => Some(
            Refusal::new("A valid patron group is required. PatronGroup ID is null")
                .with_null("PatronGroupId"),
        ),
        Some(_) => None,
    }
}

pub(super) fn refuse_if_already_requested(
    facts: &Facts,
    command: &PlaceRequest,
    title_level: bool,
    settings: &CirculationSettings,
    refusals: &mut Refusals,
) {
    let titles_are_asked_for = settings.title_level_requests.enabled();
    let item = command.id("itemId");
    // FOLIO quirk: a request that is being delivered does not count as open here.
    let open = [RequestStatus::NotYetFilled, RequestStatus::AwaitingPickup, RequestStatus::InTransit];
    let existing =
        facts.own.iter().filter(|own| own.status().is_some_and(|status| open.contains(&status))).find(
            |own| {
                title_level
                    || titles_are_asked_for && own.is_title_level()
                    || item.is_some() && own.item_id() == item
            },
        );
    let Some(existing) = existing else { return };
    let refusal = if !title_level {
        let refusal =
            with_sent("This requester already has an open request for this item", "itemId", command);
        let refusal = and_sent(and_sent(refusal, "requesterId", command), "id", command);
        // The id of the placed request is reported under another key.
        let parameters = refusal
            .parameters
            .iter()
            .cloned()
            .map(|(key, value)| (if key == "id" { "requestId".to_owned() } else { key }, value));
        Refusal { parameters: parameters.collect(), ..refusal.clone() }
            .code(RefusalCode::ItemAlreadyRequested)
    } else {
        let (text, code) = if existing.is_title_level() {
            (
                "This requester already has an open request for this instance",
                RefusalCode::InstanceAlreadyRequested,
            )
        } else {
            (
                "This requester already has an open request for one of the instance's items",
                RefusalCode::ItemOfThisInstanceAlreadyRequested,
            )
        };
        and_sent(with_sent(text, "requesterId", command), "instanceId", command).code(code)
    };
    refusals.add(Check::Other, refusal);
}

pub(super) fn refuse_for_blocks(
    facts: &Facts,
    command: &PlaceRequest,
    actor: &Actor,
    settings: &CirculationSettings,
    refusals: &mut Refusals,
) {
    if command.overrides.patron_block.is_some() {
        if let Some(refusal) = PATRON_BLOCK.refuse_override(&actor.may) {
            refusals.add(Check::Other, refusal);
        }
        return;
    }
    if let Some(requester) = &facts.requester {
        for refusal in Action::Requesting.refusals(facts.counted.as_ref(), requester, settings, &actor.may) {
            refusals.add(Check::Other, refusal);
        }
    }
    let reasons = blocks::manual_reasons(&facts.manual_blocks, "requests", actor.now);
    if !reasons.is_empty() {
        let refusal = Refusal::new("Patron blocked from requesting")
            .with("reason", reasons.join(";"))
            .code(RefusalCode::UserIsBlockedManually);
        refusals.add(Check::Other, PATRON_BLOCK.mark(refusal, &actor.may));
    }
}
