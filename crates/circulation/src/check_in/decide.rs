//! Where the item goes, what becomes of its loan and of the request that waits for it (circulation.md 3).

use super::Order;
use super::facts::Facts;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, RecordChange, queue};
use crate::due_date::{HoldShelf, hold_shelf_expiration};
use crate::requests::snapshot;
use crate::rulebook::Rulebook;
use carrel_inventory::item_state::StateChange;
use carrel_records::{Failure, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// What changes when the item comes back.
#[derive(Debug, Clone)]
pub struct CheckIn {
    /// The item as it stands afterwards.
    pub item: ItemAtDesk,
    pub state: StateChange,
    /// Floating collection that the item now belongs to.
    pub floats_to: Option<Uuid>,
    pub loan: Option<ClosedLoan>,
    pub request: Option<MovedRequest>,
    /// The check-in record.
    pub record: Map<String, Value>,
    pub record_id: Uuid,
    /// The item was read in the house and comes back to its own shelf.
    pub in_house_use: bool,
}

/// The loan that ends.
#[derive(Debug, Clone)]
pub struct ClosedLoan {
    pub change: RecordChange,
    /// Absent where the loan was anonymized.
    pub patron: Option<Uuid>,
    pub borrower: Option<Patron>,
}

/// The request that the item fulfills.
#[derive(Debug, Clone)]
pub struct MovedRequest {
    pub change: RecordChange,
    /// New positions in its queue.
    pub positions: queue::Moves,
    /// The request as it stands afterwards.
    pub request: QueuedRequest,
}

/// The first refusal in desk order, or all that changes.
pub fn decide(
    facts: Facts,
    order: &Order,
    book: &Rulebook,
    now: Timestamp,
    record_id: Uuid,
) -> Result<CheckIn, Failure> {
    let item = known(facts.item.as_ref(), order)?;
    if let Some(refusal) = refuse_intellectual_item(item, book).or_else(|| refuse_open_claim(item, order)) {
        return Err(refusal.into());
    }
    let request = queue::first_fulfillable(&facts.queue, item, book);
    let destination = destination(item, request, order, book)?;
    let floats_to = (destination.status == "Available").then(|| floats_to(item, order, book)).flatten();
    let last_check_in = json!({
        "dateTime": time::format(now),
        "servicePointId": order.service_point,
        "staffMemberId": order.by,
    });
    let state = StateChange {
        status: destination.status,
        in_transit_destination: destination.service_point,
        last_check_in: Some(last_check_in),
    };
    let mut after = item.after(&state);
    if floats_to.is_some() {
        after.record.temporary_location_id = floats_to;
        after.record.effective_location_id = floats_to;
    }
    let in_house_use = item.status == "Available"
        && facts.queue.is_empty()
        && item.record.effective_location_id.is_some_and(|at| book.serves(order.service_point, at));
    let taken_in = TakenIn { service_point: order.service_point, by: Some(order.by), now };
    let request = request
        .map(|request| moved(request, &facts.queue, item, destination.request_status, &taken_in, book))
        .transpose()?;
    let loan = facts.loan.as_ref().map(|loan| closed(loan, facts.patron, item, &state, order, book, now));
    Ok(CheckIn {
        record: record(item, facts.queue.len(), order, now, record_id),
        record_id,
        item: after,
        state,
        floats_to,
        loan: loan.transpose()?,
        request,
        in_house_use,
    })
}

fn known<'a>(item: Option<&'a ItemAtDesk>, order: &Order) -> Result<&'a ItemAtDesk, Refusal> {
    let barcode = &order.item_barcode;
    item.ok_or_else(|| {
        Refusal::new(format!("No item with barcode {barcode} exists"))
            .with("itemBarcode", barcode)
            .code("ITEM_BARCODE_NOT_FOUND")
    })
}

fn refuse_intellectual_item(item: &ItemAtDesk, book: &Rulebook) -> Option<Refusal> {
    (item.status == "Intellectual item").then(|| {
        Refusal::new(format!(
            "{} ({}) (Barcode: {}) has the item status {} and cannot be checked in",
            item.title(),
            item.material_type_name(book),
            item.barcode(),
            item.status
        ))
        .with("itemBarcode", item.barcode())
    })
}

fn refuse_open_claim(item: &ItemAtDesk, order: &Order) -> Option<Refusal> {
    (item.status == "Claimed returned" && order.resolution.is_none()).then(|| {
        Refusal::new("Item is claimed returned, a resolution is required to check in")
            .with_null("claimedReturnedResolution")
    })
}

