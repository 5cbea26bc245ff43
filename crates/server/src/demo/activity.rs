//! Circulation of the sample library before its first use: open loans (some overdue), closed loans, request queues,
//! items awaiting pickup and in transit, notes, a manual block and fees/fines.
//!
//! Everything uses the API of the desks. Loans and requests of an interrupted load are kept; check-ins may be repeated.

use super::api::Api;
use super::ids::*;
use super::load::store;
use super::works::Stock;
use carrel_records::time;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

/// The amount of circulation in the sample library.
pub struct Activity {
    pub loans: usize,
    pub overdue: usize,
    pub requests: usize,
}

const OPEN_LOANS: usize = 120;
const CLOSED_LOANS: usize = 25;
const ITEMS_WITH_HOLDS: usize = 24;
const PAGES: usize = 12;
const IN_TRANSIT: usize = 6;
/// Users before this index have no loans, so that a first user and the tests begin with a clean account.
const FIRST_BORROWER: usize = 60;
const BORROWERS: usize = 40;
const FIRST_REQUESTER: usize = 120;

const PICKUP_AT: [fn() -> Uuid; 3] = [|| CIRC_DESK_1, || CIRC_DESK_2, branch_desk];

/// An item with the values for a request.
struct SampleItem<'a> {
    record: &'a Value,
    instance: &'a str,
    title: &'a str,
    /// The service point where it is checked in to its shelf.
    home: Uuid,
}

impl SampleItem<'_> {
    fn id(&self) -> &str {
        text(self.record, "id")
    }
    fn barcode(&self) -> &str {
        text(self.record, "barcode")
    }
    /// A service point that is not the item's, so that it must go in transit.
    fn elsewhere(&self) -> Uuid {
        if self.home == CIRC_DESK_1 { CIRC_DESK_2 } else { CIRC_DESK_1 }
    }
}

/// Records loans, requests and other data for the screens.
pub async fn record(
    api: &mut Api,
    users: &[Value],
    stock: &Stock,
    now: Timestamp,
) -> Result<Activity, String> {
    let mut items = loanable_items(stock).into_iter();
    let mut take = |number: usize| items.by_ref().take(number).collect::<Vec<_>>();
    let (lent, returned, paged, traveling) =
        (take(OPEN_LOANS), take(CLOSED_LOANS), take(PAGES), take(IN_TRANSIT));

    let overdue = record_open_loans(api, &lent, users, now).await?;
    record_closed_loans(api, &returned, users, now).await?;
    let holds = record_holds(api, &lent, users, now).await?;
    record_pages(api, &paged, users, now).await?;
    for item in &traveling {
        check_in(api, item, item.elsewhere(), now).await?;
    }
    record_notes(api, users).await?;
    record_fees(api, &returned, users, now).await?;
    let block = json!({
        "id": id_of("manual block"), "type": "Manual", "desc": "Three items were returned with water damage",
        "patronMessage": "Please speak to the head of circulation.", "borrowing": true, "renewals": true,
        "requests": true, "userId": users[FIRST_BORROWER + 2]["id"],
    });
    store(api, "/manualblocks", &block).await?;
    Ok(Activity { loans: lent.len(), overdue, requests: holds + paged.len() })
}

/// Items that circulate, spread over the catalog from its end: those with the lowest barcodes stay available.
fn loanable_items(stock: &Stock) -> Vec<SampleItem<'_>> {
    let titles: HashMap<&str, &str> =
        stock.instances.iter().map(|record| (text(record, "id"), text(record, "title"))).collect();
    let holdings: HashMap<&str, &Value> =
        stock.holdings.iter().map(|record| (text(record, "id"), record)).collect();
    let circulates = CAN_CIRCULATE.to_string();
    stock
        .items
        .iter()
        .rev()
        .step_by(5)
        .filter(|item| text(item, "permanentLoanTypeId") == circulates)
        .filter_map(|record| {
            let holdings = holdings.get(text(record, "holdingsRecordId"))?;
            let instance = text(holdings, "instanceId");
            let location = text(holdings, "permanentLocationId").parse().ok()?;
            Some(SampleItem {
                record,
                instance,
                title: titles.get(instance)?,
                home: home_service_point(location),
            })
        })
        .collect()
}

