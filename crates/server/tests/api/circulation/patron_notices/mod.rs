//! Patron notices about loans and requests, by the notice policy that the circulation rules select.

mod scheduled;

use carrel_testkit::{LendingServer, TestItem, TestPatron};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// A template with the event's name; `body` has values.
pub async fn template(lending: &LendingServer, header: &str, body: &str) -> Uuid {
    let id = Uuid::new_v4();
    let record = json!({"id": id, "outputFormats": ["text/html", "text/plain"], "templateResolver": "mustache",
        "localizedTemplates": {"en": {"header": header, "body": body}}});
    lending.create("/templates", &record).await;
    id
}

/// One notice of a policy.
pub fn notice(template: Uuid, when: &str) -> Value {
    json!({"templateId": template, "format": "Email", "realTime": true, "sendOptions": {"sendWhen": when}})
}

/// Sets the notice policy.
pub async fn notify_by(lending: &mut LendingServer, loans: Value, requests: Value, fees: Value) -> Uuid {
    let id = Uuid::new_v4();
    let policy = json!({"id": id, "name": format!("Notices {id}"), "active": true, "loanNotices": loans,
        "requestNotices": requests, "feeFineNotices": fees});
    lending.create("/patron-notice-policy-storage/patron-notice-policies", &policy).await;
    lending.notice_policy = id;
    let policies = lending.policies(lending.loan_policy);
    lending.lends_by(&format!("fallback-policy: {policies}")).await;
    id
}

/// A patron with an e-mail address.
pub async fn reader(lending: &LendingServer, name: &str) -> TestPatron {
    let personal = json!({"lastName": name, "firstName": "Some", "email": format!("{name}@example.org"),
        "preferredContactTypeId": "002"});
    lending.patron_with(json!({"personal": personal})).await
}

