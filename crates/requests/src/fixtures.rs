//! Test data for the rules of this crate: two service points that are pickup locations, an office that is not one,
//! locations of both, and a location whose items cannot be requested.

use super::actor::Actor;
use super::candidate::{Candidate, OpenLoan};
use super::lock::LockedRequest;
use super::place::PlaceRequest;
use super::place::facts::Facts;
use carrel_circulation::desk::item::Title;
use carrel_circulation::desk::override_blocks::MayOverride;
use carrel_circulation::desk::{ItemAtDesk, Patron, QueuedRequest};
use carrel_circulation::settings::{CirculationSettings, Location, Named, ServicePoint};
use carrel_circulation_rules::Rules;
use carrel_loan_rules::request::{RequestStatus, RequestType};
use carrel_loan_rules::request_queue::QueueEntry;
use carrel_platform::http::Caller;
use carrel_records::{Failure, Refusal, time};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use uuid::Uuid;

pub const NOW: &str = "2024-05-10T10:00:00Z";
pub const MAIN_DESK: Uuid = Uuid::from_u128(1);
pub const BRANCH_DESK: Uuid = Uuid::from_u128(2);
/// No pickup location.
pub const OFFICE: Uuid = Uuid::from_u128(3);
pub const STACKS: Uuid = Uuid::from_u128(4);
pub const BRANCH_STACKS: Uuid = Uuid::from_u128(5);
pub const TITLE: Uuid = Uuid::from_u128(6);
pub const HOLDINGS: Uuid = Uuid::from_u128(7);
pub const ITEM: Uuid = Uuid::from_u128(8);
pub const OTHER_ITEM: Uuid = Uuid::from_u128(9);
pub const PATRON: Uuid = Uuid::from_u128(10);
pub const NEIGHBOR: Uuid = Uuid::from_u128(11);
pub const GROUP: Uuid = Uuid::from_u128(12);
pub const PRINT: Uuid = Uuid::from_u128(13);
pub const LIBRARY: Uuid = Uuid::from_u128(14);
/// The patron's request, and the next one in the queue.
pub const REQUEST: Uuid = Uuid::from_u128(15);
pub const NEXT: Uuid = Uuid::from_u128(16);
pub const REFERENCE: Uuid = Uuid::from_u128(0x91850940_9ca5_472e_99bd_b434d5985fff);
pub const POLICY: Uuid = Uuid::from_u128(0x11850940_9ca5_472e_99bd_b434d5985fff);
pub const NO_REQUESTS: Uuid = Uuid::from_u128(0x21850940_9ca5_472e_99bd_b434d5985fff);

/// An object with some of its properties replaced; null removes a property.
pub fn with(base: Value, differs: Value) -> Map<String, Value> {
    let (Value::Object(mut base), Value::Object(differs)) = (base, differs) else {
        unreachable!("both are objects")
    };
    base.extend(differs);
    base.retain(|_, value| !value.is_null());
    base
}

/// The settings; title-level requests are enabled if `titles` is true.
pub fn settings_with(titles: bool) -> CirculationSettings {
    let mut settings = CirculationSettings::blank();
    for (id, name, gives_out) in
        [(MAIN_DESK, "Main desk", true), (BRANCH_DESK, "Branch desk", true), (OFFICE, "Office", false)]
    {
        let point =
            ServicePoint { name: name.into(), pickup_location: Some(gives_out), ..ServicePoint::default() };
        settings.service_points.insert(id, point);
    }
    for (id, name, desk) in [(STACKS, "Stacks", MAIN_DESK), (BRANCH_STACKS, "Branch stacks", BRANCH_DESK)] {
        let location = Location {
            name: name.into(),
            code: Some(name.to_uppercase()),
            library_id: (id == STACKS).then_some(LIBRARY),
            primary_service_point: Some(desk),
            service_point_ids: vec![desk],
            ..Location::default()
        };
        settings.locations.insert(id, location);
    }
    settings
        .libraries
        .insert(LIBRARY, Named { name: "Library".into(), code: Some("LIB".into()), ..Named::default() });
    let rules = format!(
        "priority: t, s, c, b, a, m, g\n\
         fallback-policy: l {POLICY} r {POLICY} n {POLICY} o {POLICY} i {POLICY}\n\
         m {REFERENCE}: l {POLICY} r {NO_REQUESTS} n {POLICY} o {POLICY} i {POLICY}"
    );
    settings.rules = Rules::parse(&rules).expect("the rules can be read");
    let policy = json!({"requestTypes": ["Page", "Hold", "Recall"],
        "allowedServicePoints": {"Recall": [MAIN_DESK]}});
    settings.request_policies.insert(POLICY, Arc::new(policy));
    settings.request_policies.insert(NO_REQUESTS, Arc::new(json!({"requestTypes": []})));
    let loans = json!({"id": POLICY, "name": "Three weeks", "loanable": true, "renewable": true,
        "loansPolicy": {"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"},
            "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
        "requestManagement": {"recalls": {"recallReturnInterval": {"duration": 2, "intervalId": "Days"}}}});
    settings.loan_policies.insert(POLICY, serde_json::from_value(loans).expect("a loan policy"));
    settings.title_level_requests.title_level_requests_feature_enabled = titles;
    settings
}

