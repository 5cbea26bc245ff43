//! Automated patron blocks through the public API.

use carrel_platform::ServerOptions;
use carrel_testkit::{LendingServer, Reply, TestItem, TestPatron, TestServer};
use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use uuid::Uuid;

const OVERDUE: &str = "584fbd4f-6a34-4730-a6ca-73a6a6a9d845";
const CHARGED_OUT: &str = "3d7c52dc-c732-4223-8bf8-e5917801386f";

async fn blocks(server: &LendingServer, patron: Uuid) -> Value {
    server.admin().get(&format!("/automated-patron-blocks/{patron}")).await.expect(200)
        ["automatedPatronBlocks"]
        .clone()
}

#[tokio::test]
async fn a_patron_at_the_limit_cannot_check_out() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    server.blocks_above(CHARGED_OUT, 1.0, "Too many items").await;
    assert_eq!(blocks(&server, patron.id).await, json!([]));

    server.check_out(&server.item().await, &patron).await.expect(201);

    assert_eq!(
        blocks(&server, patron.id).await,
        json!([{"patronBlockConditionId": CHARGED_OUT, "blockBorrowing": true, "blockRenewals": false,
            "blockRequests": false, "message": "Too many items"}])
    );
    let summary = server.admin().get(&format!("/user-summary/{}", patron.id)).await.expect(200);
    assert_eq!(summary["openLoans"].as_array().map(Vec::len), Some(1));
    assert_eq!(summary["openLoans"][0]["itemLost"], false);
}

#[tokio::test]
async fn an_unknown_user_has_no_blocks_and_a_malformed_id_is_refused() {
    let server = LendingServer::open().await;
    assert_eq!(blocks(&server, Uuid::new_v4()).await, json!([]));
    assert_eq!(server.admin().get(&format!("/user-summary/{}", Uuid::new_v4())).await.status, 404);
    let answer = server.admin().get("/automated-patron-blocks/somebody").await;
    assert_eq!((answer.status, answer.text().as_str()), (400, "Invalid user UUID: \"somebody\""));
}

#[tokio::test]
async fn a_condition_needs_a_message_and_a_limit_a_valid_value() {
    let server = LendingServer::open().await;
    let path = format!("/patron-block-conditions/{CHARGED_OUT}");
    let mut record = server.admin().get(&path).await.expect(200);
    record["blockBorrowing"] = true.into();
    let answer = server.admin().put(&path, &record).await;
    answer.expect(422);
    assert_eq!(
        answer.refusals(),
        ["Message to be displayed is a required field if one or more blocked actions selected"]
    );
    let limit = json!({"id": Uuid::new_v4(), "patronGroupId": server.group, "conditionId": CHARGED_OUT, "value": 1.5});
    let answer = server.admin().post("/patron-block-limits", &limit).await;
    answer.expect(422);
    assert_eq!(answer.refusals(), ["Must be blank or an integer from 0 to 999999"]);
}

/// A patron with an item on loan and an overdue one, in a library that blocks for that.
async fn patron_with_overdue_item(server: &LendingServer) -> (TestItem, TestPatron) {
    let (kept, late, patron) = (server.item().await, server.item().await, server.patron().await);
    server.check_out(&kept, &patron).await.expect(201);
    let long_ago = json!({"loanDate": "2024-01-01T00:00:00Z"});
    server.check_out_with(&late, &patron, long_ago).await.expect(201);
    server.blocks_above(OVERDUE, 0.0, "Too late").await;
    server.blocks_by_hand(&patron, "rude").await;
    (kept, patron)
}