/// Where the item goes, and what the request that it fulfills becomes.
struct Destination {
    status: &'static str,
    service_point: Option<Uuid>,
    request_status: &'static str,
}

fn destination(
    item: &ItemAtDesk,
    request: Option<&QueuedRequest>,
    order: &Order,
    book: &Rulebook,
) -> Result<Destination, Refusal> {
    let here = |status, request_status| Destination { status, service_point: None, request_status };
    let to = |service_point| Destination {
        status: "In transit",
        service_point,
        request_status: "Open - In transit",
    };
    if let Some(request) = request {
        if request.wants_delivery() {
            return Ok(here("Awaiting delivery", "Open - Awaiting delivery"));
        }
        return match request.pickup_service_point() {
            None => Err(Refusal::new(
                "Failed to check in item due to the highest priority request missing a pickup service point",
            )
            .with_null("pickupServicePointId")),
            Some(pickup) if pickup == order.service_point => {
                Ok(here("Awaiting pickup", "Open - Awaiting pickup"))
            }
            Some(pickup) => Ok(to(Some(pickup))),
        };
    }
    let location = item.record.effective_location_id;
    if location.is_some_and(|at| book.serves(order.service_point, at))
        || floats_to(item, order, book).is_some()
    {
        return Ok(here("Available", ""));
    }
    Ok(to(location.and_then(|at| book.locations.get(&at)).and_then(|at| at.primary_service_point)))
}

/// The floating collection of the service point that takes in an item of such a collection: its own, where the
/// service point serves it, else the first by code.
fn floats_to(item: &ItemAtDesk, order: &Order, book: &Rulebook) -> Option<Uuid> {
    let own = item.record.effective_location_id?;
    let floats = |id: &Uuid| {
        book.locations.get(id).is_some_and(|location| location.is_floating_collection == Some(true))
    };
    if !book.features.floating_collections || !floats(&own) {
        return None;
    }
    book.locations
        .iter()
        .filter(|(id, location)| floats(id) && location.service_point_ids.contains(&order.service_point))
        .min_by_key(|(id, location)| (**id != own, location.code.clone(), **id))
        .map(|(id, _)| *id)
}

/// Where, by whom and when an item is taken in.
#[derive(Debug, Clone, Copy)]
pub struct TakenIn {
    pub service_point: Uuid,
    pub by: Option<Uuid>,
    pub now: Timestamp,
}

/// The request that an item fulfills, moved on.
pub fn moved(
    request: &QueuedRequest,
    queue: &[QueuedRequest],
    item: &ItemAtDesk,
    status: &'static str,
    taken_in: &TakenIn,
    book: &Rulebook,
) -> Result<MovedRequest, Refusal> {
    let mut change = RecordChange::of(request.id, &request.document);
    if request.item_id() != Some(item.id) {
        change.set("itemId", item.id.to_string());
        if let Some(holdings) = item.holdings_id {
            change.set("holdingsRecordId", holdings.to_string());
        }
        change.set("item", snapshot::item_snapshot(item, book));
        change.set("searchIndex", search_index(request, item));
    }
    change.set("status", status);
    if status == "Open - Awaiting pickup" {
        if request.text("holdShelfExpirationDate").is_empty() {
            let point = book.service_points.get(&taken_in.service_point);
            let shelf = HoldShelf {
                expiry_period: point.and_then(|point| point.hold_shelf_expiry_period.as_ref()),
                closed_library_date_management: point
                    .and_then(|point| point.hold_shelf_closed_library_date_management.as_deref()),
            };
            let calendar = book.calendar(taken_in.service_point);
            let expires = hold_shelf_expiration(taken_in.now, &shelf, &book.zone, &calendar)?;
            change.set("holdShelfExpirationDate", time::format(expires));
        }
    } else {
        change.remove("holdShelfExpirationDate");
    }
    change.signed(taken_in.by, taken_in.now);
    let positions = queue::ahead_of_those_waiting(queue, request.id);
    if let Some((_, position)) = positions.positions.iter().find(|(id, _)| *id == request.id) {
        change.told("position", *position);
    }
    let request = QueuedRequest { document: change.document().clone(), ..request.clone() };
    Ok(MovedRequest { change, positions, request })
}

/// The search index of a request that gets its item.
fn search_index(request: &QueuedRequest, item: &ItemAtDesk) -> Value {
    let mut index =
        request.document.get("searchIndex").and_then(Value::as_object).cloned().unwrap_or_default();
    index.extend(snapshot::search_index(item));
    Value::Object(index)
}

