//! A loan as a client sends it whole, to be made or replaced: the desk's old way, still used by scripts.

use super::find::{self, LoanAtDesk, id_bind, text_at};
use crate::check_in::{self, MovedRequest, TakenIn};
use crate::check_out::is_valid_relation;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, queue};
use crate::due_date::{self, Circumstances, RecallMoment, RecalledLoan};
use crate::loans::store;
use crate::rulebook::Rulebook;
use carrel_circulation_rules::PolicyKind;
use carrel_platform::{Bind, Flight, Json, Tenant, Tx};
use carrel_records::{Failure, Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// What stands in the library beside the loan that was sent.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The loan as stored until now.
    pub existing: Option<Map<String, Value>>,
    pub item: Option<ItemAtDesk>,
    pub patron: Option<Patron>,
    pub proxy_relations: Vec<Value>,
    pub queue: Vec<QueuedRequest>,
    pub amount_remaining: f64,
}

/// Locks patron, queue, item and loan, and reads what the decision wants to know.
pub async fn gather(
    tenant: &Arc<Tenant>,
    id: Uuid,
    sent: &Map<String, Value>,
) -> Result<(Tx, Facts, Arc<Rulebook>), Failure> {
    let [user, item, proxy] = ["userId", "itemId", "proxyUserId"].map(|key| id_bind(text_at(sent, key)));
    // Where a queue is found, the facts are gathered again with the queue held.
    let mut held = None;
    loop {
        let (tx, facts, book) =
            gather_holding(tenant, id, held, [user.clone(), item.clone(), proxy.clone()]).await?;
        if let (false, Some(item)) = (facts.queue.is_empty(), &facts.item) {
            let queue = queue::id_of(book.title_level_requests.enabled(), item.instance_id, Some(item.id));
            if queue != held {
                held = queue;
                continue;
            }
        }
        return Ok((tx, facts, book));
    }
}

async fn gather_holding(
    tenant: &Arc<Tenant>,
    id: Uuid,
    held: Option<Uuid>,
    [user, item, proxy]: [Bind; 3],
) -> Result<(Tx, Facts, Arc<Rulebook>), Failure> {
    static WAYS: LazyLock<[String; 2]> = LazyLock::new(|| [false, true].map(statement));
    let (tx, landed, step, book) = find::gather(tenant, |book| {
        let mut flight = Flight::new();
        flight.add("SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE", vec![user.clone()]);
        if let Some(queue) = held {
            queue::hold(&mut flight, queue);
        }
        flight.add("SELECT 1 FROM item_state WHERE item_id = $1 FOR NO KEY UPDATE", vec![item.clone()]);
        flight.add(find::LOCK_LOAN, vec![id.into()]);
        let way = usize::from(book.title_level_requests.enabled());
        let binds = vec![id.into(), user.clone(), item.clone(), proxy.clone()];
        let facts = flight.add(WAYS[way].as_str(), binds);
        (flight, facts)
    })
    .await?;
    let row = landed.first(step).ok_or_else(|| Failure::internal("facts are one row"))?;
    let existing = match row.get::<_, Option<Json>>(1).map(|json| json.parse()) {
        Some(Value::Object(document)) => Some(document),
        _ => None,
    };
    let facts = Facts {
        existing,
        patron: Patron::at(row, 2)?,
        proxy_relations: Json::elements(row.get(3)),
        queue: queue::read(row.get(4))?,
        amount_remaining: row.get(5),
        item: ItemAtDesk::read(row, 6)?,
    };
    Ok((tx, facts, book))
}

