//! Reminder fees, through the public API: their schedule, charges and notices.

use super::overdue_fines::charge_overdue_fines;
use carrel_platform::jobs::{self, Pace};
use carrel_testkit::{LendingServer, TestItem, TestPatron};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const NOTICES: &str = "/scheduled-notice-storage/scheduled-notices";

/// A library with reminders after a day for 1.50, after two more days without fee, and after two more for 2.15; it is
/// open all week.
async fn reminding(differs: Value) -> LendingServer {
    let server = LendingServer::open().await;
    let template = |header: &'static str, body: &'static str| {
        let id = Uuid::new_v4();
        let record = json!({"id": id, "outputFormats": ["text/html"], "templateResolver": "mustache",
            "localizedTemplates": {"en": {"header": header, "body": body}}});
        (id, record)
    };
    let mut templates = Vec::new();
    for (header, body) in [
        ("First", "{{user.lastName}}: {{item.title}}, {{feeCharge.amount}}"),
        ("Second", "{{user.lastName}}: {{item.title}}{{feeCharge.amount}}"),
        ("Third", "{{feeCharge.type}}"),
    ] {
        let (id, record) = template(header, body);
        server.create("/templates", &record).await;
        templates.push(id);
    }
    let reminder = |place: usize, interval: u8, fee: f64| {
        json!({"interval": interval, "timeUnitId": "day", "reminderFee": fee, "noticeFormat": "Email",
            "noticeTemplateId": templates[place]})
    };
    let mut policy = json!({"countClosed": true, "allowRenewalOfItemsWithReminderFees": false,
        "reminderSchedule": [reminder(0, 1, 1.5), reminder(1, 2, 0.0), reminder(2, 2, 2.15)]});
    carrel_testkit::alter(&mut policy, &differs);
    // Overdue fines are forgiven.
    let fine = json!({"reminderFeesPolicy": policy, "overdueFine": null, "overdueRecallFine": null});
    charge_overdue_fines(&server, fine).await;
    let week = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];
    let hours: Vec<Value> = week
        .iter()
        .map(|day| json!({"startDay": day, "startTime": "00:00", "endDay": day, "endTime": "23:59"}))
        .collect();
    let calendar = json!({"name": "Always", "startDate": "2020-01-01", "endDate": "2099-12-31",
        "assignments": [server.main_desk.0], "normalHours": hours, "exceptions": []});
    server.create("/calendar/calendars", &calendar).await;
    server
}

/// Checks out an item that is overdue by these hours, to a patron with an e-mail address.
async fn lend(server: &LendingServer, hours_overdue: i64) -> (TestItem, TestPatron, String) {
    let personal = json!({"lastName": "Reader", "email": "reader@example.org"});
    let (item, patron) = (server.item().await, server.patron_with(json!({"personal": personal})).await);
    let lent = Timestamp::now() - SignedDuration::from_hours(21 * 24 + hours_overdue);
    let loan = server.check_out_with(&item, &patron, json!({"loanDate": lent.to_string()})).await.expect(201);
    (item, patron, loan["id"].as_str().expect("an id").to_owned())
}

async fn remind(server: &LendingServer) {
    let path = "/circulation/scheduled-digital-reminders-processing";
    server.admin().post(path, &json!({})).await.expect_status(204);
}

async fn scheduled(server: &LendingServer) -> Vec<Value> {
    server.admin().get(NOTICES).await.expect(200)["scheduledNotices"].as_array().cloned().unwrap_or_default()
}

async fn stored(server: &LendingServer, loan: &str) -> Value {
    server.admin().get(&format!("/loan-storage/loans/{loan}")).await.expect(200)
}

async fn accounts(server: &LendingServer) -> Vec<Value> {
    server.admin().get("/accounts").await.expect(200)["accounts"].as_array().cloned().unwrap_or_default()
}

async fn emails(server: &LendingServer) -> Vec<String> {
    let found = server.admin().get("/email?limit=100").await.expect(200);
    let text = |email: &Value| format!("{} {}", email["header"], email["body"]).replace('"', "");
    found["emailEntity"].as_array().into_iter().flatten().map(text).collect()
}

/// Makes the only scheduled reminder due.
async fn let_time_pass(server: &LendingServer) {
    let mut notice = scheduled(server).await.swap_remove(0);
    notice["nextRunTime"] = json!("2024-01-01T00:00:00.000+00:00");
    let path = format!("{NOTICES}/{}", notice["id"].as_str().unwrap_or_default());
    server.admin().put(&path, &notice).await.expect(204);
}

