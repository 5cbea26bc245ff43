//! Whether the request may be placed, and what changes when it is (circulation.md 6.1).

use super::choose::{self, Choice};
use super::facts::{Candidate, Facts, OpenLoan};
use super::{Asking, Order};
use crate::check_out::is_valid_relation;
use crate::desk::override_blocks::PATRON_BLOCK;
use crate::desk::patron::Standing;
use crate::desk::{ItemAtDesk, Patron, blocks, queue};
use crate::due_date::{Circumstances, RecallMoment, RecalledLoan, due_date_after_recall};
use crate::patron_blocks::Action;
use crate::requests::policy::RequestPolicy;
use crate::requests::snapshot::{self, Around};
use crate::requests::words::{self, Kind, NOT_YET_FILLED, STATUSES, status_named};
use crate::rulebook::Rulebook;
use carrel_circulation_rules::PolicyKind;
use carrel_records::{Failure, Refusal, time};
use jiff::Timestamp;
use jiff::tz::TimeZone;
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
enum Fault {
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
struct Found {
    refusals: Vec<Refusal>,
    faults: Vec<Fault>,
}

impl Found {
    fn add(&mut self, fault: Fault, refusal: Refusal) {
        // The same refusal twice says nothing new.
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
        self.faults.push(fault);
    }
    fn none(&self, faults: &[Fault]) -> bool {
        !self.faults.iter().any(|fault| faults.contains(fault))
    }
}

/// Refusals in the order of the checks, or the request.
pub fn decide(facts: &Facts, order: &Order, asking: &Asking, book: &Rulebook) -> Result<Placed, Failure> {
    let title_level = refuse_at_once(order, book)?;
    let mut found = Found::default();
    refuse_missing(order, title_level, &mut found);
    if found.none(&[Fault::InstanceId]) && facts.title.is_none() {
        found.add(Fault::NoInstance, with_sent("Instance does not exist", "instanceId", order));
    }
    let group = facts.requester.as_ref().and_then(|requester| requester.patron_group);
    let choices = match (title_level, &facts.requester) {
        (true, Some(_)) if found.none(&[Fault::InstanceId]) => {
            choose::choices(&facts.candidates, group, book)?
        }
        _ => Vec::new(),
    };
    let target = target(facts, order, title_level, &choices, book, &mut found)?;
    refuse_for_proxy(facts, order, asking.now, &mut found);
    refuse_for_pickup(order, book, &mut found);
    refuse_for_requester(facts, order, asking.now, &mut found);
    refuse_if_already_requested(facts, order, title_level, book, &mut found);
    refuse_for_blocks(facts, order, asking, book, &mut found);
    refuse_for_item(facts, order, title_level, target, &mut found);
    refuse_by_policy(order, title_level, target, &choices, group, book, &mut found)?;
    refuse_title_that_can_be_paged(order, title_level, &choices, &mut found);
    if !found.refusals.is_empty() {
        return Err(Failure::Refused(found.refusals));
    }
    placed(facts, order, asking, book, target)
}

/// A parameter as it was sent: absent ones are told as null.
fn with_sent(message: &str, key: &str, order: &Order) -> Refusal {
    and_sent(Refusal::new(message), key, order)
}

fn and_sent(refusal: Refusal, key: &str, order: &Order) -> Refusal {
    match order.sent(key) {
        Some(value) => refusal.with(key, value),
        None => refusal.with_null(key),
    }
}

/// What makes no sense as a request; tells whether it is of title level.
fn refuse_at_once(order: &Order, book: &Rulebook) -> Result<bool, Failure> {
    status(&order.document)?;
    refuse_level(&order.document, book.title_level_requests.enabled())?;
    refuse_fulfillment(&order.document)?;
    Ok(order.is_title_level())
}

/// The status of a request as sent; without one it is not yet filled.
pub fn status(document: &Map<String, Value>) -> Result<&'static str, Failure> {
    let Some(sent) = document.get("status") else { return Ok(NOT_YET_FILLED) };
    status_named(sent.as_str().unwrap_or_default()).ok_or_else(|| {
        let quoted: Vec<String> = STATUSES.iter().map(|status| format!("\"{status}\"")).collect();
        Failure::Invalid(format!("Request status must be one of the following: {}", quoted.join(", ")))
    })
}