fn closed(
    loan: &Map<String, Value>,
    borrower: Option<Patron>,
    item: &ItemAtDesk,
    state: &StateChange,
    order: &Order,
    book: &Rulebook,
    now: Timestamp,
) -> Result<ClosedLoan, Failure> {
    let id_at = |key: &str| loan.get(key).and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
    let id = id_at("id").ok_or_else(|| Failure::internal("a stored loan has an id"))?;
    let mut change = RecordChange::of(id, loan);
    let claimed = item.status == "Claimed returned";
    let action = order.resolution.filter(|_| claimed).map_or("checkedin", |resolution| resolution.action());
    change.set("status", json!({"name": "Closed"}));
    change.set("action", action);
    change.remove("actionComment");
    change.set("itemStatus", state.status);
    change.set("returnDate", time::format(order.returned));
    change.set("systemReturnDate", time::format(now));
    change.set("checkinServicePointId", order.service_point.to_string());
    if item.status == "Aged to lost"
        && let Some(mut billing) = loan.get("agedToLostDelayedBilling").and_then(Value::as_object).cloned()
    {
        // What is not billed yet never will be.
        billing.remove("lostItemHasBeenBilled");
        billing.remove("dateLostItemShouldBeBilled");
        change.set("agedToLostDelayedBilling", billing);
    }
    if book.features.for_use_at_location
        && let Some(mut used) = loan.get("forUseAtLocation").and_then(Value::as_object).cloned()
    {
        used.insert("status".into(), "Returned".into());
        used.insert("statusDate".into(), time::format(now).into());
        change.set("forUseAtLocation", used);
    }
    change.signed(Some(order.by), now);
    Ok(ClosedLoan { change, patron: id_at("userId"), borrower })
}