pub fn item_as(id: Uuid, status: &str) -> Candidate {
    let mut item = ItemAtDesk {
        id,
        status: status.into(),
        holdings_id: Some(HOLDINGS),
        instance_id: Some(TITLE),
        ..ItemAtDesk::default()
    };
    item.record.material_type_id = Some(PRINT);
    item.record.effective_location_id = Some(STACKS);
    Candidate { item, loan: None, requests: 0, recalls: 0, last_position: 0 }
}

/// An item in another location.
pub fn at(location: Uuid, mut item_as: Candidate) -> Candidate {
    item_as.item.record.effective_location_id = Some(location);
    item_as
}

/// An item that cannot be requested.
pub fn for_reference(mut item_as: Candidate) -> Candidate {
    item_as.item.record.material_type_id = Some(REFERENCE);
    item_as
}

/// An item on loan until a day of May 2024.
pub fn on_loan(id: Uuid, to: Uuid, due: &str) -> Candidate {
    let document = json!({"id": id, "userId": to, "itemId": id, "loanDate": "2024-05-01T10:00:00Z",
        "dueDate": format!("2024-05-{due}T10:00:00.000+00:00"), "status": {"name": "Open"}, "action": "checkedout"});
    let loan = OpenLoan {
        id,
        document: with(document, json!({})),
        borrower_group: Some(GROUP),
        borrower_expires: None,
    };
    Candidate { loan: Some(loan), ..item_as(id, "Checked out") }
}

pub fn patron(id: Uuid) -> Patron {
    Patron { id, active: Some(true), patron_group: Some(GROUP), ..Patron::default() }
}

/// The facts when the patron requests one of these items.
pub fn facts(candidates: Vec<Candidate>) -> Facts {
    Facts {
        title: Some(Title { title: Some("Nod".into()), ..Title::default() }),
        requester: Some(patron(PATRON)),
        candidates,
        ..Facts::default()
    }
}

/// An open request of the patron, in the queue.
pub fn own(level: &str, status: &str) -> QueuedRequest {
    let document = json!({"id": OTHER_ITEM, "requestLevel": level, "itemId": ITEM, "status": status});
    QueuedRequest { id: OTHER_ITEM, document: with(document, json!({})), requester: None, queue: None }
}

/// A hold of the item; `differs` replaces properties.
pub fn request_with(differs: Value) -> PlaceRequest {
    let document = with(
        json!({"requestType": "Hold", "requestLevel": "Item", "requestDate": NOW, "instanceId": TITLE,
            "holdingsRecordId": HOLDINGS, "itemId": ITEM, "requesterId": PATRON,
            "fulfillmentPreference": "Hold Shelf", "pickupServicePointId": MAIN_DESK}),
        differs,
    );
    PlaceRequest { document, ..PlaceRequest::default() }
}

/// A title-level request.
pub fn asks_for_title(kind: &str) -> PlaceRequest {
    request_with(
        json!({"requestLevel": "Title", "requestType": kind, "itemId": null, "holdingsRecordId": null}),
    )
}

/// A queue entry for an item, of the patron or a neighbor.
pub fn waiting(id: Uuid, position: i64, item: Uuid) -> QueueEntry {
    QueueEntry {
        id,
        position: Some(position),
        item_id: Some(item),
        requester_id: Some(if id == REQUEST { PATRON } else { NEIGHBOR }),
        kind: Some(RequestType::Hold),
        status: Some(RequestStatus::NotYetFilled),
        is_title_level: false,
    }
}

/// The patron's request, locked for a change; `differs` replaces properties.
pub fn held(differs: Value, items: Vec<Candidate>, queue: Vec<QueueEntry>) -> LockedRequest {
    let Value::Object(mut stored) =
        json!({"id": REQUEST, "status": RequestStatus::NotYetFilled, "position": 1})
    else {
        unreachable!("it is an object")
    };
    stored.extend(request_with(differs).document);
    LockedRequest {
        stored,
        title: None,
        requester: Some(patron(PATRON)),
        proxy: None,
        proxy_relations: Vec::new(),
        items,
        queue,
        other_queue: Vec::new(),
    }
}

/// The first refusal of a result that must be a refusal.
pub fn first_refusal<T>(decided: Result<T, Failure>) -> Refusal {
    match decided {
        Err(Failure::Refused(mut refusals)) => refusals.remove(0),
        other => unreachable!("a refusal was expected: {:?}", other.err()),
    }
}

pub fn staff() -> Actor {
    Actor {
        caller: Caller::default(),
        may: MayOverride::default(),
        now: time::parse(NOW).expect("a time"),
        request_id: Uuid::from_u128(99),
    }
}