/// Refuses a level that is none, or that the library does not offer.
pub fn refuse_level(document: &Map<String, Value>, title_level_enabled: bool) -> Result<(), Refusal> {
    let level = document.get("requestLevel").and_then(Value::as_str);
    let is = |name: &str| level.is_some_and(|level| level.eq_ignore_ascii_case(name));
    if is("Item") || title_level_enabled && is("Title") {
        return Ok(());
    }
    let levels = if title_level_enabled { "\"Item\", \"Title\"" } else { "\"Item\"" };
    let refusal = Refusal::new(format!("Request level must be one of the following: {levels}"))
        .code("REQUEST_LEVEL_IS_NOT_ALLOWED");
    Err(match level {
        Some(level) => refusal.with("requestLevel", level),
        None => refusal.with_null("requestLevel"),
    })
}

/// Refuses a way of delivery that there is not.
pub fn refuse_fulfillment(document: &Map<String, Value>) -> Result<(), Refusal> {
    let preference = document.get("fulfillmentPreference").and_then(Value::as_str);
    if matches!(preference, Some("Hold Shelf" | "Delivery")) {
        return Ok(());
    }
    let refusal = Refusal::new("Fulfillment preference must be one of the following: Hold Shelf, Delivery")
        .code("FULFILLMENT_PREFERENCE_IS_NOT_ALLOWED");
    Err(match preference {
        Some(preference) => refusal.with("fulfillmentPreference", preference),
        None => refusal.with_null("fulfillmentPreference"),
    })
}

fn refuse_missing(order: &Order, title_level: bool, found: &mut Found) {
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
    order: &Order,
    title_level: bool,
    choices: &'a [Choice<'a>],
    book: &Rulebook,
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
            book,
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

fn refuse_for_proxy(facts: &Facts, order: &Order, now: Timestamp, found: &mut Found) {
    let Some(proxy) = order.text("proxyUserId") else { return };
    if Some(proxy) == order.text("requesterId") {
        found.add(
            Fault::Other,
            Refusal::new("User cannot be proxy for themselves")
                .with("proxyUserId", proxy)
                .code("USER_CANNOT_BE_PROXY_FOR_THEMSELVES"),
        );
    } else if !facts.proxy_relations.iter().any(|relation| is_valid_relation(relation, now)) {
        found.add(Fault::Other, Refusal::new("proxyUserId is not valid").with("proxyUserId", proxy));
    }
}

fn refuse_for_pickup(order: &Order, book: &Rulebook, found: &mut Found) {
    if let Err(refusal) = refuse_pickup(&order.document, book) {
        found.add(Fault::Other, refusal);
    }
}

/// Refuses a request that cannot be picked up where it says.
pub fn refuse_pickup(document: &Map<String, Value>, book: &Rulebook) -> Result<(), Refusal> {
    let sent = |key: &str| document.get(key).and_then(Value::as_str);
    let Some(pickup) = sent("pickupServicePointId") else {
        if sent("fulfillmentPreference") != Some("Hold Shelf") {
            return Ok(());
        }
        let refusal = Refusal::new("Hold shelf fulfillment requests require a Pickup service point")
            .code("HOLD_SHELF_REQUESTS_REQUIRE_PICKUP_SERVICE_POINT");
        return Err(match sent("id") {
            Some(id) => refusal.with("id", id),
            None => refusal.with_null("id"),
        });
    };
    match Uuid::parse_str(pickup).ok().and_then(|id| book.service_points.get(&id)) {
        None => Err(Refusal::new("Pickup service point does not exist").with("pickupServicePointId", pickup)),
        Some(point) if point.pickup_location != Some(true) => {
            Err(Refusal::new("Service point is not a pickup location")
                .with("pickupServicePointId", pickup)
                .code("SERVICE_POINT_IS_NOT_PICKUP_LOCATION"))
        }
        Some(_) => Ok(()),
    }
}

