//! Notices before, upon and after an event: when they are planned, sent, and skipped.

use super::{emails, explained, lent, notice, notify_by, reader, request, template, titled, to};
use carrel_testkit::LendingServer;
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// A notice before or after its event.
fn timed(template: Uuid, when: &str, how: &str, days: i64) -> Value {
    let mut notice = notice(template, when);
    notice["sendOptions"]["sendHow"] = how.into();
    if how != "Upon At" {
        notice["sendOptions"]["sendBy"] = json!({"duration": days, "intervalId": "Days"});
    }
    notice["frequency"] = "One time".into();
    if how == "Upon At" {
        notice.as_object_mut().expect("an object").remove("frequency");
    }
    notice
}

/// The scheduled notices, once there are `count` of them.
async fn scheduled(lending: &LendingServer, count: usize) -> Vec<Value> {
    let path = "/scheduled-notice-storage/scheduled-notices?limit=1000&query=cql.allRecords=1%20sortby%20nextRunTime";
    for _ in 0..600 {
        let found = lending.admin().get(path).await.expect(200);
        let notices = found["scheduledNotices"].as_array().cloned().unwrap_or_default();
        if notices.len() == count {
            return notices;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not {count} scheduled notices: {}", lending.admin().get(path).await.expect(200));
}

async fn run(lending: &LendingServer, kind: &str) {
    let path = format!("/circulation/{kind}-scheduled-notices-processing");
    lending.admin().post(&path, &json!({})).await.expect_status(204);
}

/// Moves scheduled notices into the past.
async fn let_time_pass(lending: &LendingServer, days: i64) {
    let database = lending.server.database().await;
    let sql = format!(
        "UPDATE scheduled_notice SET doc = jsonb_set(doc, '{{nextRunTime}}', to_jsonb(to_char(
             (doc->>'nextRunTime')::timestamptz AT TIME ZONE 'UTC' - interval '{days} days',
             'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"+00:00\"')))"
    );
    database.batch_execute(&sql).await.expect("the notices are moved");
}

#[tokio::test]
async fn a_run_first_plans_what_earlier_calls_have_caused() {
    let mut lending = LendingServer::open().await;
    let late = template(&lending, "Late", "-").await;
    notify_by(&mut lending, json!([timed(late, "Due date", "After", 1)]), json!([]), json!([])).await;
    let (ada, item) = (reader(&lending, "ada").await, lending.item().await);
    lent(&lending, &item, &ada).await;
    run(&lending, "loan").await;
    let planned = lending.admin().get("/scheduled-notice-storage/scheduled-notices").await.expect(200);
    assert_eq!(planned["totalRecords"], 1);
}

#[tokio::test]
async fn due_date_notices_are_scheduled_sent_and_explained() {
    let mut lending = LendingServer::open().await;
    let (soon, late) =
        (template(&lending, "Soon", "{{item.title}}").await, template(&lending, "Late", "-").await);
    let notices = json!([timed(soon, "Due date", "Before", 2), timed(late, "Due date", "After", 1)]);
    notify_by(&mut lending, notices, json!([]), json!([])).await;
    let ada = reader(&lending, "ada").await;
    let item = lending.item().await;
    let loan = lent(&lending, &item, &ada).await;
    let planned = scheduled(&lending, 2).await;
    assert_eq!(planned[0]["loanId"], loan.as_str());
    assert_eq!(
        (&planned[0]["noticeConfig"]["timing"], &planned[0]["triggeringEvent"]),
        (&json!("Before"), &json!("Due date"))
    );
    run(&lending, "loan").await;
    scheduled(&lending, 2).await;
    // Three weeks less a day later, the first notice is due and the other is not.
    let_time_pass(&lending, 20).await;
    run(&lending, "loan").await;
    run(&lending, "loan").await;
    scheduled(&lending, 1).await;
    assert_eq!(emails(&lending, 1).await, [to("ada", "Soon", &titled(&lending, &item).await)]);
    lending.check_in(&item, lending.main_desk).await.expect(200);
    let_time_pass(&lending, 20).await;
    run(&lending, "loan").await;
    scheduled(&lending, 0).await;
    let explained = explained(&lending, &loan).await;
    let became: Vec<_> = explained["notices"]
        .as_array()
        .expect("notices")
        .iter()
        .map(|notice| {
            (notice["outcome"].as_str(), notice["reason"].as_str(), notice["email"]["status"].as_str())
        })
        .collect();
    assert_eq!(
        became,
        [(Some("sent"), None, Some("NEW")), (Some("skipped"), Some("the loan is closed"), None)],
        "{explained}"
    );
    assert_eq!(explained["noticePolicyId"], json!(lending.notice_policy));
    emails(&lending, 1).await;
}

