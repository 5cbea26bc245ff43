//! Policies and related records through the public API.

use carrel_testkit::{LendingServer, TestServer};
use serde_json::json;
use uuid::Uuid;

#[tokio::test]
async fn a_fixed_loan_policy_without_schedule_is_refused() {
    let server = TestServer::start().await;
    let policy =
        json!({"name": "Term", "loanable": true, "renewable": false, "loansPolicy": {"profileId": "Fixed"}});
    let answer = server.post("/loan-policy-storage/loan-policies", &policy).await;
    answer.expect(422);
    assert_eq!(
        answer.refusals(),
        ["Fixed due date cannot be null if loanable is true and profile is of type fixed"]
    );
}

#[tokio::test]
async fn a_schedule_in_use_cannot_be_deleted() {
    let server = TestServer::start().await;
    let id = Uuid::new_v4();
    let schedules = "/fixed-due-date-schedule-storage/fixed-due-date-schedules";
    let term = json!({"id": id, "name": "Term", "schedules": [
        {"from": "2024-01-01T00:00:00Z", "to": "2024-06-30T00:00:00Z", "due": "2024-07-01T00:00:00Z"}]});
    server.post(schedules, &term).await.expect(201);
    let policy = json!({"name": "Term", "loanable": true, "renewable": false,
        "loansPolicy": {"profileId": "Fixed", "fixedDueDateScheduleId": id}});
    server.post("/loan-policy-storage/loan-policies", &policy).await.expect(201);

    let answer = server.delete(&format!("{schedules}/{id}")).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("still referenced from table loan_policy"), "{}", answer.text());

    let backwards = json!({"name": "Backwards", "schedules": [
        {"from": "2024-06-30T00:00:00Z", "to": "2024-01-01T00:00:00Z", "due": "2024-07-01T00:00:00Z"}]});
    let answer = server.post(schedules, &backwards).await;
    answer.expect(422);
    assert_eq!(
        answer.refusals(),
        ["Unable to save fixed loan date. Date range not valid from date after to date"]
    );
}

#[tokio::test]
async fn a_request_policy_allows_only_pickup_locations() {
    let server = LendingServer::open().await;
    let policy = |point: Uuid| json!({"name": format!("Policy {point}"), "requestTypes": ["Hold"], "allowedServicePoints": {"Hold": [point]}});
    let path = "/request-policy-storage/request-policies";
    server.admin().post(path, &policy(server.main_desk.0)).await.expect(201);
    let answer = server.admin().post(path, &policy(Uuid::new_v4())).await;
    let error = &answer.expect(422)["errors"][0];
    assert_eq!(error["code"], "INVALID_ALLOWED_SERVICE_POINT");
    assert_eq!(error["message"], "One or more Pickup locations are no longer available");
}

#[tokio::test]
async fn a_notice_policy_in_the_rules_cannot_be_deleted_and_its_name_is_unique() {
    let server = LendingServer::open().await;
    let path = "/patron-notice-policy-storage/patron-notice-policies";
    let used = server.admin().delete(&format!("{path}/{}", server.notice_policy)).await;
    assert_eq!((used.status, used.text().as_str()), (400, "Cannot delete in use notice policy"));

    server.create(path, &json!({"name": "Weekly"})).await;
    let error = &server.admin().post(path, &json!({"name": "WEEKLY"})).await.expect(422)["errors"][0];
    assert_eq!(error["code"], "duplicate.name");
    assert_eq!(error["message"], "'WEEKLY' name in not unique");
}

#[tokio::test]
async fn duplicate_names_of_fee_policies_have_specific_texts() {
    let server = TestServer::start().await;
    for (path, code) in [
        ("/overdue-fines-policies", "feesfines.policy.overdue.duplicate"),
        ("/lost-item-fees-policies", "feesfines.policy.lost.duplicate"),
    ] {
        server.post(path, &json!({"name": "Strict"})).await.expect(201);
        let answer = server.post(path, &json!({"name": "strict"})).await;
        assert_eq!(answer.expect(422)["errors"][0]["code"], code);
    }
    let negative = json!({"name": "Odd", "overdueFine": {"quantity": -1, "intervalId": "day"}});
    let answer = server.post("/overdue-fines-policies", &negative).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Quantity must not be negative."]);
}