/// The e-mails, once there are `count` of them: recipient, subject and text, sorted by subject and text.
pub async fn emails(lending: &LendingServer, count: usize) -> Vec<(String, String, String)> {
    for _ in 0..600 {
        let found = lending.admin().get("/email?limit=1000").await.expect(200);
        let emails = found["emailEntity"].as_array().cloned().unwrap_or_default();
        if emails.len() >= count {
            let text = |email: &Value, key: &str| email[key].as_str().unwrap_or_default().to_owned();
            let mut emails: Vec<_> = emails
                .iter()
                .map(|email| (text(email, "to"), text(email, "header"), text(email, "body")))
                .collect();
            emails.sort_by(|one, other| (&one.1, &one.2).cmp(&(&other.1, &other.2)));
            assert_eq!(emails.len(), count, "{emails:?}");
            return emails;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let found = lending.admin().get("/email?limit=1000").await.expect(200);
    panic!("not {count} e-mails: {found}");
}

fn to(name: &str, header: &str, body: &str) -> (String, String, String) {
    (format!("{name}@example.org"), header.to_owned(), body.to_owned())
}

async fn end_session(lending: &LendingServer, patron: &TestPatron, action: &str) {
    let ended = json!({"endSessions": [{"patronId": patron.id, "actionType": action}]});
    lending.admin().post("/circulation/end-patron-action-session", &ended).await.expect_status(204);
}

async fn titled(lending: &LendingServer, test_item: &TestItem) -> String {
    let path = format!("/instance-storage/instances/{}", test_item.instance);
    lending.admin().get(&path).await.expect(200)["title"].as_str().unwrap_or_default().to_owned()
}

/// The explanation of the notices of a loan.
async fn explained(lending: &LendingServer, loan: &str) -> Value {
    lending.admin().get(&format!("/admin/patron-notices?loanId={loan}")).await.expect(200)
}

async fn lent(lending: &LendingServer, item: &TestItem, patron: &TestPatron) -> String {
    let loan = lending.check_out(item, patron).await.expect(201);
    loan["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_session_ends_with_one_mail_about_all_its_loans() {
    let mut lending = LendingServer::open().await;
    let text = "{{user.lastName}}:{{#loans}} {{item.title}}{{/loans}}";
    let (lent, returned) =
        (template(&lending, "Lent", text).await, template(&lending, "Returned", text).await);
    let notices = json!([notice(lent, "Check out"), notice(returned, "Check in")]);
    notify_by(&mut lending, notices, json!([]), json!([])).await;
    let ada = reader(&lending, "ada").await;
    let (one, two) = (lending.item().await, lending.item().await);
    for item in [&one, &two] {
        lending.check_out(item, &ada).await.expect(201);
    }
    end_session(&lending, &ada, "Check-out").await;
    let titles = format!("ada: {} {}", titled(&lending, &one).await, titled(&lending, &two).await);
    assert_eq!(emails(&lending, 1).await, [to("ada", "Lent", &titles)]);
    for item in [&one, &two] {
        lending.check_in(item, lending.main_desk).await.expect(200);
    }
    end_session(&lending, &ada, "Check-in").await;
    end_session(&lending, &ada, "Check-in").await;
    assert_eq!(emails(&lending, 2).await[1], to("ada", "Returned", &titles));
}

#[tokio::test]
async fn a_renewal_and_a_changed_due_date_are_notified_at_once() {
    let mut lending = LendingServer::open().await;
    let text = "{{item.barcode}} {{loan.numberOfRenewalsTaken}} of {{loan.numberOfRenewalsAllowed}}";
    let renewed = template(&lending, "Renewed", text).await;
    let changed = template(&lending, "Changed", "{{loan.dueDate}} {{loan.additionalInfo}}").await;
    let notices = json!([notice(renewed, "Renewed"), notice(changed, "Manual due date change")]);
    notify_by(&mut lending, notices, json!([]), json!([])).await;
    let ada = reader(&lending, "ada").await;
    let item = lending.item().await;
    let loan = lending.check_out(&item, &ada).await.expect(201)["id"].clone();
    let loan = loan.as_str().expect("an id");
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": ada.barcode});
    lending.admin().post("/circulation/renew-by-barcode", &renewal).await.expect(200);
    let text = format!("{} 1 of unlimited", item.barcode);
    assert_eq!(emails(&lending, 1).await, [to("ada", "Renewed", &text)]);
    let remark = json!({"action": "patronInfoAdded", "actionComment": "as you asked"});
    let path = format!("/circulation/loans/{loan}");
    lending.admin().post(&format!("{path}/add-info"), &remark).await.expect_status(204);
    let due = json!({"dueDate": "2099-05-03T10:00:00Z"});
    lending.admin().post(&format!("{path}/change-due-date"), &due).await.expect_status(204);
    assert_eq!(emails(&lending, 2).await[0], to("ada", "Changed", "5/3/2099 as you asked"));
}

#[tokio::test]
async fn a_replaced_loan_is_notified_of_only_if_its_due_date_changes() {
    let mut lending = LendingServer::open().await;
    let changed = template(&lending, "Changed", "{{loan.dueDate}}").await;
    notify_by(&mut lending, json!([notice(changed, "Manual due date change")]), json!([]), json!([])).await;
    let (ada, item) = (reader(&lending, "ada").await, lending.item().await);
    let loan = lending.check_out(&item, &ada).await.expect(201);
    let path = format!("/circulation/loans/{}", loan["id"].as_str().expect("an id"));
    for due in [None, Some("2099-05-03T10:00:00.000+00:00")] {
        let mut replacement = lending.admin().get(&path).await.expect(200);
        if let Some(due) = due {
            replacement["dueDate"] = due.into();
        }
        lending.admin().put(&path, &replacement).await.expect_status(204);
    }
    assert_eq!(emails(&lending, 1).await, [to("ada", "Changed", "5/3/2099")]);
}

#[tokio::test]
async fn a_borrower_without_patron_group_gets_no_notice_of_a_loan() {
    let mut lending = LendingServer::open().await;
    let changed = template(&lending, "Changed", "{{loan.dueDate}}").await;
    notify_by(&mut lending, json!([notice(changed, "Manual due date change")]), json!([]), json!([])).await;
    let (ada, item) = (reader(&lending, "ada").await, lending.item().await);
    let loan = lent(&lending, &item, &ada).await;
    let path = format!("/users/{}", ada.id);
    let mut user = lending.admin().get(&path).await.expect(200);
    user.as_object_mut().expect("a user").remove("patronGroup");
    lending.admin().put(&path, &user).await.expect_status(204);
    let due = json!({"dueDate": "2099-05-03T10:00:00Z"});
    lending
        .admin()
        .post(&format!("/circulation/loans/{loan}/change-due-date"), &due)
        .await
        .expect_status(204);
    for _ in 0..600 {
        if let Some(notice) = explained(&lending, &loan).await["notices"].get(0) {
            let reason = (notice["outcome"].as_str(), notice["reason"].as_str());
            assert_eq!(reason, (Some("failed"), Some("the borrower has no patron group")));
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the notice has no outcome");
}

async fn request(lending: &LendingServer, item: &TestItem, patron: &TestPatron, kind: &str) -> Value {
    let request = json!({"requestType": kind, "requestLevel": "Item", "requestDate": "2026-05-01T10:00:00Z",
        "fulfillmentPreference": "Hold Shelf", "itemId": item.id, "holdingsRecordId": item.holdings,
        "instanceId": item.instance, "requesterId": patron.id, "pickupServicePointId": lending.main_desk.0});
    lending.admin().post("/circulation/requests", &request).await.expect(201)
}

#[tokio::test]
async fn requests_are_confirmed_and_the_patron_is_notified_of_the_first_recall() {
    let mut lending = LendingServer::open().await;
    let text = "{{user.lastName}} {{item.barcode}} {{request.servicePointPickup}}";
    let mut requests = Vec::new();
    for event in ["Paging request", "Hold request", "Recall request"] {
        requests.push(notice(template(&lending, event, text).await, event));
    }
    let recalled = template(&lending, "Item recalled", "{{user.lastName}} {{item.barcode}}").await;
    let loans = json!([notice(recalled, "Item recalled")]);
    notify_by(&mut lending, loans, requests.into(), json!([])).await;
    let (ada, bob, cleo) =
        (reader(&lending, "ada").await, reader(&lending, "bob").await, reader(&lending, "cleo").await);
    let (lent, on_shelf) = (lending.item().await, lending.item().await);
    lending.check_out(&lent, &ada).await.expect(201);
    request(&lending, &lent, &bob, "Recall").await;
    request(&lending, &lent, &cleo, "Recall").await;
    request(&lending, &on_shelf, &bob, "Page").await;
    request(&lending, &on_shelf, &cleo, "Hold").await;
    let line = |name: &str, header: &str, item: &TestItem| {
        to(name, header, &format!("{name} {} Main desk", item.barcode))
    };
    assert_eq!(
        emails(&lending, 5).await,
        [
            line("cleo", "Hold request", &on_shelf),
            to("ada", "Item recalled", &format!("ada {}", lent.barcode)),
            line("bob", "Paging request", &on_shelf),
            line("bob", "Recall request", &lent),
            line("cleo", "Recall request", &lent),
        ]
    );
}

#[tokio::test]
async fn a_requester_is_notified_of_pickup_and_cancellation() {
    let mut lending = LendingServer::open().await;
    let available = template(&lending, "Available", "until {{request.holdShelfExpirationDate}}").await;
    let canceled =
        template(&lending, "Canceled", "{{request.reasonForCancellation}} {{request.additionalInfo}}").await;
    let notices = json!([notice(available, "Available"), notice(canceled, "Request cancellation")]);
    notify_by(&mut lending, json!([]), notices, json!([])).await;
    let (ada, bob) = (reader(&lending, "ada").await, reader(&lending, "bob").await);
    let item = lending.item().await;
    lending.check_out(&item, &ada).await.expect(201);
    let mut placed = request(&lending, &item, &bob, "Hold").await;
    for _ in 0..2 {
        lending.check_in(&item, lending.main_desk).await.expect(200);
    }
    let [mail] = &emails(&lending, 1).await[..] else { unreachable!("one mail") };
    assert_eq!((&mail.0[..], &mail.1[..]), ("bob@example.org", "Available"));
    assert!(mail.2.len() > "until ".len(), "{}", mail.2);
    let reason = Uuid::new_v4();
    let record = json!({"id": reason, "name": "Worn", "publicDescription": "The item is worn"});
    lending.create("/cancellation-reason-storage/cancellation-reasons", &record).await;
    placed["status"] = "Closed - Cancelled".into();
    placed["cancellationReasonId"] = json!(reason);
    placed["cancellationAdditionalInformation"] = "sorry".into();
    let path = format!("/circulation/requests/{}", placed["id"].as_str().expect("an id"));
    lending.admin().put(&path, &placed).await.expect_status(204);
    assert_eq!(emails(&lending, 2).await[1], to("bob", "Canceled", "The item is worn sorry"));
}

#[tokio::test]
async fn a_request_that_becomes_available_by_a_check_in_shows_the_loan_that_ended() {
    let mut lending = LendingServer::open().await;
    let text = "{{loan.numberOfRenewalsTaken}} {{loan.additionalInfo}}{{loan.checkedInDate}}";
    let available = template(&lending, "Available", text).await;
    notify_by(&mut lending, json!([]), json!([notice(available, "Available")]), json!([])).await;
    let (ada, bob) = (reader(&lending, "ada").await, reader(&lending, "bob").await);
    let item = lending.item().await;
    let loan = lending.check_out(&item, &ada).await.expect(201);
    let path = format!("/circulation/loans/{}/add-info", loan["id"].as_str().expect("an id"));
    let info = json!({"action": "patronInfoAdded", "actionComment": "Handle with care"});
    lending.admin().post(&path, &info).await.expect_status(204);
    request(&lending, &item, &bob, "Hold").await;
    lending.check_in(&item, lending.main_desk).await.expect(200);
    assert_eq!(emails(&lending, 1).await, [to("bob", "Available", "0 Handle with care")]);
}

#[tokio::test]
async fn a_template_of_a_notice_policy_is_not_deleted() {
    let mut lending = LendingServer::open().await;
    for kinds in [
        ["loanNotices", "Renewed"],
        ["requestNotices", "Available"],
        ["feeFineNotices", "Overdue fine returned"],
    ] {
        let used = template(&lending, "Used", "-").await;
        let policy = json!({"name": kinds[0], "active": true, (kinds[0]): [notice(used, kinds[1])]});
        lending.create("/patron-notice-policy-storage/patron-notice-policies", &policy).await;
        let refused = lending.admin().delete(&format!("/templates/{used}")).await;
        assert_eq!(
            (refused.status, refused.text().as_str()),
            (400, "Cannot delete template which is currently in use"),
            "{kinds:?}"
        );
    }
    let unused = template(&lending, "Unused", "-").await;
    notify_by(&mut lending, json!([]), json!([]), json!([])).await;
    lending.admin().delete(&format!("/templates/{unused}")).await.expect_status(204);
}

#[tokio::test]
async fn a_template_is_shown_with_a_real_loan_request_or_fee() {
    let lending = LendingServer::open().await;
    let (ada, bob) = (reader(&lending, "ada").await, reader(&lending, "bob").await);
    let item = lending.item().await;
    let loan = lent(&lending, &item, &ada).await;
    let stored = template(
        &lending,
        "Hello {{user.lastName}}",
        "{{item.barcode}}{{#loans}} {{item.barcode}}{{/loans}}",
    )
    .await;
    let preview = async |body: Value| lending.admin().post("/admin/patron-notices/preview", &body).await;
    let shown = preview(json!({"templateId": stored, "loanId": loan})).await.expect(200);
    assert_eq!(
        (&shown["header"], &shown["body"]),
        (&json!("Hello ada"), &json!(format!("{} {}", item.barcode, item.barcode)))
    );
    let placed = request(&lending, &item, &bob, "Hold").await;
    let body = json!({"header": "{{request.servicePointPickup}}", "body": "{{user.lastName}}", "requestId": placed["id"]});
    let shown = preview(body).await.expect(200);
    assert_eq!((&shown["header"], &shown["body"]), (&json!("Main desk"), &json!("bob")));
    let (account, action, owner) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    lending.create("/owners", &json!({"id": owner, "owner": "Main"})).await;
    let fee_type = Uuid::new_v4();
    lending.create("/feefines", &json!({"id": fee_type, "feeFineType": "Torn page", "ownerId": owner})).await;
    let record = json!({"id": account, "userId": ada.id, "ownerId": owner, "feeFineOwner": "Main",
        "feeFineId": fee_type, "feeFineType": "Torn page", "amount": 5, "remaining": 5,
        "status": {"name": "Open"}, "paymentStatus": {"name": "Outstanding"}, "loanId": loan, "itemId": item.id});
    lending.create("/accounts", &record).await;
    let record = json!({"id": action, "accountId": account, "userId": ada.id, "typeAction": "Torn page",
        "amountAction": 5, "balance": 5, "dateAction": "2026-05-01T10:00:00Z"});
    lending.create("/feefineactions", &record).await;
    let text =
        "{{user.lastName}} {{feeCharge.owner}} {{feeCharge.type}} {{feeCharge.amount}} {{item.barcode}}";
    let body = json!({"header": "{{feeCharge.remainingAmount}}", "body": text, "feeFineActionId": action});
    let shown = preview(body).await.expect(200);
    assert_eq!(
        (&shown["header"], &shown["body"]),
        (&json!("5.00"), &json!(format!("ada Main Torn page 5.00 {}", item.barcode)))
    );
    preview(json!({"templateId": stored, "feeFineActionId": Uuid::new_v4()})).await.expect_status(400);
    preview(json!({"templateId": stored, "loanId": loan, "feeFineActionId": action}))
        .await
        .expect_status(400);
    preview(json!({"templateId": stored})).await.expect_status(400);
    preview(json!({"templateId": stored, "loanId": Uuid::new_v4()})).await.expect_status(400);
    emails(&lending, 0).await;
}

#[tokio::test]
async fn old_records_of_notices_are_deleted_as_the_setting_says() {
    use carrel_platform::jobs::{self, Pace};
    let mut lending = LendingServer::open().await;
    let letter = template(&lending, "Letter", "-").await;
    let mut print = notice(letter, "Renewed");
    print["format"] = "Print".into();
    notify_by(&mut lending, json!([print]), json!([]), json!([])).await;
    let setting = json!({"id": Uuid::new_v4(), "name": "noticeRetention",
        "value": {"duration": 30, "intervalId": "Days"}});
    lending.create("/circulation/settings", &setting).await;
    let ada = reader(&lending, "ada").await;
    let mut loans = Vec::new();
    for _ in 0..2 {
        let item = lending.item().await;
        loans.push(lent(&lending, &item, &ada).await);
        let renewal = json!({"itemBarcode": item.barcode, "userBarcode": ada.barcode});
        lending.admin().post("/circulation/renew-by-barcode", &renewal).await.expect(200);
    }
    let count = async |loan: &str| explained(&lending, loan).await["notices"].as_array().map_or(0, Vec::len);
    for _ in 0..600 {
        if count(&loans[0]).await + count(&loans[1]).await == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let database = lending.server.database().await;
    let age = format!(
        "WITH old AS (UPDATE patron_notice SET created = now() - interval '31 days' WHERE loan_id = '{}' RETURNING doc)
         UPDATE printed_notice SET planned = now() - interval '31 days'
         WHERE id IN (SELECT (doc->>'messageId')::uuid FROM old)",
        loans[0]
    );
    database.batch_execute(&age).await.expect("the notices are older");
    let job = &carrel_circulation::patron_notices::RETENTION;
    let platform = lending.server.node.platform().await.expect("a connection");
    jobs::soon(&platform, &lending.server.tenant.id, job.name).await.expect("a job can be wanted soon");
    drop(platform);
    let pace = Pace { poll: Duration::from_millis(50), ..Pace::default() };
    let runner = jobs::start_with(&lending.server.node, vec![job], pace);
    let printed = async || {
        let printed = lending.admin().get("/admin/printed-notices").await.expect(200);
        printed["printedNotices"].as_array().map_or(0, Vec::len)
    };
    for _ in 0..600 {
        if printed().await == 1 && count(&loans[0]).await == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    runner.stop().await;
    let jobs = lending.admin().get("/admin/jobs").await.expect(200);
    let left = (count(&loans[0]).await, count(&loans[1]).await, printed().await);
    assert_eq!(left, (0, 1, 1), "{jobs}");
}

#[tokio::test]
async fn a_proxy_gets_the_notices_of_the_sponsor_if_configured() {
    let mut lending = LendingServer::open().await;
    let renewed = template(&lending, "Renewed", "{{user.lastName}}").await;
    notify_by(&mut lending, json!([notice(renewed, "Renewed")]), json!([]), json!([])).await;
    let (ada, bob) = (reader(&lending, "ada").await, reader(&lending, "bob").await);
    let relation = json!({"userId": ada.id, "proxyUserId": bob.id, "status": "Active",
        "requestForSponsor": "Yes", "notificationsTo": "Proxy"});
    lending.create("/proxiesfor", &relation).await;
    let item = lending.item().await;
    let proxy = json!({"proxyUserBarcode": bob.barcode});
    lending.check_out_with(&item, &ada, proxy).await.expect(201);
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": ada.barcode});
    lending.admin().post("/circulation/renew-by-barcode", &renewal).await.expect(200);
    assert_eq!(emails(&lending, 1).await, [to("bob", "Renewed", "ada")]);
}

#[tokio::test]
async fn a_title_level_request_without_item_is_confirmed_by_the_template_of_the_settings() {
    let lending = LendingServer::open().await;
    let confirmed = template(&lending, "Confirmed", "{{item.title}}").await;
    for (name, value) in [
        ("generalTlr", json!({"titleLevelRequestsFeatureEnabled": true})),
        ("regularTlr", json!({"confirmationPatronNoticeTemplateId": confirmed})),
    ] {
        let setting = json!({"id": Uuid::new_v4(), "name": name, "value": value});
        lending.create("/circulation/settings", &setting).await;
    }
    let (ada, bob) = (reader(&lending, "ada").await, reader(&lending, "bob").await);
    let item = lending.item().await;
    lending.check_out(&item, &ada).await.expect(201);
    let request = json!({"requestType": "Hold", "requestLevel": "Title", "requestDate": "2026-05-01T10:00:00Z",
        "fulfillmentPreference": "Hold Shelf", "instanceId": item.instance, "requesterId": bob.id,
        "pickupServicePointId": lending.main_desk.0});
    lending.admin().post("/circulation/requests", &request).await.expect(201);
    assert_eq!(emails(&lending, 1).await, [to("bob", "Confirmed", &titled(&lending, &item).await)]);
}