fn statement(title_level: bool) -> String {
    format!(
        "SELECT (SELECT value FROM stamp WHERE id = 1), existing.doc, patron.doc,
             (SELECT jsonb_agg(p.doc) FROM proxyfor p WHERE p.user_id = $2 AND p.proxy_user_id = $4),
             {queue},
             coalesce((SELECT sum((a.doc->>'remaining')::numeric) FROM accounts a
               WHERE a.loan_id = $1 AND a.doc->'status'->>'name' = 'Open'), 0)::float8,
             {columns}
         FROM (SELECT 1) one
         LEFT JOIN loan existing ON existing.id = $1
         LEFT JOIN users patron ON patron.id = $2
         LEFT JOIN ({tables}) ON item.id = $3",
        queue = queue::sql(title_level),
        columns = item::COLUMNS,
        tables = item::TABLES,
    )
}

/// What becomes of the loan, its item and the queue behind it.
#[derive(Debug, Clone)]
pub struct Decision {
    pub loan: Map<String, Value>,
    pub item_id: Uuid,
    /// The item's new status, where it changes.
    pub item_status: Option<&'static str>,
    /// The request that the new loan fills, and the new positions of those behind it.
    pub fills: Option<Uuid>,
    pub moves_up: queue::Moves,
    /// The request that the item fulfills now that it is back.
    pub moved: Option<MovedRequest>,
}

/// A loan without status is open, and was checked out.
pub fn with_defaults(mut sent: Map<String, Value>) -> Map<String, Value> {
    if !sent.contains_key("status") {
        sent.insert("status".into(), json!({"name": "Open"}));
        sent.entry("action").or_insert_with(|| "checkedout".into());
    }
    sent
}

/// Refusals of a new loan in desk order, or the loan.
pub fn decide_new(
    facts: &Facts,
    sent: &Map<String, Value>,
    book: &Rulebook,
    now: Timestamp,
) -> Result<Decision, Failure> {
    refuse_for_status_and_desks(sent, book)?;
    let item = known_item(facts, sent)?;
    let item_id = item.id.to_string();
    if item.status == "Checked out" {
        return Err(Refusal::new("Item is already checked out").with("itemId", item_id).into());
    }
    if ["Missing", "Declared lost"].contains(&item.status.as_str()) {
        let words = format!(
            "{} ({}) (Barcode: {}) has the item status {}, loan cannot be created",
            item.title(),
            item.material_type_name(book),
            item.barcode(),
            item.status
        );
        return Err(Refusal::new(words).with("itemId", item_id).into());
    }
    refuse_for_proxy(facts, sent, now)?;
    let Some(patron) = &facts.patron else {
        return Err(with_text(Refusal::new("user is not found"), "userId", sent).into());
    };
    let request = queue::first_fulfillable_by_lending(&facts.queue, item, book);
    if let Some(request) = request
        && request.requester_id() != Some(patron.id)
    {
        let words = format!(
            "{} (Barcode: {}) cannot be checked out to user {} because it has been requested by another patron",
            item.title(),
            item.barcode(),
            patron.said_name()
        );
        return Err(with_text(Refusal::new(words), "userId", sent).into());
    }
    if patron.patron_group.is_none() {
        return Err(Failure::Misconfigured(
            "Unable to apply circulation rules to a user with null value as patronGroupId".into(),
        ));
    }
    let matched = book.matching(&item.circumstance(patron.patron_group), PolicyKind::Loan)?;
    let terms = book.loan_terms(matched.id)?;

    let is_open = text_at(sent, "status/name") == "Open";
    let mut loan = store::stored(sent);
    loan.insert("loanPolicyId".into(), matched.id.to_string().into());
    let is_dcb = item.is_of_another_library() || patron.is_of_another_library();
    loan.insert("isDcb".into(), is_dcb.into());
    let recalled = facts
        .queue
        .iter()
        .filter(|waiting| request.is_none_or(|filled| filled.id != waiting.id))
        .any(|waiting| waiting.is_recall() && waiting.item_id() == Some(item.id));
    let moment = |key: &str| time::parse(text_at(sent, key));
    if recalled
        && is_open
        && let (Some(loan_date), Some(due_date)) = (moment("loanDate"), moment("dueDate"))
    {
        let desk = Uuid::parse_str(text_at(sent, "checkoutServicePointId")).unwrap_or_default();
        let circumstances = Circumstances {
            now,
            zone: &book.zone,
            calendar: &book.calendar(desk),
            patron_expires: patron.expires(),
        };
        let already_recalled = sent.get("dueDateChangedByRecall") == Some(&Value::Bool(true));
        let recalled_loan = RecalledLoan { loan_date, due_date, already_recalled };
        let moved =
            due_date::due_date_after_recall(&terms, &recalled_loan, RecallMoment::AtCheckOut, &circumstances)
                .map_err(Failure::Refused)?;
        if let Some(moved) = moved {
            loan.insert("dueDate".into(), time::format(moved.at).into());
            loan.insert("dueDateChangedByRecall".into(), true.into());
        }
    }
    let item_status = (is_open && item.status != "Checked out").then_some("Checked out");
    loan.insert("itemStatus".into(), item_status.unwrap_or(&item.status).into());
    Ok(Decision {
        loan,
        item_id: item.id,
        item_status,
        fills: request.map(|request| request.id),
        moves_up: request.map_or_else(Default::default, |filled| queue::without(&facts.queue, filled.id)),
        moved: None,
    })
}