#[tokio::test]
async fn a_check_out_lock_has_one_holder() {
    let server = TestServer::start().await;
    let user = Uuid::new_v4();
    let request_body = json!({"userId": user, "ttlMs": 60_000});
    let lock = server.post("/check-out-lock-storage", &request_body).await.expect(201);
    let second = server.post("/check-out-lock-storage", &request_body).await;
    assert_eq!((second.status, second.text().as_str()), (503, "Unable to acquire lock"));

    let listed = server.get(&format!("/check-out-lock-storage?userId={user}&offset=0&limit=5")).await;
    assert_eq!(listed.expect(200)["checkoutLocks"][0]["id"], lock["id"]);
    let id = lock["id"].as_str().unwrap_or_default();
    server.delete(&format!("/check-out-lock-storage/{id}")).await.expect(204);
    assert_eq!(server.get(&format!("/check-out-lock-storage/{id}")).await.status, 404);
    server.post("/check-out-lock-storage", &json!({"userId": user, "ttlMs": 0})).await.expect(201);
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    server.post("/check-out-lock-storage", &json!({"userId": user, "ttlMs": 5})).await.expect(201);
}

#[tokio::test]
async fn a_patron_has_at_most_one_request_preference() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    let path = "/request-preference-storage/request-preference";
    let preference = json!({"userId": patron.id, "holdShelf": true, "delivery": false});
    server.create(path, &preference).await;
    let answer = server.admin().post(path, &preference).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Request preference for specified user already exists"]);
}

#[tokio::test]
async fn a_missing_slip_is_created_by_put() {
    let server = TestServer::start().await;
    let id = Uuid::new_v4();
    let path = format!("/staff-slips-storage/staff-slips/{id}");
    let slip = json!({"name": "Bookplate", "template": "<p></p>"});
    assert_eq!(server.put(&path, &slip).await.expect(201)["active"], true);
    server.put(&path, &slip).await.expect(204);
    let empty = server.put(&path, &json!({"name": "", "template": "x"})).await;
    assert_eq!((empty.status, empty.text().as_str()), (400, "Name is a required property"));
}

#[tokio::test]
async fn patrons_with_expired_sessions_are_listed() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    let session = json!({"patronId": patron.id, "loanId": Uuid::new_v4(), "actionType": "Check-in"});
    server.create("/patron-action-session-storage/patron-action-sessions", &session).await;
    let path = "/patron-action-session-storage/expired-session-patron-ids?action_type=Check-in&limit=10";
    let before = |time: &str| format!("{path}&session_inactivity_time_limit={time}");
    let later = server.admin().get(&before("2999-01-01T00:00:00Z")).await.expect(200);
    assert_eq!(later["expiredSessions"], json!([{"patronId": patron.id, "actionType": "Check-in"}]));
    let earlier = server.admin().get(&before("1999-01-01T00:00:00Z")).await.expect(200);
    assert_eq!(earlier["expiredSessions"], json!([]));
    server.admin().get(&before("soon")).await.expect(422);
}

#[tokio::test]
async fn printed_slips_are_counted() {
    let server = TestServer::start().await;
    let (request, clerk) = (Uuid::new_v4(), Uuid::new_v4());
    let printed = json!({"requestIds": [request], "requesterId": clerk, "requesterName": "Clerk",
        "printEventDate": "2024-06-25T14:30:00Z"});
    for _ in 0..2 {
        assert_eq!(server.post("/print-events-storage/print-events-entry", &printed).await.status, 201);
    }
    let body = json!({"requestIds": [request, Uuid::new_v4()]});
    let reported = server.post("/print-events-storage/print-events-status", &body).await.expect(200);
    assert_eq!(reported["totalRecords"], 1);
    assert_eq!(reported["printEventsStatusResponses"][0]["count"], 2);
}