fn record(
    item: &ItemAtDesk,
    queue_size: usize,
    order: &Order,
    now: Timestamp,
    id: Uuid,
) -> Map<String, Value> {
    let mut record = Map::new();
    record.insert("id".into(), id.to_string().into());
    record.insert("occurredDateTime".into(), time::format(now).into());
    record.insert("itemId".into(), item.id.to_string().into());
    record.insert("itemStatusPriorToCheckIn".into(), item.status.as_str().into());
    record.insert("requestQueueSize".into(), queue_size.into());
    if let Some(location) = item.record.effective_location_id {
        record.insert("itemLocationId".into(), location.to_string().into());
    }
    record.insert("servicePointId".into(), order.service_point.to_string().into());
    record.insert("performedByUserId".into(), order.by.to_string().into());
    record.insert(
        "metadata".into(),
        json!({"createdDate": time::format(now), "createdByUserId": order.by,
            "updatedDate": time::format(now), "updatedByUserId": order.by}),
    );
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_in::Resolution;
    use crate::loan_policy::{Interval, Period};
    use crate::rulebook::{Location, Named, ServicePoint};

    const MAIN_DESK: Uuid = Uuid::from_u128(1);
    const BRANCH_DESK: Uuid = Uuid::from_u128(2);
    const STACKS: Uuid = Uuid::from_u128(3);
    const BOOK: Uuid = Uuid::from_u128(4);
    const READER: Uuid = Uuid::from_u128(5);
    const NOW: &str = "2024-05-10T10:00:00Z";

    fn library() -> Rulebook {
        let mut book = Rulebook::blank();
        let point = |name: &str| ServicePoint {
            name: name.into(),
            hold_shelf_expiry_period: Some(Period::of(3, Interval::Days)),
            ..ServicePoint::default()
        };
        book.service_points.insert(MAIN_DESK, point("Main desk"));
        book.service_points.insert(BRANCH_DESK, point("Branch desk"));
        book.locations.insert(
            STACKS,
            Location {
                name: "Stacks".into(),
                primary_service_point: Some(MAIN_DESK),
                service_point_ids: vec![MAIN_DESK],
                ..Location::default()
            },
        );
        book.material_types.insert(BOOK, Named { name: "Book".into(), ..Named::default() });
        book
    }

    fn item(status: &str) -> ItemAtDesk {
        let mut item = ItemAtDesk { id: BOOK, status: status.into(), ..ItemAtDesk::default() };
        item.record.barcode = Some("0360".into());
        item.record.effective_location_id = Some(STACKS);
        item.record.material_type_id = Some(BOOK);
        item.title.title = Some("Nod".into());
        item
    }

    fn facts(status: &str) -> Facts {
        Facts { item: Some(item(status)), ..Facts::default() }
    }

    fn lent(status: &str, more: Value) -> Facts {
        let mut loan = json!({"id": READER, "userId": READER, "status": {"name": "Open"}, "action": "checkedout",
            "actionComment": "as a favor", "shelfMark": "kept"});
        loan.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        Facts { loan: loan.as_object().cloned(), ..facts(status) }
    }

    fn request(position: u128, more: Value) -> QueuedRequest {
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

    fn at(point: Uuid) -> Order {
        Order {
            item_barcode: "0360".into(),
            service_point: point,
            returned: time::parse("2024-05-08T18:00:00Z").expect("a time"),
            session: None,
            resolution: None,
            by: READER,
        }
    }

    fn decided(facts: Facts, order: &Order) -> Result<CheckIn, Failure> {
        decide(facts, order, &library(), time::parse(NOW).expect("a time"), Uuid::nil())
    }

    fn done(facts: Facts, point: Uuid) -> CheckIn {
        decided(facts, &at(point)).expect("a check-in")
    }

    fn refused(facts: Facts) -> String {
        decided(facts, &at(MAIN_DESK)).expect_err("a refusal").to_string()
    }

    #[test]
    fn refusals_come_in_desk_order() {
        assert_eq!(refused(Facts::default()), "refused: No item with barcode 0360 exists");
        assert_eq!(
            refused(facts("Intellectual item")),
            "refused: Nod (Book) (Barcode: 0360) has the item status Intellectual item and cannot be checked in"
        );
        assert_eq!(
            refused(facts("Claimed returned")),
            "refused: Item is claimed returned, a resolution is required to check in"
        );
        let queue = vec![request(1, json!({"pickupServicePointId": null}))];
        assert_eq!(
            refused(Facts { queue, ..facts("Checked out") }),
            "refused: Failed to check in item due to the highest priority request missing a pickup service point"
        );
    }

    #[test]
    fn without_requests_an_item_is_available_at_its_own_desk_and_goes_home_from_another() {
        let here = done(facts("Checked out"), MAIN_DESK);
        assert_eq!((here.state.status, here.state.in_transit_destination), ("Available", None));
        let away = done(facts("Checked out"), BRANCH_DESK);
        assert_eq!((away.state.status, away.state.in_transit_destination), ("In transit", Some(MAIN_DESK)));
    }

    #[test]
    fn an_item_from_the_reading_room_was_used_in_the_house() {
        assert!(done(facts("Available"), MAIN_DESK).in_house_use);
        assert!(!done(facts("Available"), BRANCH_DESK).in_house_use);
        assert!(!done(facts("In transit"), MAIN_DESK).in_house_use);
        let queue = vec![request(1, json!({}))];
        assert!(!done(Facts { queue, ..facts("Available") }, MAIN_DESK).in_house_use);
    }

    #[test]
    fn a_requested_item_waits_on_the_shelf_of_its_pickup_desk() {
        let queue = vec![request(1, json!({}))];
        let check_in = done(Facts { queue, ..facts("Checked out") }, MAIN_DESK);
        assert_eq!(check_in.state.status, "Awaiting pickup");
        let request = check_in.request.expect("the request moved");
        assert_eq!(request.request.status(), "Open - Awaiting pickup");
        assert_eq!(request.request.text("holdShelfExpirationDate"), "2024-05-13T23:59:59.000+00:00");
    }

    #[test]
    fn a_date_on_the_hold_shelf_is_given_once() {
        let queue = vec![request(
            1,
            json!({"status": "Open - Awaiting pickup", "holdShelfExpirationDate": "2024-05-11T23:59:59.000+00:00"}),
        )];
        let check_in = done(Facts { queue, ..facts("Awaiting pickup") }, MAIN_DESK);
        let request = check_in.request.expect("the request moved");
        assert_eq!(request.request.text("holdShelfExpirationDate"), "2024-05-11T23:59:59.000+00:00");
    }

    #[test]
    fn a_requested_item_travels_to_its_pickup_desk() {
        let queue = vec![request(1, json!({"holdShelfExpirationDate": "2024-05-11"}))];
        let check_in = done(Facts { queue, ..facts("Checked out") }, BRANCH_DESK);
        assert_eq!(check_in.state.in_transit_destination, Some(MAIN_DESK));
        let request = check_in.request.expect("the request moved");
        assert_eq!(request.request.status(), "Open - In transit");
        assert_eq!(request.request.text("holdShelfExpirationDate"), "");
    }

    #[test]
    fn a_delivery_starts_at_any_desk() {
        let queue =
            vec![request(1, json!({"fulfillmentPreference": "Delivery", "pickupServicePointId": null}))];
        let check_in = done(Facts { queue, ..facts("Checked out") }, BRANCH_DESK);
        assert_eq!(check_in.state.status, "Awaiting delivery");
        assert_eq!(check_in.request.expect("it moved").request.status(), "Open - Awaiting delivery");
    }

    #[test]
    fn the_request_that_an_item_fulfills_goes_ahead_of_those_that_still_wait() {
        let other = Uuid::from_u128(77);
        let queue = vec![
            request(1, json!({"itemId": other, "status": "Open - Awaiting pickup"})),
            request(2, json!({"itemId": other})),
            request(3, json!({})),
        ];
        let check_in = done(Facts { queue, ..facts("Checked out") }, MAIN_DESK);
        let moved = check_in.request.expect("it moved");
        assert_eq!(moved.positions.positions, [(Uuid::from_u128(103), 2), (Uuid::from_u128(102), 3)]);
        assert_eq!(moved.request.position(), 2);
    }

    #[test]
    fn the_loan_ends_when_the_item_came_back_not_when_it_is_scanned() {
        let check_in = done(lent("Checked out", json!({})), MAIN_DESK);
        let loan = check_in.loan.expect("a loan").change;
        let loan = Value::Object(loan.document().clone());
        assert_eq!(loan["status"]["name"], "Closed");
        assert_eq!(loan["action"], "checkedin");
        assert_eq!(loan["returnDate"], "2024-05-08T18:00:00.000+00:00");
        assert_eq!(loan["systemReturnDate"], "2024-05-10T10:00:00.000+00:00");
        assert_eq!(loan["itemStatus"], "Available");
        assert_eq!(loan["shelfMark"], "kept");
        assert!(loan.get("actionComment").is_none());
    }

    #[test]
    fn a_claim_ends_as_the_desk_says() {
        for (resolution, action) in [
            (Resolution::FoundByLibrary, "checkedInFoundByLibrary"),
            (Resolution::ReturnedByPatron, "checkedInReturnedByPatron"),
        ] {
            let order = Order { resolution: Some(resolution), ..at(MAIN_DESK) };
            let check_in = decided(lent("Claimed returned", json!({})), &order).expect("a check-in");
            assert_eq!(check_in.loan.expect("a loan").change.document()["action"], action);
            let unclaimed = decided(lent("Checked out", json!({})), &order).expect("a check-in");
            assert_eq!(unclaimed.loan.expect("a loan").change.document()["action"], "checkedin");
        }
    }

    #[test]
    fn an_item_aged_to_lost_that_comes_back_is_not_billed_any_more() {
        let billing = json!({"agedToLostDelayedBilling":
            {"lostItemHasBeenBilled": false, "dateLostItemShouldBeBilled": "2024-06-01", "agedToLostDate": "2024-05-01"}});
        let check_in = done(lent("Aged to lost", billing), MAIN_DESK);
        let loan = check_in.loan.expect("a loan").change;
        assert_eq!(loan.document()["agedToLostDelayedBilling"], json!({"agedToLostDate": "2024-05-01"}));
    }

    #[test]
    fn every_check_in_is_recorded_with_what_it_found() {
        let queue = vec![request(1, json!({}))];
        let check_in = done(Facts { queue, ..facts("Paged") }, MAIN_DESK);
        let record = Value::Object(check_in.record);
        assert_eq!(record["itemStatusPriorToCheckIn"], "Paged");
        assert_eq!(record["requestQueueSize"], 1);
        assert_eq!(record["itemLocationId"], json!(STACKS));
    }

    #[test]
    fn an_item_of_a_floating_collection_stays_where_such_a_collection_is() {
        let branch_shelf = Uuid::from_u128(9);
        let mut book = library();
        book.features.floating_collections = true;
        book.locations.get_mut(&STACKS).expect("the stacks").is_floating_collection = Some(true);
        book.locations.insert(
            branch_shelf,
            Location {
                name: "Branch shelf".into(),
                primary_service_point: Some(BRANCH_DESK),
                service_point_ids: vec![BRANCH_DESK],
                is_floating_collection: Some(true),
                ..Location::default()
            },
        );
        let now = time::parse(NOW).expect("a time");
        let check_in =
            decide(facts("Checked out"), &at(BRANCH_DESK), &book, now, Uuid::nil()).expect("a check-in");
        assert_eq!(check_in.state.status, "Available");
        assert_eq!(check_in.floats_to, Some(branch_shelf));
        book.features.floating_collections = false;
        let check_in =
            decide(facts("Checked out"), &at(BRANCH_DESK), &book, now, Uuid::nil()).expect("a check-in");
        assert_eq!((check_in.state.status, check_in.floats_to), ("In transit", None));
    }
}