/// Messages and codes of a refusal.
fn reported(answer: &Reply) -> Vec<(Value, Value)> {
    let errors = answer.expect(422)["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().map(|error| (error["message"].clone(), error["code"].clone())).collect()
}

fn pair(message: &str, code: &str) -> (Value, Value) {
    (message.into(), code.into())
}

#[tokio::test]
async fn a_patron_with_overdue_items_renews_only_by_override() {
    let server = LendingServer::on(TestServer::start_in(counting()).await).await;
    let (kept, patron) = patron_with_overdue_item(&server).await;
    let order = json!({"itemId": kept.id, "userId": patron.id});
    let path = "/circulation/renew-by-id";
    let clerk = server.server.staff_with(&["circulation.renew-by-id.post"]).await;

    let refused = clerk.post(path, &order).await;

    assert_eq!(
        reported(&refused),
        [
            pair("Patron blocked from renewing", "USER_IS_BLOCKED_MANUALLY"),
            pair("Too late", "USER_IS_BLOCKED_AUTOMATICALLY")
        ]
    );
    assert_eq!(
        refused.expect(422)["errors"][1]["overridableBlock"],
        json!({"name": "patronBlock", "missingPermissions": ["circulation.override-patron-block.post"]})
    );
    let mut order = order;
    order["overrideBlocks"] = json!({"patronBlock": {}, "comment": "he is ill"});
    let refused = clerk.post(path, &order).await;
    assert_eq!(
        reported(&refused),
        [pair("Insufficient override permissions", "INSUFFICIENT_OVERRIDE_PERMISSIONS")]
    );
    let renewed = server.admin().post(path, &order).await;
    assert_eq!(renewed.expect(200)["action"], "renewedThroughOverride");
    assert_eq!(renewed.header("x-carrel-round-trips"), Some("2"), "blocks are read with the other facts");
}

#[tokio::test]
async fn a_patron_with_overdue_items_requests_only_by_override() {
    let server = LendingServer::on(TestServer::start_in(counting()).await).await;
    let (_, patron) = patron_with_overdue_item(&server).await;
    let item = server.item().await;

    let refused = server.place_request_of_type("Page", &item, &patron).await;

    assert_eq!(
        reported(&refused),
        [
            pair("Too late", "USER_IS_BLOCKED_AUTOMATICALLY"),
            pair("Patron blocked from requesting", "USER_IS_BLOCKED_MANUALLY")
        ]
    );
    let insisting =
        json!({"requestProcessingParameters": {"overrideBlocks": {"patronBlock": {}, "comment": "ill"}}});
    let placed = server.place_request_with("Page", &item, &patron, insisting).await;
    placed.expect(201);
    assert_eq!(placed.header("x-carrel-round-trips"), Some("2"), "blocks are read with the other facts");
}

#[tokio::test]
async fn the_instance_of_an_item_is_read_in_the_same_two_round_trips() {
    let server = LendingServer::on(TestServer::start_in(counting()).await).await;
    server.enable_title_requests_by_tlr_setting().await;
    let (item, patron) = (server.item().await, server.patron().await);
    // The first request of a node reads the settings.
    server.place_request_of_type("Page", &server.item().await, &patron).await.expect(201);
    let order = json!({"requestType": "Page", "requestDate": "2024-05-01T10:00:00Z", "requesterId": patron.id,
        "itemId": item.id, "fulfillmentPreference": "Hold Shelf", "pickupServicePointId": server.main_desk.0});

    let placed = server.admin().post("/circulation/requests", &order).await;

    let request = placed.expect(201);
    assert_eq!(request["instanceId"], json!(item.instance));
    assert_eq!(request["holdingsRecordId"], json!(item.holdings));
    assert_eq!((&request["requestLevel"], &request["position"]), (&json!("Item"), &json!(1)));
    assert_eq!(placed.header("x-carrel-round-trips"), Some("2"), "its title is read with the other facts");
}

fn counting() -> ServerOptions {
    ServerOptions { counts_round_trips: true, ..ServerOptions::default() }
}

const LOST: &str = "72b67965-5b73-4840-bc0b-be8f3f6e047e";
const BALANCE: &str = "cf7a0d5f-a327-4ca1-aa9e-dc55ec006b8a";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_check_outs_of_one_patron_do_not_exceed_the_limit() {
    let server = LendingServer::open().await;
    server.blocks_above(CHARGED_OUT, 2.0, "Too many items").await;
    for _ in 0..4 {
        let patron = server.patron().await;
        let mut items = Vec::new();
        for _ in 0..6 {
            items.push(server.item().await);
        }
        let answers = join_all(items.iter().map(|item| server.check_out(item, &patron))).await;
        let lent = answers.iter().filter(|answer| answer.status == 201).count();
        assert_eq!((lent, server.open_loans_of(&patron).await.len()), (2, 2));
        for answer in answers.iter().filter(|answer| answer.status != 201) {
            assert_eq!(reported(answer), [pair("Too many items", "USER_IS_BLOCKED_AUTOMATICALLY")]);
        }
    }
}

#[tokio::test]
async fn an_item_claimed_returned_no_longer_counts() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    server.blocks_above(CHARGED_OUT, 1.0, "Too many items").await;
    let loan = server.check_out(&server.item().await, &patron).await.expect(201)["id"].clone();
    assert_eq!(server.check_out(&server.item().await, &patron).await.status, 422);

    let path = format!("/circulation/loans/{}/claim-item-returned", loan.as_str().unwrap_or_default());
    let claim = json!({"itemClaimedReturnedDateTime": "2024-05-01T10:00:00Z"});
    server.admin().post(&path, &claim).await.expect(204);

    assert_eq!(blocks(&server, patron.id).await, json!([]));
    server.check_out(&server.item().await, &patron).await.expect(201);
}

