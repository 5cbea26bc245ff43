//! Overdue fines at check-in and renewal, through the public API.

use carrel_testkit::{LendingServer, TestItem, TestPatron, alter};
use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

const OVERDUE_FINE: &str = "9523cb96-e752-40c2-89da-60f3961a488d";

/// A library that charges 0.25 for each started hour, at most 100, with the main desk's owner.
pub async fn charging(differs: Value) -> (LendingServer, Uuid) {
    let server = LendingServer::open().await;
    let owner = charge_overdue_fines(&server, differs).await;
    (server, owner)
}

/// Creates an owner for the main desk, and sets the rate of the overdue fine policy; `differs` replaces parts of it.
pub async fn charge_overdue_fines(server: &LendingServer, differs: Value) -> Uuid {
    let owner = Uuid::new_v4();
    let points = json!([{"value": server.main_desk.0, "label": "Main desk"}]);
    server.create("/owners", &json!({"id": owner, "owner": "Lending", "servicePointOwner": points})).await;
    let mut policy = json!({
        "id": server.overdue_fine_policy, "name": "Quarters", "countClosed": true,
        "overdueFine": {"quantity": 0.25, "intervalId": "hour"}, "maxOverdueFine": 100.0,
        "overdueRecallFine": {"quantity": 2.0, "intervalId": "day"}, "maxOverdueRecallFine": 100.0,
        "forgiveOverdueFine": false, "gracePeriodRecall": true,
    });
    alter(&mut policy, &differs);
    let path = format!("/overdue-fines-policies/{}", server.overdue_fine_policy);
    server.admin().put(&path, &policy).await.expect(204);
    owner
}

/// Checks an item out for three weeks, so that it is overdue by these hours less half an hour.
async fn lend(server: &LendingServer, hours_overdue: i64) -> (TestItem, TestPatron, Value) {
    let (item, patron) = (server.item().await, server.patron().await);
    let overdue = SignedDuration::from_hours(hours_overdue) - SignedDuration::from_mins(30);
    let lent = Timestamp::now() - SignedDuration::from_hours(21 * 24) - overdue;
    let loan = server.check_out_with(&item, &patron, json!({"loanDate": lent.to_string()})).await;
    (item, patron, loan.expect(201))
}

async fn accounts_of(server: &LendingServer, patron: &TestPatron) -> Vec<Value> {
    let path = format!("/accounts?query=userId=={}", patron.id);
    server.admin().get(&path).await.expect(200)["accounts"].as_array().cloned().unwrap_or_default()
}

async fn actions_of(server: &LendingServer, account: &Value) -> Vec<Value> {
    let path = format!("/feefineactions?query=accountId=={}", account["id"].as_str().unwrap_or_default());
    server.admin().get(&path).await.expect(200)["feefineactions"].as_array().cloned().unwrap_or_default()
}

async fn renew(server: &LendingServer, item: &TestItem, patron: &TestPatron) {
    let order = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode});
    server.admin().post("/circulation/renew-by-barcode", &order).await.expect(200);
}

#[tokio::test]
async fn an_overdue_item_is_charged_by_started_hours() {
    let (server, owner) = charging(json!({})).await;
    let (item, patron, loan) = lend(&server, 5).await;
    let staff = server.server.staff_with(&["circulation.check-in-by-barcode.post"]).await;
    let order = json!({"itemBarcode": item.barcode, "servicePointId": server.main_desk.0,
        "checkInDate": Timestamp::now().to_string()});

    let answer = staff.post("/circulation/check-in-by-barcode", &order).await.expect(200);

    let accounts = accounts_of(&server, &patron).await;
    let [account] = &accounts[..] else { panic!("one account: {accounts:?}") };
    let expected = json!({
        "amount": 1.25, "remaining": 1.25, "status": {"name": "Open"}, "paymentStatus": {"name": "Outstanding"},
        "feeFineType": "Overdue fine", "feeFineId": OVERDUE_FINE, "feeFineOwner": "Lending", "ownerId": owner,
        "title": answer["item"]["title"], "barcode": item.barcode, "callNumber": answer["item"]["callNumber"],
        "location": "Stacks", "materialType": answer["item"]["materialType"]["name"],
        "materialTypeId": server.material_type, "contributors": [], "loanId": loan["id"], "userId": patron.id,
        "itemId": item.id, "dueDate": loan["dueDate"], "loanPolicyId": loan["loanPolicyId"],
        "overdueFinePolicyId": loan["overdueFinePolicyId"], "lostItemFeePolicyId": loan["lostItemPolicyId"],
    });
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&account[name], value, "{name}");
    }
    let stored = server.admin().get(&format!("/loan-storage/loans/{}", text(&loan["id"]))).await.expect(200);
    assert_eq!(account["returnedDate"], stored["returnDate"]);
    let actions = actions_of(&server, account).await;
    let [action] = &actions[..] else { panic!("one action: {actions:?}") };
    let expected = json!({
        "amountAction": 1.25, "balance": 1.25, "typeAction": "Overdue fine", "notify": false,
        "transactionInformation": "-", "createdAt": server.main_desk.0, "userId": patron.id,
    });
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&action[name], value, "{name}");
    }
    let source = text(&action["source"]);
    assert!(source.starts_with("staff-"), "{source}: without a first name the source is the username");
    let shown = server.admin().get(&format!("/circulation/loans/{}", text(&loan["id"]))).await.expect(200);
    assert_eq!(shown["feesAndFines"]["amountRemainingToPay"], 1.25);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[tokio::test]