/// Every sixth loan is overdue by some days; returns the number of overdue loans.
async fn record_open_loans(
    api: &mut Api,
    items: &[SampleItem<'_>],
    users: &[Value],
    now: Timestamp,
) -> Result<usize, String> {
    let recorded = recorded_loans(api).await?;
    let mut overdue = 0;
    for (number, item) in items.iter().enumerate() {
        let user = &users[FIRST_BORROWER + number % BORROWERS];
        let period = loan_period_in_days(user);
        let age = if number.is_multiple_of(6) {
            overdue += 1;
            period + 4 + number as i64 % 17
        } else {
            1 + number as i64 * 11 % (period - 2)
        };
        if !recorded.contains_key(item.id()) {
            check_out(api, item, user, days_before(now, age)).await?;
        }
    }
    Ok(overdue)
}

/// The loan policies of the sample: a semester for teachers and researchers, otherwise four weeks.
fn loan_period_in_days(user: &Value) -> i64 {
    let long = [FACULTY, GRADUATE].iter().any(|group| text(user, "patronGroup") == group.to_string());
    if long { 18 * 7 } else { 4 * 7 }
}

async fn record_closed_loans(
    api: &mut Api,
    items: &[SampleItem<'_>],
    users: &[Value],
    now: Timestamp,
) -> Result<(), String> {
    let recorded = recorded_loans(api).await?;
    for (number, item) in items.iter().enumerate() {
        let status = recorded.get(item.id()).map(String::as_str);
        if status.is_none() {
            let user = &users[FIRST_BORROWER + number % BORROWERS];
            check_out(api, item, user, days_before(now, 20 + number as i64)).await?;
        }
        if status != Some("Closed") {
            check_in(api, item, item.home, days_before(now, 1 + number as i64 % 9)).await?;
        }
    }
    Ok(())
}

/// The status of each item's loan, by item id.
async fn recorded_loans(api: &mut Api) -> Result<HashMap<String, String>, String> {
    let page = api.find("/loan-storage/loans?limit=1000").await?.unwrap_or_default();
    let loans = page["loans"].as_array().cloned().unwrap_or_default();
    Ok(loans
        .iter()
        .map(|loan| (text(loan, "itemId").to_owned(), text(&loan["status"], "name").to_owned()))
        .collect())
}

/// Queues of one to three holds on items that are checked out; returns the number of holds.
async fn record_holds(
    api: &mut Api,
    lent: &[SampleItem<'_>],
    users: &[Value],
    now: Timestamp,
) -> Result<usize, String> {
    let mut holds = 0;
    for (number, item) in lent.iter().take(ITEMS_WITH_HOLDS).enumerate() {
        for position in 0..=usize::from(number.is_multiple_of(3)) + usize::from(number.is_multiple_of(9)) {
            let requester = &users[FIRST_REQUESTER + holds];
            let id = id_of(&format!("hold {number} {position}"));
            place_request(api, id, "Hold", item, requester, holds, days_before(now, 3)).await?;
            holds += 1;
        }
    }
    Ok(holds)
}

/// Page requests in three states: awaiting pickup, in transit to the pickup service point, and still on the shelf.
async fn record_pages(
    api: &mut Api,
    items: &[SampleItem<'_>],
    users: &[Value],
    now: Timestamp,
) -> Result<(), String> {
    for (number, item) in items.iter().enumerate() {
        let requester = &users[FIRST_REQUESTER - 1 - number];
        let id = id_of(&format!("page {number}"));
        place_request(api, id, "Page", item, requester, number, days_before(now, 1)).await?;
        let pickup = PICKUP_AT[number % PICKUP_AT.len()]();
        match number % 4 {
            0 | 1 => check_in(api, item, pickup, now).await?,
            2 => {
                let other = if pickup == CIRC_DESK_1 { CIRC_DESK_2 } else { CIRC_DESK_1 };
                check_in(api, item, other, now).await?;
            }
            _ => {}
        }
    }
    Ok(())
}

async fn place_request(
    api: &mut Api,
    id: Uuid,
    kind: &str,
    item: &SampleItem<'_>,
    requester: &Value,
    number: usize,
    date: Timestamp,
) -> Result<(), String> {
    let request = json!({
        "id": id, "requestType": kind, "requestLevel": "Item", "requestDate": time::format(date),
        "itemId": item.id(), "instanceId": item.instance, "holdingsRecordId": item.record["holdingsRecordId"],
        "requesterId": requester["id"], "fulfillmentPreference": "Hold Shelf",
        "pickupServicePointId": PICKUP_AT[number % PICKUP_AT.len()](),
    });
    store(api, "/circulation/requests", &request).await
}

/// Notes on four patrons; two appear when an item is checked out.
async fn record_notes(api: &mut Api, users: &[Value]) -> Result<(), String> {
    let types = api.find("/note-types?limit=1").await?.unwrap_or_default();
    let Some(note_type) = types.pointer("/noteTypes/0/id") else { return Ok(()) };
    for (number, (title, content, pops_up)) in [
        ("Prefers large print", "<p>Ask whether a large-print edition is wanted.</p>", false),
        ("Card worn out", "<p>The barcode on the card is hard to read; offer a new card.</p>", true),
        ("Picks up for a colleague", "<p>Often collects items for the History department.</p>", false),
        ("Address to be checked", "<p>A letter came back; ask for the current address.</p>", true),
    ]
    .into_iter()
    .enumerate()
    {
        let note = json!({
            "id": id_of(&format!("note {number}")), "typeId": note_type, "title": title, "content": content,
            "domain": "users", "popUpOnCheckOut": pops_up, "popUpOnUser": pops_up,
            "links": [{"id": users[FIRST_BORROWER + number]["id"], "type": "user"}],
        });
        store(api, "/notes", &note).await?;
    }
    Ok(())
}

/// Charges by staff; check-ins of overdue loans have created others.
async fn record_fees(
    api: &mut Api,
    returned: &[SampleItem<'_>],
    users: &[Value],
    now: Timestamp,
) -> Result<(), String> {
    for (number, (kind, fee_type, amount)) in [
        ("Damaged item", id_of("fee type damage"), 15.0),
        ("Replacement of a library card", id_of("fee type card"), 5.0),
    ]
    .into_iter()
    .enumerate()
    {
        let (item, user) = (&returned[number], &users[FIRST_BORROWER + number]["id"]);
        let (account, charged_on) = (id_of(&format!("account {number}")), days_before(now, 2));
        let date = time::format(charged_on);
        let mut record = json!({
            "id": account, "amount": amount, "remaining": amount, "status": {"name": "Open"},
            "paymentStatus": {"name": "Outstanding"}, "feeFineType": kind, "feeFineId": fee_type,
            "feeFineOwner": "Circulation of Vellumton", "ownerId": id_of("fee owner"), "userId": user,
            "dateCreated": date,
        });
        if kind != "Replacement of a library card" {
            record["title"] = item.title.into();
            record["barcode"] = item.barcode().into();
            record["itemId"] = item.id().into();
            record["materialType"] = "book".into();
            record["materialTypeId"] = json!(BOOK);
        }
        store(api, "/accounts", &record).await?;
        let charge = json!({
            "id": id_of(&format!("charge {number}")), "accountId": account, "userId": user, "typeAction": kind,
            "dateAction": date, "amountAction": amount, "balance": amount, "notify": false,
            "createdAt": CIRC_DESK_1, "source": "Administrator", "transactionInformation": "",
            "comments": "",
        });
        store(api, "/feefineactions", &charge).await?;
    }
    Ok(())
}

async fn check_out(
    api: &mut Api,
    item: &SampleItem<'_>,
    user: &Value,
    date: Timestamp,
) -> Result<(), String> {
    let request = json!({
        "itemBarcode": item.barcode(), "userBarcode": user["barcode"], "servicePointId": item.home,
        "loanDate": time::format(date),
    });
    api.send(Method::POST, "/circulation/check-out-by-barcode", &request).await.map(|_| ())
}

async fn check_in(api: &mut Api, item: &SampleItem<'_>, at: Uuid, date: Timestamp) -> Result<(), String> {
    let request =
        json!({"itemBarcode": item.barcode(), "servicePointId": at, "checkInDate": time::format(date)});
    api.send(Method::POST, "/circulation/check-in-by-barcode", &request).await.map(|_| ())
}

fn days_before(now: Timestamp, days: i64) -> Timestamp {
    now - SignedDuration::from_hours(24 * days)
}

fn text<'a>(record: &'a Value, key: &str) -> &'a str {
    record[key].as_str().unwrap_or_default()
}