#[tokio::test]
async fn the_first_reminder_is_scheduled_with_the_loan() {
    let server = reminding(json!({})).await;
    let (_, patron, loan) = lend(&server, 5).await;
    let notices = scheduled(&server).await;
    let [notice] = &notices[..] else { panic!("one notice: {notices:?}") };
    let due: Timestamp =
        stored(&server, &loan).await["dueDate"].as_str().unwrap_or_default().parse().expect("a time");
    let run: Timestamp = notice["nextRunTime"].as_str().unwrap_or_default().parse().expect("a time");
    assert_eq!(run, due + SignedDuration::from_hours(24));
    assert_eq!(notice["triggeringEvent"], "Due date - with reminder fee");
    assert_eq!((&notice["loanId"], &notice["recipientUserId"]), (&json!(loan), &json!(patron.id)));
    assert_eq!(notice["noticeConfig"]["format"], "Email");
    remind(&server).await;
    assert_eq!(accounts(&server).await.len(), 0, "it is not due yet");
}

#[tokio::test]
async fn each_reminder_is_charged_sent_and_followed_by_the_next() {
    let server = reminding(json!({})).await;
    let (item, patron, loan) = lend(&server, 30).await;
    let path = format!("/instance-storage/instances/{}", item.instance);
    let title = server.admin().get(&path).await.expect(200)["title"].clone();
    let title = title.as_str().unwrap_or_default().to_owned();

    remind(&server).await;

    let charged = accounts(&server).await;
    let [account] = &charged[..] else { panic!("one account: {charged:?}") };
    let expected = json!({"amount": 1.5, "remaining": 1.5, "feeFineType": "Reminder fee",
        "feeFineId": "6b830703-f828-4e38-a0bb-ee81deacbd03", "feeFineOwner": "Lending", "userId": patron.id,
        "loanId": loan, "itemId": item.id, "barcode": item.barcode, "location": "Stacks"});
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&account[name], value, "{name}");
    }
    let actions = server.admin().get("/feefineactions").await.expect(200);
    let action = &actions["feefineactions"][0];
    let expected = json!({"comments": "STAFF: Reminder fee 1", "source": "System", "typeAction": "Reminder fee",
        "createdAt": server.main_desk.0, "notify": false, "balance": 1.5});
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&action[name], value, "{name}");
    }
    let reminded = stored(&server, &loan).await;
    assert_eq!(
        (&reminded["action"], &reminded["reminders"]["lastFeeBilled"]["number"]),
        (&json!("reminderFee"), &json!(1))
    );
    let shown = server.admin().get(&format!("/circulation/loans/{loan}")).await.expect(200);
    assert_eq!(shown["reminders"]["renewalBlocked"], true);
    assert_eq!(shown["feesAndFines"]["amountRemainingToPay"], 1.5);
    let history = server.admin().get(&format!("/loan-storage/loan-history?query=loan.id=={loan}")).await;
    assert_eq!(history.expect(200)["totalRecords"], 2);
    let notice = scheduled(&server).await.swap_remove(0);
    let run: Timestamp = notice["nextRunTime"].as_str().unwrap_or_default().parse().expect("a time");
    assert_eq!(run.as_second() % 3600, 0);
    assert!(run > Timestamp::now() + SignedDuration::from_hours(46));

    remind(&server).await;
    assert_eq!(accounts(&server).await.len(), 1, "the second reminder is not due yet");
    let_time_pass(&server).await;
    remind(&server).await;
    assert_eq!(accounts(&server).await.len(), 1, "the second reminder is free");
    let_time_pass(&server).await;
    remind(&server).await;
    assert_eq!(accounts(&server).await.len(), 2);
    assert_eq!(scheduled(&server).await.len(), 0, "the schedule is over");
    assert_eq!(stored(&server, &loan).await["reminders"]["lastFeeBilled"]["number"], 3);
    let mut sent = emails(&server).await;
    sent.sort();
    assert_eq!(
        sent,
        [
            format!("First Reader: {title}, 1.50"),
            format!("Second Reader: {title}"),
            "Third Reminder fee".into()
        ]
    );
}

#[tokio::test]
async fn the_notice_of_a_reminder_is_logged_and_explained() {
    let server = reminding(json!({})).await;
    let (item, patron, loan) = lend(&server, 30).await;
    remind(&server).await;
    let explained = server.admin().get(&format!("/admin/patron-notices?loanId={loan}")).await.expect(200);
    let notices = explained["notices"].as_array().cloned().unwrap_or_default();
    let [notice] = &notices[..] else { panic!("one notice: {explained}") };
    assert_eq!(
        (&notice["outcome"], &notice["triggeringEvent"], &notice["recipientUserId"]),
        (&json!("sent"), &json!("Due date - with reminder fee"), &json!(patron.id))
    );
    assert_eq!(notice["accountId"], accounts(&server).await[0]["id"]);
    let logged = server.admin().get("/audit-data/circulation/logs?query=object==Notice").await.expect(200);
    let entries = logged["logRecords"].as_array().cloned().unwrap_or_default();
    let [entry] = &entries[..] else { panic!("one entry: {logged}") };
    assert_eq!((&entry["action"], &entry["items"][0]["itemBarcode"]), (&json!("Send"), &json!(item.barcode)));
    assert!(
        entry["description"].as_str().is_some_and(|text| text.contains("Due date - with reminder fee")),
        "{entry}"
    );
}