#[tokio::test]
async fn a_recall_of_an_old_loan_sends_no_notices_whose_time_had_passed() {
    let mut lending = LendingServer::open().await;
    let late = template(&lending, "Late", "-").await;
    let days = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut notices: Vec<Value> = days.map(|days| timed(late, "Due date", "After", days)).into();
    notices.push(timed(late, "Due date", "Before", 2));
    notify_by(&mut lending, notices.into(), json!([]), json!([])).await;
    let (ada, bob) = (reader(&lending, "ada").await, reader(&lending, "bob").await);
    let item = lending.item().await;
    let long_ago = json!({"loanDate": "2024-01-10T10:00:00Z"});
    let loan = lending.check_out_with(&item, &ada, long_ago).await.expect(201);
    let loan = loan["id"].as_str().expect("an id");
    request(&lending, &item, &bob, "Recall").await;
    for _ in 0..600 {
        if explained(&lending, loan).await["notices"].as_array().is_some_and(|notices| notices.len() >= 9) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    run(&lending, "loan").await;
    let explained = explained(&lending, loan).await;
    assert_eq!(explained["planned"], json!([]));
    let reason = explained["notices"][0]["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.contains("had passed before it was planned"), "{explained}");
    emails(&lending, 0).await;
}

#[tokio::test]
async fn a_renewal_reschedules_notices_and_a_recurring_one_continues() {
    let mut lending = LendingServer::open().await;
    let late = template(&lending, "Late", "-").await;
    let mut recurring = timed(late, "Due date", "After", 1);
    recurring["frequency"] = "Recurring".into();
    recurring["sendOptions"]["sendEvery"] = json!({"duration": 1, "intervalId": "Weeks"});
    notify_by(&mut lending, json!([recurring]), json!([]), json!([])).await;
    let ada = reader(&lending, "ada").await;
    let item = lending.item().await;
    let loan = lent(&lending, &item, &ada).await;
    let before = scheduled(&lending, 1).await[0].clone();
    let due = json!({"dueDate": "2099-05-03T10:00:00Z"});
    lending
        .admin()
        .post(&format!("/circulation/loans/{loan}/change-due-date"), &due)
        .await
        .expect_status(204);
    for _ in 0..600 {
        if scheduled(&lending, 1).await[0]["nextRunTime"] != before["nextRunTime"] {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(scheduled(&lending, 1).await[0]["nextRunTime"], "2099-05-04T10:00:00.000+00:00");
    let_time_pass(&lending, 36_600).await;
    run(&lending, "loan").await;
    emails(&lending, 1).await;
    let next = scheduled(&lending, 1).await[0]["nextRunTime"].as_str().expect("a time").to_owned();
    assert!(next > jiff::Timestamp::now().to_string(), "{next}");
    run(&lending, "loan").await;
    emails(&lending, 1).await;
}

#[tokio::test]
async fn notices_that_are_not_sent_in_real_time_are_sent_in_one_daily_mail() {
    let mut lending = LendingServer::open().await;
    let late = template(&lending, "Late", "{{#loans}}{{item.barcode}} {{/loans}}").await;
    let mut notice = timed(late, "Due date", "Upon At", 0);
    notice["realTime"] = false.into();
    notify_by(&mut lending, json!([notice]), json!([]), json!([])).await;
    let (ada, bob) = (reader(&lending, "ada").await, reader(&lending, "bob").await);
    for patron in [&ada, &ada, &bob] {
        let item = lending.item().await;
        lending.check_out(&item, patron).await.expect(201);
    }
    scheduled(&lending, 3).await;
    let_time_pass(&lending, 23).await;
    run(&lending, "loan").await;
    scheduled(&lending, 3).await;
    run(&lending, "due-date-not-real-time").await;
    scheduled(&lending, 0).await;
    let mails = emails(&lending, 2).await;
    let mut items: Vec<(&str, usize)> =
        mails.iter().map(|mail| (&mail.0[..], mail.2.split_whitespace().count())).collect();
    items.sort();
    assert_eq!(items, [("ada@example.org", 2), ("bob@example.org", 1)]);
}

#[tokio::test]
async fn an_expired_request_is_notified_when_it_is_closed() {
    let mut lending = LendingServer::open().await;
    let expired = template(&lending, "Expired", "{{request.requestExpirationDate}}").await;
    let notices = json!([timed(expired, "Request expiration", "Upon At", 0)]);
    notify_by(&mut lending, json!([]), notices, json!([])).await;
    let (ada, bob) = (reader(&lending, "ada").await, reader(&lending, "bob").await);
    let item = lending.item().await;
    lending.check_out(&item, &ada).await.expect(201);
    let request = json!({"requestType": "Hold", "requestLevel": "Item", "requestDate": "2026-05-01T10:00:00Z",
        "fulfillmentPreference": "Hold Shelf", "itemId": item.id, "holdingsRecordId": item.holdings,
        "instanceId": item.instance, "requesterId": bob.id, "pickupServicePointId": lending.main_desk.0,
        "requestExpirationDate": "2098-05-01T10:00:00Z"});
    let placed = lending.admin().post("/circulation/requests", &request).await.expect(201);
    scheduled(&lending, 1).await;
    let_time_pass(&lending, 36_600).await;
    run(&lending, "request").await;
    scheduled(&lending, 1).await;
    let database = lending.server.database().await;
    let sql = format!(
        "UPDATE request SET doc = doc || '{{\"requestExpirationDate\": \"2026-05-01T10:00:00.000+00:00\"}}'
         WHERE id = '{}'",
        placed["id"].as_str().expect("an id")
    );
    database.batch_execute(&sql).await.expect("the request expires");
    lending.admin().post("/scheduled-request-expiration", &json!({})).await.expect_status(204);
    run(&lending, "request").await;
    assert_eq!(emails(&lending, 1).await, [to("bob", "Expired", "5/1/26")]);
    scheduled(&lending, 0).await;
}

#[tokio::test]
async fn a_notice_that_cannot_be_sent_is_explained_and_a_printed_one_is_kept() {
    let mut lending = LendingServer::open().await;
    let letter = template(&lending, "Letter", "{{user.lastName}}").await;
    let mut print = notice(letter, "Renewed");
    print["format"] = "Print".into();
    let notices = json!([print, notice(Uuid::new_v4(), "Manual due date change")]);
    notify_by(&mut lending, notices, json!([]), json!([])).await;
    let ada = reader(&lending, "ada").await;
    let item = lending.item().await;
    let loan = lent(&lending, &item, &ada).await;
    let due = json!({"dueDate": "2090-05-03T10:00:00Z"});
    let path = format!("/circulation/loans/{loan}/change-due-date");
    lending.admin().post(&path, &due).await.expect_status(204);
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": ada.barcode,
        "overrideBlocks": {"renewalDueDateRequiredBlock": {"dueDate": "2091-01-01T10:00:00Z"}, "comment": "yes"}});
    lending.admin().post("/circulation/renew-by-barcode", &renewal).await.expect_status(200);
    let mut became = Value::Null;
    for _ in 0..600 {
        became = explained(&lending, &loan).await["notices"].clone();
        if became.as_array().is_some_and(|notices| notices.len() == 2) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Both may be planned in the same run.
    let outcome =
        |outcome: &str| became.as_array().into_iter().flatten().find(|one| one["outcome"] == outcome);
    assert!(outcome("sent").is_some(), "{became}");
    let reason = outcome("failed").and_then(|failed| failed["reason"].as_str());
    assert!(reason.is_some_and(|reason| reason.contains("does not exist")), "{became}");
    let kept = lending.admin().get("/admin/printed-notices").await.expect(200);
    let kept = &kept["printedNotices"];
    assert_eq!((&kept[0]["header"], &kept[0]["body"]), (&json!("Letter"), &json!("ada")));
    let path = format!("/admin/printed-notices/{}/mark-printed", kept[0]["id"].as_str().expect("an id"));
    lending.admin().post(&path, &json!({})).await.expect_status(204);
    let left = lending.admin().get("/admin/printed-notices").await.expect(200);
    assert_eq!(left["printedNotices"], json!([]));
    let logged = lending.admin().get("/audit-data/circulation/logs?query=object==Notice").await.expect(200);
    let actions: Vec<_> = logged["logRecords"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| entry["action"].clone())
        .collect();
    assert!(actions.contains(&json!("Send")) && actions.contains(&json!("Send error")), "{logged}");
}

/// An actual cost that another module charged, as mod-feesfines reports it.
#[tokio::test]
async fn notices_of_a_reported_balance_are_scheduled_once() {
    let mut lending = LendingServer::open().await;
    let charged = template(&lending, "Charged", "{{feeCharge.amount}}").await;
    let fees = json!([timed(charged, "Aged to lost - fine charged", "After", 2)]);
    notify_by(&mut lending, json!([]), json!([]), fees).await;
    let ada = reader(&lending, "ada").await;
    let item = lending.item().await;
    let loan = lent(&lending, &item, &ada).await;
    let (account, action, owner) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    lending.create("/owners", &json!({"id": owner, "owner": "Main"})).await;
    let actual_cost = "73785370-d3bd-4d92-942d-ae2268e02ded";
    let kind = "Lost item fee (actual cost)";
    let record = json!({"id": account, "userId": ada.id, "ownerId": owner, "feeFineId": actual_cost,
        "feeFineType": kind, "amount": 12, "remaining": 12, "status": {"name": "Open"},
        "paymentStatus": {"name": "Outstanding"}, "loanId": loan, "itemId": item.id});
    lending.create("/accounts", &record).await;
    let record = json!({"id": action, "accountId": account, "userId": ada.id, "typeAction": kind,
        "amountAction": 12, "balance": 12, "dateAction": jiff::Timestamp::now().to_string(), "notify": false});
    lending.create("/feefineactions", &record).await;

    let report = async |fee_type: &str| {
        let event = json!({"userId": ada.id, "feeFineId": account, "feeFineTypeId": fee_type, "balance": 12,
            "loanId": loan});
        let path = "/circulation/handlers/fee-fine-balance-changed";
        lending.admin().post(path, &event).await.expect_status(204);
    };
    report("cf238f9f-7018-47b7-b815-bb2db798e19f").await;
    scheduled(&lending, 0).await;
    report(actual_cost).await;
    let planned = scheduled(&lending, 1).await;
    assert_eq!(planned[0]["feeFineActionId"], json!(action));
    assert_eq!(planned[0]["triggeringEvent"], "Aged to lost - fine charged");
    report(actual_cost).await;
    scheduled(&lending, 1).await;
}