#[tokio::test]
async fn an_open_account_blocks_until_it_is_paid() {
    let server = LendingServer::open().await;
    let (admin, patron) = (server.admin(), server.patron().await);
    server.blocks_above(BALANCE, 10.1, "Pay first").await;
    let owner = server.create("/owners", &json!({"owner": "Main desk"})).await;
    let fee_type = json!({"feeFineType": "Torn page", "ownerId": owner["id"]});
    let fee_type = server.create("/feefines", &fee_type).await;
    for amount in [10.1, 0.01] {
        let account = json!({"id": Uuid::new_v4(), "amount": amount, "remaining": amount,
            "status": {"name": "Open"}, "paymentStatus": {"name": "Outstanding"}, "userId": patron.id,
            "feeFineId": fee_type["id"], "ownerId": owner["id"], "feeFineType": "Torn page"});
        assert_eq!(blocks(&server, patron.id).await, json!([]), "before another {amount}");
        server.create("/accounts", &account).await;
    }
    let refused = server.check_out(&server.item().await, &patron).await;
    assert_eq!(reported(&refused), [pair("Pay first", "USER_IS_BLOCKED_AUTOMATICALLY")]);
    let summary = admin.get(&format!("/user-summary/{}", patron.id)).await.expect(200);
    let fees = summary["openFeesFines"].as_array().cloned().unwrap_or_default();
    let small = fees.iter().find(|fee| fee["balance"] == 0.01).cloned().unwrap_or_default();

    let payment = json!({"amount": "0.01", "servicePointId": server.main_desk.0, "userName": "desk",
        "paymentMethod": "Cash", "notifyPatron": false});
    let path = format!("/accounts/{}/pay", small["feeFineId"].as_str().unwrap_or_default());
    admin.post(&path, &payment).await.expect(201);

    server.check_out(&server.item().await, &patron).await.expect(201);
}

/// Runs a synchronization to its end; returns its record.
async fn synchronized(server: &LendingServer, sent: Value) -> Value {
    let path = "/automated-patron-blocks/synchronization/job";
    let created = server.admin().post(path, &sent).await.expect(201);
    assert_eq!(created, json!({"id": created["id"], "scope": sent["scope"], "status": "open"}));
    let id = created["id"].as_str().unwrap_or_default();
    let of = format!("{path}/{id}");
    assert_eq!(server.admin().get(&of).await.expect(200)["status"], "open");
    let started = server.admin().post("/automated-patron-blocks/synchronization/start", &json!({})).await;
    started.expect_status(202);
    server.admin().get(&of).await.expect(200)
}

#[tokio::test]
async fn a_synchronization_reports_wrong_counts() {
    let server = LendingServer::open().await;
    let (patron, other, item) = (server.patron().await, server.patron().await, server.item().await);
    server.check_out(&item, &patron).await.expect(201);
    server.check_out(&server.item().await, &other).await.expect(201);

    let done = synchronized(&server, json!({"scope": "full"})).await;
    assert_eq!(
        (&done["status"], &done["numberOfProcessedLoans"], &done["errors"]),
        (&json!("done"), &json!(2), &json!([]))
    );

    let database = server.server.database().await;
    database
        .execute("UPDATE item_state SET status = 'Declared lost' WHERE item_id = $1", &[&item.id])
        .await
        .expect("an item that is lost without its loan");
    let of_the_other = synchronized(&server, json!({"scope": "user", "userId": other.id})).await;
    assert_eq!(of_the_other["errors"], json!([]));
    let done = synchronized(&server, json!({"scope": "full"})).await;
    assert_eq!(done["errors"], json!([format!("User {}: lost items 0 instead of 1", patron.id)]));
}

#[tokio::test]
async fn an_interrupted_synchronization_continues_and_two_nodes_share_it() {
    let server = LendingServer::open().await;
    for _ in 0..3 {
        server.check_out(&server.item().await, &server.patron().await).await.expect(201);
    }
    let path = "/automated-patron-blocks/synchronization/job";
    let created = server.admin().post(path, &json!({"scope": "full"})).await.expect(201);
    let id = created["id"].as_str().unwrap_or_default().to_owned();
    let database = server.server.database().await;
    // The state after a node died that had processed the first patron.
    database
        .execute(
            "UPDATE synchronization_jobs SET doc = doc || '{\"status\": \"in-progress\", \"numberOfProcessedLoans\": 1}',
                 synchronized_to = (SELECT min(user_id::text)::uuid FROM loan)",
            &[],
        )
        .await
        .expect("a job under way");
    let nothing = json!({});
    let start = || server.admin().post("/automated-patron-blocks/synchronization/start", &nothing);

    for started in join_all([start(), start()]).await {
        started.expect_status(202);
    }

    let done = server.admin().get(&format!("{path}/{id}")).await.expect(200);
    assert_eq!((&done["status"], &done["numberOfProcessedLoans"]), (&json!("done"), &json!(3)));
}

