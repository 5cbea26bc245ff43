//! Settings and facts for the tests of these rules: a main desk that serves the stacks, a branch desk that serves no
//! location.

use super::{CheckIn, decide};
use crate::check_in::CheckInRequest;
use crate::check_in::facts::Facts;
use crate::desk::{ItemAtDesk, QueuedRequest};
use crate::settings::{CirculationSettings, Location, Named, ServicePoint};
use carrel_loan_rules::loan_policy::{Interval, Period};
use carrel_records::{Failure, time};
use serde_json::{Value, json};
use uuid::Uuid;

pub const MAIN_DESK: Uuid = Uuid::from_u128(1);
pub const BRANCH_DESK: Uuid = Uuid::from_u128(2);
pub const STACKS: Uuid = Uuid::from_u128(3);
pub const BOOK: Uuid = Uuid::from_u128(4);
pub const PATRON: Uuid = Uuid::from_u128(5);
pub const NOW: &str = "2024-05-10T10:00:00Z";

pub fn library() -> CirculationSettings {
    let mut settings = CirculationSettings::blank();
    let point = |name: &str| ServicePoint {
        name: name.into(),
        hold_shelf_expiry_period: Some(Period::of(3, Interval::Days)),
        ..ServicePoint::default()
    };
    settings.service_points.insert(MAIN_DESK, point("Main desk"));
    settings.service_points.insert(BRANCH_DESK, point("Branch desk"));
    settings.locations.insert(
        STACKS,
        Location {
            name: "Stacks".into(),
            primary_service_point: Some(MAIN_DESK),
            service_point_ids: vec![MAIN_DESK],
            ..Location::default()
        },
    );
    settings.material_types.insert(BOOK, Named { name: "Book".into(), ..Named::default() });
    settings
}

pub fn item(status: &str) -> ItemAtDesk {
    let mut item = ItemAtDesk { id: BOOK, status: status.into(), ..ItemAtDesk::default() };
    item.record.barcode = Some("0360".into());
    item.record.effective_location_id = Some(STACKS);
    item.record.material_type_id = Some(BOOK);
    item.title.title = Some("Nod".into());
    item
}

pub fn facts(status: &str) -> Facts {
    Facts { item: Some(item(status)), ..Facts::default() }
}

pub fn lent(status: &str, more: Value) -> Facts {
    let mut loan = json!({"id": PATRON, "userId": PATRON, "status": {"name": "Open"}, "action": "checkedout",
        "actionComment": "as a favor", "shelfMark": "kept"});
    loan.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    Facts { loan: loan.as_object().cloned(), ..facts(status) }
}

pub fn request(position: u128, more: Value) -> QueuedRequest {
    let mut document = json!({"id": Uuid::from_u128(100 + position), "requestLevel": "Item", "itemId": BOOK,
        "requestType": "Hold", "status": "Open - Not yet filled", "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": MAIN_DESK, "position": position as i64});
    document.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    QueuedRequest {
        id: Uuid::from_u128(100 + position),
        document: document.as_object().expect("an object").clone(),
        requester: None,
        queue: None,
    }
}

pub fn at(point: Uuid) -> CheckInRequest {
    CheckInRequest {
        item_barcode: "0360".into(),
        service_point: point,
        returned: time::parse("2024-05-08T18:00:00Z").expect("a time"),
        session: None,
        resolution: None,
        by: PATRON,
        refuses_unconfirmed: false,
    }
}

pub fn decided(facts: Facts, command: &CheckInRequest) -> Result<CheckIn, Failure> {
    decide(facts, command, &library(), time::parse(NOW).expect("a time"), Uuid::nil())
}

pub fn done(facts: Facts, point: Uuid) -> CheckIn {
    decided(facts, &at(point)).expect("a check-in")
}

pub fn refused(facts: Facts) -> String {
    decided(facts, &at(MAIN_DESK)).expect_err("a refusal").to_string()
}