async fn the_source_of_a_fine_is_the_name_of_the_staff_member() {
    let (server, _) = charging(json!({})).await;
    let (item, patron, _) = lend(&server, 5).await;
    let clerk = server.patron_with(json!({"personal": {"lastName": "Clerk", "firstName": "Ada"}})).await;
    let admin = server.server.client_of(clerk.id, "reader");
    for permission in ["circulation.check-in-by-barcode.post"] {
        let grants = json!({"userId": clerk.id, "permissions": [permission]});
        server.admin().post("/perms/users", &grants).await.expect(201);
    }
    let order = json!({"itemBarcode": item.barcode, "servicePointId": server.main_desk.0,
        "checkInDate": Timestamp::now().to_string()});
    admin.post("/circulation/check-in-by-barcode", &order).await.expect(200);
    let accounts = accounts_of(&server, &patron).await;
    assert_eq!(actions_of(&server, &accounts[0]).await[0]["source"], "Clerk, Ada");
}

#[tokio::test]
async fn an_item_in_time_and_one_found_by_the_library_are_not_charged() {
    let (server, _) = charging(json!({})).await;
    let (item, patron) = (server.item().await, server.patron().await);
    server.check_out(&item, &patron).await.expect(201);
    server.check_in(&item, server.main_desk).await.expect(200);
    assert_eq!(accounts_of(&server, &patron).await.len(), 0);

    let (item, patron, _) = lend(&server, 5).await;
    let order = json!({"itemBarcode": item.barcode, "servicePointId": server.main_desk.0,
        "checkInDate": Timestamp::now().to_string(), "claimedReturnedResolution": "Found by library"});
    server.admin().post("/circulation/check-in-by-barcode", &order).await.expect(200);
    assert_eq!(accounts_of(&server, &patron).await.len(), 0);
}

#[tokio::test]
async fn an_item_from_the_book_drop_is_charged_until_its_return_date() {
    let (server, _) = charging(json!({})).await;
    let (item, patron, _) = lend(&server, 48).await;
    let returned = Timestamp::now() - SignedDuration::from_hours(47);
    let order = json!({"itemBarcode": item.barcode, "servicePointId": server.main_desk.0,
        "checkInDate": returned.to_string()});
    server.admin().post("/circulation/check-in-by-barcode", &order).await.expect(200);
    assert_eq!(accounts_of(&server, &patron).await[0]["amount"], 0.25);
}

#[tokio::test]
async fn without_an_owner_nothing_is_charged() {
    let (server, owner) = charging(json!({})).await;
    server.admin().delete(&format!("/owners/{owner}")).await.expect(204);
    let (item, patron, _) = lend(&server, 5).await;
    server.check_in(&item, server.main_desk).await.expect(200);
    assert_eq!(accounts_of(&server, &patron).await.len(), 0);
}