/// Refusals of a replaced loan, the first one found, or the loan as it will be stored.
pub fn decide_replacement(
    facts: &Facts,
    sent: &Map<String, Value>,
    existing: &Map<String, Value>,
    book: &Rulebook,
    by: Option<Uuid>,
    now: Timestamp,
) -> Result<Decision, Failure> {
    refuse_for_status_and_desks(sent, book)?;
    let is_closed = text_at(sent, "status/name") == "Closed";
    if is_closed && text_at(sent, "checkinServicePointId").is_empty() {
        return Err(Refusal::new("A Closed loan must have a Checkin Service Point")
            .with_null("checkinServicePointId")
            .into());
    }
    let item = known_item(facts, sent)?;
    let moment =
        |loan: &Map<String, Value>| time::parse(text_at(loan, "dueDate")).map(|at| at.as_millisecond());
    let due_date_changes = moment(existing) != moment(sent);
    if due_date_changes && super::change::KEEPS_DUE_DATE.contains(&item.status.as_str()) {
        return Err(Refusal::new(format!("item is {}", item.status))
            .with("itemId", item.id.to_string())
            .into());
    }
    refuse_for_proxy(facts, sent, now)?;

    let mut loan = store::stored(sent);
    if due_date_changes
        && loan.get("dueDateChangedByRecall") == Some(&Value::Bool(true))
        && !super::change::has_open_recall(&facts.queue)
    {
        loan.insert("dueDateChangedByRecall".into(), false.into());
    }
    let request = is_closed.then(|| queue::first_fulfillable(&facts.queue, item, book)).flatten();
    let moved = match request {
        Some(request) => {
            let service_point = Uuid::parse_str(text_at(sent, "checkinServicePointId")).unwrap_or_default();
            let taken_in = TakenIn { service_point, by, now };
            let status = if request.wants_delivery() {
                "Open - Awaiting delivery"
            } else if request.pickup_service_point() == Some(service_point) {
                "Open - Awaiting pickup"
            } else {
                "Open - In transit"
            };
            Some(check_in::moved(request, &facts.queue, item, status, &taken_in, book)?)
        }
        None => None,
    };
    let becomes = if is_closed {
        match request {
            Some(request) if request.wants_delivery() => "Awaiting delivery",
            // FOLIO quirk: also where the request waits at another service point.
            Some(_) => "Awaiting pickup",
            None => "Available",
        }
    } else if item.status == "Declared lost" {
        "Declared lost"
    } else {
        "Checked out"
    };
    loan.insert("itemStatus".into(), becomes.into());
    for kept in ["patronGroupIdAtCheckout", "isDcb"] {
        if !loan.contains_key(kept)
            && let Some(value) = existing.get(kept)
        {
            loan.insert(kept.into(), value.clone());
        }
    }
    if let Some(metadata) = existing.get("metadata") {
        loan.insert("metadata".into(), metadata.clone());
    }
    Ok(Decision {
        loan,
        item_id: item.id,
        item_status: (becomes != item.status).then_some(becomes),
        fills: None,
        moves_up: Default::default(),
        moved,
    })
}