#[tokio::test]
async fn a_synchronization_without_user_and_an_unknown_one_are_refused() {
    let server = LendingServer::open().await;
    let path = "/automated-patron-blocks/synchronization/job";
    let answer = server.admin().post(path, &json!({"scope": "user"})).await;
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (422, "UserId is required for synchronization job with scope: USER")
    );
    server.admin().post(path, &json!({"scope": "half"})).await.expect_status(422);
    let answer = server.admin().get(&format!("{path}/{}", Uuid::new_v4())).await;
    assert_eq!((answer.status, answer.text().as_str()), (404, "This synchronization request does not exist"));
}

#[tokio::test]
async fn an_event_for_the_blocks_is_validated_and_discarded() {
    let server = LendingServer::open().await;
    let patron = server.patron().await;
    server.blocks_above(LOST, 0.0, "Too many lost items").await;
    server.check_out(&server.item().await, &patron).await.expect(201);
    let event = json!({"userId": patron.id, "loanId": Uuid::new_v4(), "dueDate": "2024-05-01T10:00:00Z",
        "dueDateChangedByRecall": true, "returnDate": "2024-05-01T10:00:00Z", "feeFineId": Uuid::new_v4(),
        "balance": 5.5});
    for name in [
        "fee-fine-balance-changed",
        "item-checked-out",
        "item-checked-in",
        "item-declared-lost",
        "item-aged-to-lost",
        "item-claimed-returned",
        "loan-due-date-changed",
        "loan-closed",
    ] {
        let path = format!("/automated-patron-blocks/handlers/{name}");
        server.admin().post(&path, &event).await.expect_status(204);
        server.admin().post(&path, &json!({"userId": "nobody"})).await.expect_status(422);
    }
    assert_eq!(blocks(&server, patron.id).await, json!([]));
    let summary = server.admin().get(&format!("/user-summary/{}", patron.id)).await.expect(200);
    assert_eq!(summary["openLoans"].as_array().map(Vec::len), Some(1));
}

/// Whatever desks do concurrently, a synchronization finds no difference.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_any_history_a_synchronization_finds_no_difference() {
    const DESKS: u64 = 3;
    const ACTIONS: usize = 25;
    let server = LendingServer::open().await;
    server.blocks_above(CHARGED_OUT, 4.0, "Too many items").await;
    let (mut patrons, mut items) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        patrons.push(server.patron().await);
    }
    for _ in 0..10 {
        items.push(server.item().await);
    }
    let seed: u64 = std::env::var("CARREL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let histories = (0..DESKS).map(|desk| {
        let (server, patrons, items) = (&server, &patrons, &items);
        async move {
            let mut random = StdRng::seed_from_u64(seed * 100 + desk);
            for _ in 0..ACTIONS {
                let item = &items[random.random_range(0..items.len())];
                let patron = &patrons[random.random_range(0..patrons.len())];
                let path = format!("/circulation/loans?query=itemId=={}%20and%20status.name==Open", item.id);
                let open = server.admin().get(&path).await.expect(200);
                let loan = open["loans"][0]["id"].as_str().unwrap_or_default().to_owned();
                let of_loan = |name: &str| format!("/circulation/loans/{loan}/{name}");
                let answer = match random.random_range(0..8) {
                    0..=3 => server.check_out(item, patron).await,
                    4 => server.check_in(item, server.main_desk).await,
                    5 => {
                        let claim = json!({"itemClaimedReturnedDateTime": "2024-05-01T10:00:00Z"});
                        server.admin().post(&of_loan("claim-item-returned"), &claim).await
                    }
                    6 => {
                        let lost = json!({"servicePointId": server.main_desk.0,
                            "declaredLostDateTime": "2024-05-01T10:00:00Z"});
                        server.admin().post(&of_loan("declare-item-lost"), &lost).await
                    }
                    _ => {
                        let due = json!({"dueDate": "2024-05-01T10:00:00Z"});
                        server.admin().post(&of_loan("change-due-date"), &due).await
                    }
                };
                // An action may be refused, but must not fail.
                assert_ne!(answer.status, 500, "{}", answer.text());
            }
        }
    });
    join_all(histories).await;

    let done = synchronized(&server, json!({"scope": "full"})).await;
    assert_eq!(done["errors"], json!([]), "seed {seed}");
}