#[tokio::test]
async fn a_template_that_reminders_need_is_not_deleted() {
    let server = reminding(json!({})).await;
    let templates = server.admin().get("/templates?limit=100").await.expect(200);
    let first = templates["templates"].as_array().into_iter().flatten();
    let first = first.clone().find(|one| one["localizedTemplates"]["en"]["header"] == "First");
    let path = format!("/templates/{}", first.and_then(|one| one["id"].as_str()).unwrap_or_default());
    let refused = server.admin().delete(&path).await;
    assert_eq!(
        (refused.status, refused.text().as_str()),
        (400, "Cannot delete template which is currently in use")
    );
    let policy = format!("/overdue-fines-policies/{}", server.overdue_fine_policy);
    let mut record = server.admin().get(&policy).await.expect(200);
    record.as_object_mut().expect("an object").remove("reminderFeesPolicy");
    server.admin().put(&policy, &record).await.expect(204);
    server.admin().delete(&path).await.expect_status(204);
}

#[tokio::test]
async fn a_reminder_blocks_renewal_unless_allowed_and_a_renewal_restarts_reminders() {
    let server = reminding(json!({})).await;
    let (item, patron, loan) = lend(&server, 30).await;
    remind(&server).await;
    let first = scheduled(&server).await.swap_remove(0);
    let order = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode});
    let refused = server.admin().post("/circulation/renew-by-barcode", &order).await;
    assert_eq!(refused.refusals(), ["Renewals not allowed for loans with reminders."]);

    let path = format!("/overdue-fines-policies/{}", server.overdue_fine_policy);
    let mut policy = server.admin().get(&path).await.expect(200);
    policy["reminderFeesPolicy"]["allowRenewalOfItemsWithReminderFees"] = json!(true);
    server.admin().put(&path, &policy).await.expect(204);
    server.admin().post("/circulation/renew-by-barcode", &order).await.expect(200);

    assert!(stored(&server, &loan).await.get("reminders").is_none());
    let again = scheduled(&server).await;
    assert_eq!(again.len(), 1);
    assert_ne!(again[0]["id"], first["id"]);
    assert!(again[0]["nextRunTime"].as_str() > first["nextRunTime"].as_str());
}

#[tokio::test]
async fn another_due_date_and_a_recall_restart_the_reminders() {
    let server = reminding(json!({})).await;
    let (item, _, loan) = lend(&server, 30).await;
    remind(&server).await;
    let due = Timestamp::now() + SignedDuration::from_hours(240);
    let path = format!("/circulation/loans/{loan}/change-due-date");
    server.admin().post(&path, &json!({"dueDate": due.to_string()})).await.expect_status(204);
    assert!(stored(&server, &loan).await.get("reminders").is_none());
    let by_staff = scheduled(&server).await;
    assert_eq!(by_staff.len(), 1);

    let requester = server.patron().await;
    server.place_request(&item, &requester, "Recall", server.main_desk).await.expect(201);
    let recalled = stored(&server, &loan).await;
    assert_eq!(recalled["dueDateChangedByRecall"], true);
    let by_recall = scheduled(&server).await;
    assert_eq!(by_recall.len(), 1);
    assert_ne!(by_recall[0]["id"], by_staff[0]["id"]);
}

#[tokio::test]
async fn reminders_end_when_the_item_is_returned() {
    let server = reminding(json!({})).await;
    let (item, ..) = lend(&server, 30).await;
    server.check_in(&item, server.main_desk).await.expect(200);
    remind(&server).await;
    assert_eq!((accounts(&server).await.len(), scheduled(&server).await.len()), (0, 0));
}

#[tokio::test]
async fn reminders_wait_while_the_service_point_is_closed() {
    let server = reminding(json!({})).await;
    lend(&server, 30).await;
    let calendars = server.admin().get("/calendar/calendars").await.expect(200);
    let id = calendars["calendars"][0]["id"].as_str().unwrap_or_default();
    server.admin().delete(&format!("/calendar/calendars?id={id}")).await.expect(204);
    remind(&server).await;
    assert_eq!((accounts(&server).await.len(), scheduled(&server).await.len()), (0, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runs_at_once_send_each_reminder_once() {
    let server = reminding(json!({})).await;
    for _ in 0..8 {
        lend(&server, 30).await;
    }
    tokio::join!(remind(&server), remind(&server), remind(&server));
    assert_eq!(accounts(&server).await.len(), 8);
    assert_eq!(emails(&server).await.len(), 8);
}

#[tokio::test]
async fn the_job_does_what_the_route_does() {
    let server = reminding(json!({})).await;
    lend(&server, 30).await;
    let platform = server.server.node.platform().await.expect("a connection");
    let (tenant, job) = (&server.server.tenant.id, &carrel_circulation::reminders::JOB);
    jobs::soon(&platform, tenant, job.name).await.expect("a job can be wanted soon");
    let pace = Pace { poll: Duration::from_millis(50), ..Pace::default() };
    let runner = jobs::start_with(&server.server.node, vec![job], pace);
    for _ in 0..400 {
        if accounts(&server).await.len() == 1 {
            runner.stop().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the job has sent no reminder");
}