fn refuse_for_status_and_desks(sent: &Map<String, Value>, book: &Rulebook) -> Result<(), Failure> {
    let status = text_at(sent, "status/name");
    if !["Open", "Closed"].contains(&status) {
        let refusal = Refusal::new("Loan status must be \"Open\" or \"Closed\"");
        return Err(refusal.with("status", status).into());
    }
    if status == "Open" && text_at(sent, "userId").is_empty() {
        return Err(Refusal::new("Open loan must have a user ID").with_null("userId").into());
    }
    for (key, words) in [
        ("checkinServicePointId", "Check In Service Point does not exist"),
        ("checkoutServicePointId", "Check Out Service Point does not exist"),
    ] {
        let id = text_at(sent, key);
        let known = Uuid::parse_str(id).is_ok_and(|id| book.service_points.contains_key(&id));
        if !id.is_empty() && !known {
            return Err(Refusal::new(words).with(key, id).into());
        }
    }
    Ok(())
}

fn known_item<'a>(facts: &'a Facts, sent: &Map<String, Value>) -> Result<&'a ItemAtDesk, Failure> {
    facts.item.as_ref().ok_or_else(|| {
        let id = text_at(sent, "itemId");
        Refusal::new(format!("No item with ID {id} could be found")).with("itemId", id).into()
    })
}

fn refuse_for_proxy(facts: &Facts, sent: &Map<String, Value>, now: Timestamp) -> Result<(), Failure> {
    let proxy = text_at(sent, "proxyUserId");
    if proxy.is_empty() {
        return Ok(());
    }
    if proxy == text_at(sent, "userId") {
        return Err(Refusal::new("User cannot be proxy for themselves")
            .with("proxyUserId", proxy)
            .code("USER_CANNOT_BE_PROXY_FOR_THEMSELVES")
            .into());
    }
    if !facts.proxy_relations.iter().any(|relation| is_valid_relation(relation, now)) {
        return Err(Refusal::new("proxyUserId is not valid").with("proxyUserId", proxy).into());
    }
    Ok(())
}

fn with_text(refusal: Refusal, key: &str, sent: &Map<String, Value>) -> Refusal {
    match text_at(sent, key) {
        "" => refusal.with_null(key),
        text => refusal.with(key, text),
    }
}

impl Facts {
    /// The loan as it will be shown after the decision.
    pub fn beside(&self, id: Uuid) -> LoanAtDesk {
        LoanAtDesk {
            id,
            document: Map::new(),
            item: self.item.clone(),
            patron: self.patron.clone(),
            amount_remaining: self.amount_remaining,
            queue: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESK: Uuid = Uuid::from_u128(1);
    const BOOK: Uuid = Uuid::from_u128(4);
    const READER: Uuid = Uuid::from_u128(5);

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => unreachable!("{other} is an object"),
        }
    }

    fn library() -> Rulebook {
        let mut book = Rulebook::blank();
        book.service_points.insert(DESK, Default::default());
        book
    }

    fn item(status: &str) -> Facts {
        let item = ItemAtDesk { id: BOOK, status: status.into(), ..ItemAtDesk::default() };
        Facts { item: Some(item), ..Facts::default() }
    }

    fn loan(status: &str, more: Value) -> Map<String, Value> {
        let mut loan = object(json!({"itemId": BOOK, "userId": READER, "status": {"name": status},
            "dueDate": "2024-05-20T10:00:00Z"}));
        loan.extend(object(more));
        loan
    }