#[tokio::test]
async fn hours_at_which_the_primary_service_point_is_closed_are_not_charged() {
    let (server, _) =
        charging(json!({"countClosed": false, "overdueFine": {"quantity": 1.0, "intervalId": "hour"}})).await;
    // Of every day the first two hours, until the beginning of their last open minute: 119 minutes.
    let week = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];
    let hours: Vec<Value> = week
        .iter()
        .map(|day| json!({"startDay": day, "startTime": "00:00", "endDay": day, "endTime": "01:59"}))
        .collect();
    let calendar = json!({"name": "Nights", "startDate": "2020-01-01", "endDate": "2099-12-31",
        "assignments": [server.main_desk.0], "normalHours": hours, "exceptions": []});
    server.create("/calendar/calendars", &calendar).await;
    let (item, patron) = (server.item().await, server.patron().await);
    let lent = json!({"loanDate": "2024-01-01T12:00:00Z"});
    server.check_out_with(&item, &patron, lent).await.expect(201);
    let order = json!({"itemBarcode": item.barcode, "servicePointId": server.other_desk.0,
        "checkInDate": "2024-01-24T12:00:00Z"});

    server.admin().post("/circulation/check-in-by-barcode", &order).await.expect(200);

    // Due on 22 January at noon, so two nights are closed.
    assert_eq!(accounts_of(&server, &patron).await[0]["amount"], 4.0);
}

#[tokio::test]
async fn a_renewal_is_charged_unless_the_policy_excludes_renewals() {
    let (server, _) = charging(json!({})).await;
    let (item, patron, loan) = lend(&server, 8).await;
    renew(&server, &item, &patron).await;
    let accounts = accounts_of(&server, &patron).await;
    let [account] = &accounts[..] else { panic!("one account: {accounts:?}") };
    assert_eq!((&account["amount"], &account["dueDate"]), (&json!(2.0), &loan["dueDate"]));
    assert!(account.get("returnedDate").is_none());
    assert!(actions_of(&server, account).await[0].get("createdAt").is_none());
    server.check_in(&item, server.main_desk).await.expect(200);
    assert_eq!(accounts_of(&server, &patron).await.len(), 1, "the renewed loan is not overdue");

    let policy = format!("/overdue-fines-policies/{}", server.overdue_fine_policy);
    let mut forgiving = server.admin().get(&policy).await.expect(200);
    forgiving["forgiveOverdueFine"] = json!(true);
    server.admin().put(&policy, &forgiving).await.expect(204);
    let (item, patron, _) = lend(&server, 8).await;
    renew(&server, &item, &patron).await;
    assert_eq!(accounts_of(&server, &patron).await.len(), 0);
}

#[tokio::test]
async fn a_recalled_loan_has_a_separate_rate() {
    let (server, _) = charging(json!({})).await;
    let (item, patron, loan) = lend(&server, 30).await;
    let path = format!("/loan-storage/loans/{}", text(&loan["id"]));
    let mut recalled = server.admin().get(&path).await.expect(200);
    recalled["dueDateChangedByRecall"] = json!(true);
    server.admin().put(&path, &recalled).await.expect(204);
    server.check_in(&item, server.main_desk).await.expect(200);
    assert_eq!(accounts_of(&server, &patron).await[0]["amount"], 4.0);
}

#[tokio::test]
async fn overdue_notices_are_not_sent_once_the_fine_is_charged() {
    let (server, _) = charging(json!({})).await;
    let (item, patron, loan) = lend(&server, 5).await;
    let scheduled = |timing: &str| {
        json!({"loanId": loan["id"], "recipientUserId": patron.id, "triggeringEvent": "Due date",
            "nextRunTime": "2099-01-01T00:00:00Z", "noticeConfig": {"timing": timing, "format": "Email",
            "templateId": Uuid::new_v4(), "sendInRealTime": true}})
    };
    for timing in ["After", "Upon At", "Before"] {
        server.create("/scheduled-notice-storage/scheduled-notices", &scheduled(timing)).await;
    }
    server.check_in(&item, server.main_desk).await.expect(200);
    let left = server.admin().get("/scheduled-notice-storage/scheduled-notices").await.expect(200);
    let timings: Vec<&Value> = left["scheduledNotices"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|notice| &notice["noticeConfig"]["timing"])
        .collect();
    assert_eq!(timings, ["Before"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_check_ins_of_overdue_items_are_charged_once_each() {
    let (server, _) = charging(json!({})).await;
    let loans = join_all((0..20).map(|number| lend(&server, 1 + number % 3))).await;
    let back = join_all(loans.iter().map(|(item, ..)| server.check_in(item, server.main_desk))).await;
    back.iter().for_each(|answer| drop(answer.expect(200)));
    for (number, (_, patron, loan)) in loans.iter().enumerate() {
        let accounts = accounts_of(&server, patron).await;
        let [account] = &accounts[..] else { panic!("one account: {accounts:?}") };
        assert_eq!(account["loanId"], loan["id"]);
        assert_eq!(account["amount"], json!(0.25 * (1 + number % 3) as f64));
        assert_eq!(actions_of(&server, account).await.len(), 1);
    }
}