fn refuse_for_requester(facts: &Facts, order: &Order, now: Timestamp, found: &mut Found) {
    if let Some(refusal) = refuse_unknown_requester(facts.requester.as_ref(), &order.document) {
        found.add(Fault::Requester, refusal);
    }
    if facts.requester.as_ref().is_some_and(|requester| requester.standing(now) != Standing::Active) {
        let refusal = with_sent("Inactive users cannot make requests", "requesterId", order);
        found.add(Fault::Other, and_sent(refusal, "itemId", order));
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

fn refuse_if_already_requested(
    facts: &Facts,
    order: &Order,
    title_level: bool,
    book: &Rulebook,
    found: &mut Found,
) {
    let titles_are_asked_for = book.title_level_requests.enabled();
    let item = order.id("itemId");
    // FOLIO quirk: a request on its way to be delivered does not count as open here.
    let open = ["Open - Not yet filled", "Open - Awaiting pickup", "Open - In transit"];
    let existing = facts.own.iter().filter(|own| open.contains(&own.status())).find(|own| {
        title_level || titles_are_asked_for && own.is_title_level() || item.is_some() && own.item_id() == item
    });
    let Some(existing) = existing else { return };
    let refusal = if !title_level {
        let refusal = with_sent("This requester already has an open request for this item", "itemId", order);
        let refusal = and_sent(and_sent(refusal, "requesterId", order), "id", order);
        // The id of the request being placed stands under another name.
        let parameters = refusal
            .parameters
            .iter()
            .cloned()
            .map(|(key, value)| (if key == "id" { "requestId".to_owned() } else { key }, value));
        Refusal { parameters: parameters.collect(), ..refusal.clone() }.code("ITEM_ALREADY_REQUESTED")
    } else {
        let (text, code) = if existing.is_title_level() {
            ("This requester already has an open request for this instance", "INSTANCE_ALREADY_REQUESTED")
        } else {
            (
                "This requester already has an open request for one of the instance's items",
                "ITEM_OF_THIS_INSTANCE_ALREADY_REQUESTED",
            )
        };
        and_sent(with_sent(text, "requesterId", order), "instanceId", order).code(code)
    };
    found.add(Fault::Other, refusal);
}

fn refuse_for_blocks(facts: &Facts, order: &Order, asking: &Asking, book: &Rulebook, found: &mut Found) {
    if order.overrides.patron_block.is_some() {
        if let Some(refusal) = PATRON_BLOCK.refuse_override(&asking.may) {
            found.add(Fault::Other, refusal);
        }
        return;
    }
    if let Some(requester) = &facts.requester {
        for refusal in Action::Requesting.refusals(facts.counted.as_ref(), requester, book, &asking.may) {
            found.add(Fault::Other, refusal);
        }
    }
    let reasons = blocks::manual_reasons(&facts.manual_blocks, "requests", asking.now);
    if !reasons.is_empty() {
        let refusal = Refusal::new("Patron blocked from requesting")
            .with("reason", reasons.join(";"))
            .code("USER_IS_BLOCKED_MANUALLY");
        found.add(Fault::Other, PATRON_BLOCK.mark(refusal, &asking.may));
    }
}

fn refuse_for_item(
    facts: &Facts,
    order: &Order,
    title_level: bool,
    target: Option<&Candidate>,
    found: &mut Found,
) {
    if !found.none(&[Fault::InstanceId, Fault::NoInstance, Fault::ItemId]) {
        return;
    }
    let requester = order.id("requesterId");
    let is_borrower = |loan: &OpenLoan| requester.is_some() && loan.id_at("userId") == requester;
    if title_level {
        if !found.none(&[Fault::TitleWithItem]) {
            return;
        }
        if order.text("itemId").is_some() && target.is_none() {
            found.add(Fault::NoItem, with_sent("Item does not exist", "itemId", order));
        }
        let own = facts.candidates.iter().find(|other| other.loan.as_ref().is_some_and(is_borrower));
        if let Some(own) = own {
            let text = "This requester already has a loan for one of the instance's items";
            let refusal = Refusal::new(text)
                .with("itemId", own.item.id.to_string())
                .with("userId", order.sent("requesterId").unwrap_or_default())
                .code("REQUESTER_ALREADY_HAS_LOAN_FOR_ONE_OF_INSTANCES_ITEMS");
            found.add(Fault::Other, refusal);
        }
        return;
    }
    let Some(target) = target else {
        found.add(Fault::NoItem, with_sent("Item does not exist", "itemId", order));
        return;
    };
    if !order.kind().is_some_and(|kind| kind.fits(&target.item.status)) {
        found.add(Fault::Other, refusal_of_kind(order.kind()));
    }
    if let Some(loan) = target.loan.as_ref().filter(|loan| is_borrower(loan)) {
        found.add(Fault::Other, refusal_of_own_loan(&order.document, loan.id));
    }
}

/// The requester has the very item on loan.
pub fn refusal_of_own_loan(document: &Map<String, Value>, loan: Uuid) -> Refusal {
    let sent = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
    Refusal::new("This requester already has this item on loan")
        .with("itemId", sent("itemId"))
        .with("userId", sent("requesterId"))
        .with("loanId", loan.to_string())
        .code("REQUESTER_ALREADY_HAS_THIS_ITEM_ON_LOAN")
}

/// The item's status or the policy does not allow this type.
pub fn refusal_of_kind(kind: Option<Kind>) -> Refusal {
    let kind = kind.map_or("", Kind::text);
    Refusal::new(format!("{kind} requests are not allowed for this patron and item combination"))
        .with("requestType", kind)
        .code("REQUEST_NOT_ALLOWED_FOR_PATRON_ITEM_COMBINATION")
}

fn refuse_by_policy(
    order: &Order,
    title_level: bool,
    target: Option<&Candidate>,
    choices: &[Choice],
    group: Option<Uuid>,
    book: &Rulebook,
    found: &mut Found,
) -> Result<(), Failure> {
    use Fault::{InstanceId, ItemId, NoInstance, NoItem, NothingToRecall, Requester};
    if !found.none(&[InstanceId, NoInstance, ItemId, NoItem, Requester, NothingToRecall]) {
        return Ok(());
    }
    if title_level && order.kind() == Some(Kind::Hold) {
        let by_the_rules = book.title_level_requests.tlr_hold_should_follow_circulation_rules
            && !matches!(order.text("ecsRequestPhase"), Some("Primary" | "Intermediate"));
        if by_the_rules && !choices.iter().any(|choice| choice.policy.allows(Kind::Hold)) {
            let text = "Hold requests are not allowed for this patron and title combination";
            let refusal = and_sent(with_sent(text, "requesterId", order), "instanceId", order);
            found.add(Fault::Other, refusal.code("REQUEST_NOT_ALLOWED_FOR_PATRON_TITLE_COMBINATION"));
        }
        return Ok(());
    }
    let Some(target) = target else { return Ok(()) };
    let policy = RequestPolicy::of_item(book, &target.item, group)?;
    if let Err(refusal) = refuse_kind_by_policy(&order.document, order.kind(), &policy) {
        found.add(Fault::Other, refusal);
    }
    Ok(())
}

/// The policy must allow the type, and the pickup service point for it.
pub fn refuse_kind_by_policy(
    document: &Map<String, Value>,
    kind: Option<Kind>,
    policy: &RequestPolicy,
) -> Result<(), Refusal> {
    let Some(kind) = kind.filter(|kind| policy.allows(*kind)) else { return Err(refusal_of_kind(kind)) };
    let pickup = document.get("pickupServicePointId").and_then(Value::as_str);
    let on_the_shelf = document.get("fulfillmentPreference").and_then(Value::as_str) == Some("Hold Shelf");
    if let Some(pickup) = pickup
        && on_the_shelf
        && !policy.allows_service_point(kind, pickup)
    {
        return Err(Refusal::new("One or more Pickup locations are no longer available")
            .with("pickupServicePointId", pickup)
            .with("requestType", kind.text())
            .with("requestPolicyId", policy.id.to_string())
            .code("REQUEST_PICKUP_SERVICE_POINT_IS_NOT_ALLOWED"));
    }
    Ok(())
}

fn refuse_title_that_can_be_paged(order: &Order, title_level: bool, choices: &[Choice], found: &mut Found) {
    if !title_level || !matches!(order.kind(), Some(Kind::Hold | Kind::Recall)) {
        return;
    }
    if let Some(candidate) = choose::pageable(choices).next() {
        let text = "Hold/Recall title level request not allowed: pageable available item found for instance";
        let refusal = with_sent(text, "instanceId", order).with("itemId", candidate.item.id.to_string());
        found
            .add(Fault::Other, refusal.code("HOLD_AND_RECALL_TLR_NOT_ALLOWED_PAGEABLE_AVAILABLE_ITEM_FOUND"));
    }
}

fn placed(
    facts: &Facts,
    order: &Order,
    asking: &Asking,
    book: &Rulebook,
    target: Option<&Candidate>,
) -> Result<Placed, Failure> {
    let id = order.id("id").unwrap_or(asking.request_id);
    let mut document = order.document.clone();
    without_related(&mut document);
    document.insert("id".into(), id.to_string().into());
    document.insert("status".into(), status(&order.document)?.into());
    expiration_at_end_of_day(&mut document, &book.zone);
    if let Some(target) = target {
        document.insert("itemId".into(), target.item.id.to_string().into());
        if let Some(holdings) = target.item.holdings_id {
            document.insert("holdingsRecordId".into(), holdings.to_string().into());
        }
    }
    document.insert("position".into(), (facts.last_position + 1).into());
    let around = Around {
        item: target.map(|target| &target.item),
        title: facts.title.as_ref(),
        requester: facts.requester.as_ref(),
        proxy: facts.proxy.as_ref(),
    };
    snapshot::write(&mut document, &around, book);
    let item_becomes =
        target.and_then(|target| status_after(order.kind(), &target.item.status, target.requests > 0));
    let loan = target.and_then(|target| target.loan.clone());
    let recalled = match (target, &loan) {
        (Some(target), Some(loan)) if order.kind() == Some(Kind::Recall) => {
            recall(loan, &target.item, asking, book)?
        }
        _ => None,
    };
    Ok(Placed {
        id,
        queue: queue::id_of(
            book.title_level_requests.enabled(),
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

/// Takes out what clients send back of the extended request.
pub fn without_related(document: &mut Map<String, Value>) {
    for key in [
        "item",
        "requester",
        "proxy",
        "loan",
        "pickupServicePoint",
        "deliveryAddress",
        "requestProcessingParameters",
    ] {
        document.remove(key);
    }
    if let Some(Value::Object(print)) = document.get_mut("printDetails") {
        print.remove("lastPrintRequester");
    }
}

/// A request expires at the end of a day of the library.
pub fn expiration_at_end_of_day(document: &mut Map<String, Value>, zone: &TimeZone) {
    let Some(expires) = words::text(document, "requestExpirationDate").and_then(time::parse) else { return };
    let last = expires.to_zoned(zone.clone()).date().at(23, 59, 59, 0).to_zoned(zone.clone());
    if let Ok(last) = last {
        // FOLIO quirk: this date alone is written with a Z.
        let text = time::format(last.timestamp()).replace("+00:00", "Z");
        document.insert("requestExpirationDate".into(), text.into());
    }
}

/// The status of an item whose queue has changed: paged for a page, and back on the shelf where it was paged and
/// nobody waits for it.
pub fn status_after(kind: Option<Kind>, status: &str, is_requested: bool) -> Option<&'static str> {
    match status {
        "Paged" if !is_requested => Some("Available"),
        "Available" if kind == Some(Kind::Page) => Some("Paged"),
        _ => None,
    }
}

/// The loan after a recall; none where an earlier recall has changed it.
pub fn recall(
    loan: &OpenLoan,
    item: &ItemAtDesk,
    asking: &Asking,
    book: &Rulebook,
) -> Result<Option<Map<String, Value>>, Failure> {
    let already = loan.document.get("dueDateChangedByRecall") == Some(&Value::Bool(true));
    let policy = match loan.borrower_group {
        Some(group) => book.matching(&item.circumstance(Some(group)), PolicyKind::Loan)?.id,
        None => loan.id_at("loanPolicyId").unwrap_or_default(),
    };
    if already {
        return Ok(None);
    }
    let terms = book.loan_terms(policy)?;
    let calendar = book.calendar(loan.id_at("checkoutServicePointId").unwrap_or_default());
    let lent = RecalledLoan {
        loan_date: loan.instant_at("loanDate").unwrap_or(asking.now),
        due_date: loan.instant_at("dueDate").unwrap_or(asking.now),
        already_recalled: false,
    };
    let circumstances = Circumstances {
        now: asking.now,
        zone: &book.zone,
        calendar: &calendar,
        patron_expires: loan.borrower_expires,
    };
    let Some(due) = due_date_after_recall(&terms, &lent, RecallMoment::OnLoan, &circumstances)
        .map_err(Failure::Refused)?
    else {
        return Ok(None);
    };
    let mut after = loan.document.clone();
    after.insert("dueDate".into(), time::format(due.at).into());
    after.insert("dueDateChangedByRecall".into(), true.into());
    if due.changed_by_near_expire_user {
        after.insert("dueDateChangedByNearExpireUser".into(), true.into());
    }
    after.insert("action".into(), "recallrequested".into());
    after.insert("itemStatus".into(), item.status.as_str().into());
    after.remove("actionComment");
    after.remove("reminders");
    if let Some(Value::Object(metadata)) = after.get_mut("metadata") {
        metadata.insert("updatedDate".into(), time::format(asking.now).into());
        if let Some(by) = asking.caller.user_id {
            metadata.insert("updatedByUserId".into(), by.to_string().into());
        }
    }
    Ok(Some(after))
}