    fn now() -> Timestamp {
        time::parse("2024-05-10T10:00:00Z").expect("a time")
    }

    fn replaced(facts: &Facts, sent: Map<String, Value>) -> Result<Decision, String> {
        let existing = loan("Open", json!({"isDcb": false, "metadata": {"createdDate": "then"}}));
        decide_replacement(facts, &sent, &existing, &library(), None, now())
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_loan_that_is_closed_brings_its_item_back() {
        let closed = loan("Closed", json!({"checkinServicePointId": DESK, "borrower": {}}));
        let decision = replaced(&item("Checked out"), closed).expect("allowed");
        assert_eq!(decision.item_status, Some("Available"));
        assert_eq!(decision.loan["itemStatus"], "Available");
        assert_eq!(decision.loan["isDcb"], false);
        assert!(!decision.loan.contains_key("borrower"));
    }

    #[test]
    fn an_item_that_somebody_waits_for_goes_to_the_hold_shelf() {
        let request =
            object(json!({"id": READER, "requestType": "Hold", "requestLevel": "Item", "itemId": BOOK,
            "status": "Open - Not yet filled", "fulfillmentPreference": "Hold Shelf", "position": 1}));
        let waiting = QueuedRequest { id: READER, document: request, requester: None, queue: None };
        let facts = Facts { queue: vec![waiting], ..item("Checked out") };
        let closed = loan("Closed", json!({"checkinServicePointId": DESK}));
        let decision = replaced(&facts, closed).expect("allowed");
        assert_eq!(decision.item_status, Some("Awaiting pickup"));
        let moved = decision.moved.expect("a request moves on");
        assert_eq!(moved.change.document()["status"], "Open - In transit");
    }

    #[test]
    fn an_open_loan_keeps_its_item_lent() {
        assert_eq!(
            replaced(&item("Checked out"), loan("Open", json!({}))).expect("allowed").item_status,
            None
        );
        let lost = replaced(&item("Declared lost"), loan("Open", json!({}))).expect("allowed");
        assert_eq!(lost.item_status, None);
        assert_eq!(lost.loan["itemStatus"], "Declared lost");
    }

    #[test]
    fn the_first_thing_wrong_with_a_loan_is_told() {
        let other = Uuid::from_u128(9).to_string();
        let table = [
            (item("Available"), loan("Lent", json!({})), "Loan status must be \"Open\" or \"Closed\""),
            (item("Available"), loan("Open", json!({"userId": null})), "Open loan must have a user ID"),
            (
                item("Available"),
                loan("Open", json!({"checkinServicePointId": other})),
                "Check In Service Point does not exist",
            ),
            (item("Available"), loan("Closed", json!({})), "A Closed loan must have a Checkin Service Point"),
            (
                Facts::default(),
                loan("Open", json!({})),
                "No item with ID 00000000-0000-0000-0000-000000000004 could be found",
            ),
            (
                item("Claimed returned"),
                loan("Open", json!({"dueDate": "2024-06-01T10:00:00Z"})),
                "item is Claimed returned",
            ),
            (item("Available"), loan("Open", json!({"proxyUserId": other})), "proxyUserId is not valid"),
        ];
        for (facts, sent, expected) in table {
            assert_eq!(replaced(&facts, sent).expect_err("refused"), format!("refused: {expected}"));
        }
    }

    #[test]
    fn what_is_out_lost_or_missing_is_not_lent() {
        let refused = |status: &str| {
            let sent = loan("Open", json!({}));
            let refused = decide_new(&item(status), &sent, &library(), now());
            refused.expect_err("refused").to_string()
        };
        assert_eq!(refused("Checked out"), "refused: Item is already checked out");
        assert!(refused("Missing").ends_with("has the item status Missing, loan cannot be created"));
        assert_eq!(refused("Available"), "refused: user is not found");
    }
}
