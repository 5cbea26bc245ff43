//! Lost items through the public API: declared lost, aged to lost, billed, found, renewed, paid.

use carrel_testkit::{LendingServer, TestItem, TestPatron, TestServer};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

/// A library whose lost items cost what the policy says, and who is owed that.
pub struct Library {
    pub lending: LendingServer,
    pub owner: Uuid,
}

const LOST_FEE: &str = "Lost item fee";
const PROCESSING: &str = "Lost item processing fee";
const ACTUAL_COST: &str = "Lost item fee (actual cost)";

impl Library {
    pub async fn open(policy: Value) -> Library {
        Library::on(LendingServer::open().await, policy).await
    }

    async fn on(mut lending: LendingServer, policy: Value) -> Library {
        let owner = Uuid::new_v4();
        let record = json!({"id": owner, "owner": "Main desk",
            "servicePointOwner": [{"value": lending.main_desk.0, "label": "Main desk"}]});
        lending.create("/owners", &record).await;
        lending.lost_item_policy = Uuid::new_v4();
        let mut stored =
            json!({"id": lending.lost_item_policy, "name": "Lost", "lostItemReturned": "Charge"});
        carrel_testkit::alter(&mut stored, &policy);
        lending.create("/lost-item-fees-policies", &stored).await;
        lending.lends_by(&format!("fallback-policy: {}", lending.policies(lending.loan_policy))).await;
        Library { lending, owner }
    }

    /// A loan with its item and patron; the loan began so many days ago.
    pub async fn lent(&self, days_ago: i64) -> (Value, TestItem, TestPatron) {
        let (item, patron) = (self.lending.item().await, self.lending.patron().await);
        let loan = self.lend(&item, &patron, days_ago).await;
        (loan, item, patron)
    }

    pub async fn lend(&self, item: &TestItem, patron: &TestPatron, days_ago: i64) -> Value {
        let began = Timestamp::now() - SignedDuration::from_hours(24 * days_ago);
        let more = json!({"loanDate": began.to_string()});
        self.lending.check_out_with(item, patron, more).await.expect(201)
    }

    pub async fn declare_lost(&self, loan: &Value) -> carrel_testkit::Reply {
        let path = format!("/circulation/loans/{}/declare-item-lost", id(loan));
        let body = json!({"servicePointId": self.lending.main_desk.0, "comment": "gone",
            "declaredLostDateTime": Timestamp::now().to_string()});
        self.lending.admin().post(&path, &body).await
    }

    pub async fn run(&self, path: &str) {
        self.lending.admin().post(path, &json!({})).await.expect(204);
    }

    pub async fn age(&self) {
        self.run("/circulation/scheduled-age-to-lost").await;
    }

    pub async fn bill(&self) {
        self.run("/circulation/scheduled-age-to-lost-fee-charging").await;
    }

    pub async fn stored(&self, loan: &Value) -> Value {
        self.lending.admin().get(&format!("/loan-storage/loans/{}", id(loan))).await.expect(200)
    }

    /// The accounts of the loan, by type and then by date.
    pub async fn accounts(&self, loan: &Value) -> Vec<Value> {
        let path =
            format!("/accounts?limit=100&query=loanId=={} sortBy feeFineType metadata.createdDate", id(loan));
        let page = self.lending.admin().get(&path).await.expect(200);
        page["accounts"].as_array().cloned().unwrap_or_default()
    }

    pub async fn account(&self, loan: &Value, kind: &str) -> Value {
        let accounts = self.accounts(loan).await;
        accounts.into_iter().find(|account| account["feeFineType"] == kind).expect("such a fee")
    }

    /// The records of an account in the order of their dates.
    pub async fn actions(&self, account: &Value) -> Vec<Value> {
        let path = format!("/feefineactions?limit=100&query=accountId=={} sortBy dateAction", id(account));
        let page = self.lending.admin().get(&path).await.expect(200);
        page["feefineactions"].as_array().cloned().unwrap_or_default()
    }

    /// The actual cost records of the loan, the latest loss first.
    pub async fn cost_records(&self, loan: &Value) -> Vec<Value> {
        let path = format!(
            "/actual-cost-record-storage/actual-cost-records?query=loan.id=={} sortBy lossDate/sort.descending",
            id(loan)
        );
        let page = self.lending.admin().get(&path).await.expect(200);
        page["actualCostRecords"].as_array().cloned().unwrap_or_default()
    }

    pub async fn settle(&self, account: &Value, how: &str, amount: &str) {
        let body = json!({"amount": amount, "notifyPatron": false, "servicePointId": self.lending.main_desk.0,
            "userName": "Clerk, Carla", "paymentMethod": "Cash"});
        self.lending.admin().post(&format!("/accounts/{}/{how}", id(account)), &body).await.expect(201);
    }

    /// Actions of the loan's history, newest first.
    pub async fn history(&self, loan: &Value) -> Vec<String> {
        let path = format!("/loan-storage/loan-history?limit=100&query=loan.id=={}", id(loan));
        let rows = self.lending.admin().get(&path).await.expect(200);
        let actions = rows["loansHistory"].as_array().cloned().unwrap_or_default();
        actions.iter().map(|row| row["loan"]["action"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

pub fn id(record: &Value) -> &str {
    record["id"].as_str().expect("an id")
}

/// Amount, what is owed, and payment status.
fn state(account: &Value) -> (f64, f64, &str) {
    let number = |name: &str| account[name].as_f64().unwrap_or(f64::NAN);
    (number("amount"), number("remaining"), account["paymentStatus"]["name"].as_str().unwrap_or_default())
}

/// Ten for the item, five for its processing, both also for items aged to lost, a week after they are due.
pub fn usual() -> Value {
    json!({"chargeAmountItem": {"chargeType": "anotherCost", "amount": 10}, "lostItemProcessingFee": 5,
        "chargeAmountItemPatron": true, "chargeAmountItemSystem": true, "returnedLostItemProcessingFee": true,
        "itemAgedLostOverdue": {"duration": 1, "intervalId": "Weeks"},
        "recalledItemAgedLostOverdue": {"duration": 1, "intervalId": "Weeks"}})
}

pub fn with(more: Value) -> Value {
    let mut policy = usual();
    carrel_testkit::alter(&mut policy, &more);
    policy
}

fn actual_cost() -> Value {
    with(json!({"chargeAmountItem": {"chargeType": "actualCost", "amount": 0}}))
}

#[tokio::test]
async fn a_declared_loss_is_charged_to_the_patron_by_the_owner_of_the_permanent_location() {
    let library = Library::open(usual()).await;
    let (loan, item, patron) = library.lent(0).await;

    library.declare_lost(&loan).await.expect(204);

    let stored = library.stored(&loan).await;
    assert_eq!((&stored["action"], &stored["actionComment"]), (&json!("declaredLost"), &json!("gone")));
    assert_eq!((&stored["itemStatus"], &stored["status"]["name"]), (&json!("Declared lost"), &json!("Open")));
    assert!(stored["declaredLostDate"].is_string());
    assert_eq!(library.lending.status_of(&item).await, "Declared lost");
    assert_eq!(library.history(&loan).await[0], "declaredLost");
    let fee = library.account(&loan, LOST_FEE).await;
    assert_eq!(state(&fee), (10.0, 10.0, "Outstanding"));
    assert_eq!(state(&library.account(&loan, PROCESSING).await), (5.0, 5.0, "Outstanding"));
    for (property, expected) in [
        ("userId", json!(patron.id)),
        ("itemId", json!(item.id)),
        ("barcode", json!(item.barcode)),
        ("ownerId", json!(library.owner)),
        ("feeFineOwner", json!("Main desk")),
        ("location", json!("Stacks")),
        ("loanPolicyId", stored["loanPolicyId"].clone()),
        ("overdueFinePolicyId", stored["overdueFinePolicyId"].clone()),
        ("lostItemFeePolicyId", stored["lostItemPolicyId"].clone()),
        ("dueDate", stored["dueDate"].clone()),
        ("holdingsRecordId", json!(item.holdings)),
        ("instanceId", json!(item.instance)),
    ] {
        assert_eq!(fee[property], expected, "{property}");
    }
    assert!(fee["materialType"].is_string() && fee["callNumber"].is_string() && fee["title"].is_string());
    let charge = &library.actions(&fee).await[0];
    assert_eq!((&charge["typeAction"], &charge["balance"]), (&json!(LOST_FEE), &json!(10.0)));
    assert_eq!(charge["createdAt"], json!(library.lending.main_desk.0));
    assert!(charge["source"].is_string(), "{charge}");
}

#[tokio::test]
async fn a_refused_loss_has_folios_text_and_changes_nothing() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    let path = format!("/circulation/loans/{}/declare-item-lost", id(&loan));
    let refused = library.lending.admin().post(&path, &json!({"comment": "gone"})).await;
    assert_eq!(refused.refusals(), ["A service point is required for item to be declared lost"]);
    let nowhere = format!("/circulation/loans/{}/declare-item-lost", Uuid::new_v4());
    let body = json!({"servicePointId": library.lending.main_desk.0});
    library.lending.admin().post(&nowhere, &body).await.expect(404);

    library.lending.admin().delete(&format!("/owners/{}", library.owner)).await.expect(204);
    let refused = library.declare_lost(&loan).await;
    assert_eq!(refused.refusals(), ["No fee/fine owner found for item's permanent location"]);
    let key = &refused.json()["errors"][0]["parameters"][0];
    assert_eq!(key, &json!({"key": "locationId", "value": library.lending.location}));
    assert_eq!(library.lending.status_of(&item).await, "Checked out");
    assert_eq!(library.stored(&loan).await["action"], "checkedout");

    library.lending.check_in(&item, library.lending.main_desk).await.expect(200);
    assert_eq!(library.declare_lost(&loan).await.refusals(), ["Loan is closed"]);
}

#[tokio::test]
async fn an_item_is_declared_lost_once() {
    let library = Library::open(usual()).await;
    let (loan, _, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    assert_eq!(library.declare_lost(&loan).await.refusals(), ["The item is already declared lost"]);
    assert_eq!(library.accounts(&loan).await.len(), 2);
}

#[tokio::test]
async fn a_loss_without_charges_closes_the_loan_as_lost_and_paid() {
    let library = Library::open(json!({})).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let stored = library.stored(&loan).await;
    assert_eq!((&stored["status"]["name"], &stored["action"]), (&json!("Closed"), &json!("closedLoan")));
    assert!(stored["returnDate"].is_string() && stored.get("actionComment").is_none());
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
    assert_eq!(library.history(&loan).await[..2], ["closedLoan", "declaredLost"]);
    assert!(library.accounts(&loan).await.is_empty());
}

#[tokio::test]
async fn the_last_payment_closes_the_loan_in_its_own_transaction() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let (fee, processing) =
        (library.account(&loan, LOST_FEE).await, library.account(&loan, PROCESSING).await);
    library.settle(&fee, "pay", "10").await;
    assert_eq!(library.lending.status_of(&item).await, "Declared lost");
    library.settle(&processing, "waive", "4").await;
    assert_eq!(library.stored(&loan).await["status"]["name"], "Open");
    library.settle(&processing, "transfer", "1").await;

    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
    let stored = library.stored(&loan).await;
    assert_eq!((&stored["status"]["name"], &stored["action"]), (&json!("Closed"), &json!("closedLoan")));
    // The event of mod-feesfines is harmless afterwards, and as often as it comes.
    let event = json!({"loanId": loan["id"], "feeFineId": fee["id"]});
    for body in [&event, &event, &json!({})] {
        let path = "/circulation/handlers/loan-related-fee-fine-closed";
        library.lending.admin().post(path, body).await.expect(204);
        library
            .lending
            .admin()
            .post("/circulation/handlers/fee-fine-balance-changed", body)
            .await
            .expect(204);
    }
    assert_eq!(library.history(&loan).await.len(), 3, "checked out, declared lost, closed");
}

#[tokio::test]
async fn settling_several_fees_at_once_closes_the_loan_too() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let accounts = library.accounts(&loan).await;
    let ids: Vec<&str> = accounts.iter().map(id).collect();
    let body = json!({"accountIds": ids, "amount": "15", "notifyPatron": false, "userName": "Clerk",
        "servicePointId": library.lending.main_desk.0, "paymentMethod": "Cash"});
    library.lending.admin().post("/accounts-bulk/pay", &body).await.expect(201);
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn an_account_closed_by_replacement_closes_the_loan_too() {
    let library = Library::open(with(json!({"chargeAmountItemPatron": false}))).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let mut fee = library.account(&loan, LOST_FEE).await;
    carrel_testkit::alter(
        &mut fee,
        &json!({"remaining": 0, "status": {"name": "Closed"},
        "paymentStatus": {"name": "Paid fully"}}),
    );
    library.lending.admin().put(&format!("/accounts/{}", id(&fee)), &fee).await.expect(204);
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn the_payments_for_a_lost_item_are_refunded_when_it_is_returned() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let fee = library.account(&loan, LOST_FEE).await;
    library.settle(&fee, "pay", "4").await;
    library.settle(&fee, "transfer", "3").await;

    let answer = library.lending.check_in(&item, library.lending.main_desk).await.expect(200);

    assert_eq!(answer["loan"]["action"], "checkedin");
    assert_eq!(library.lending.status_of(&item).await, "Available");
    assert_eq!(state(&library.account(&loan, LOST_FEE).await), (10.0, 0.0, "Cancelled item returned"));
    assert_eq!(state(&library.account(&loan, PROCESSING).await), (5.0, 0.0, "Cancelled item returned"));
    let kinds: Vec<(String, f64)> = library.actions(&fee).await[3..]
        .iter()
        .map(|it| {
            (it["typeAction"].as_str().unwrap_or("").to_owned(), it["amountAction"].as_f64().unwrap_or(0.0))
        })
        .collect();
    let sum = |kind: &str| kinds.iter().filter(|it| it.0.starts_with(kind)).map(|it| it.1).sum::<f64>();
    assert_eq!((sum("Credited"), sum("Refunded"), sum("Cancelled item returned")), (7.0, 7.0, 10.0));
    let stored = library.stored(&loan).await;
    assert_eq!((&stored["action"], &stored["itemStatus"]), (&json!("checkedin"), &json!("Available")));
    assert_eq!(library.history(&loan).await.len(), 3, "the fees that close do not close the loan again");
}

#[tokio::test]
async fn nothing_is_refunded_after_the_interval_of_the_policy() {
    let policy = with(json!({"feesFinesShallRefunded": {"duration": 1, "intervalId": "Days"}}));
    let library = Library::open(policy).await;
    let (loan, item, _) = library.lent(0).await;
    let path = format!("/circulation/loans/{}/declare-item-lost", id(&loan));
    let long_ago = Timestamp::now() - SignedDuration::from_hours(25);
    let body =
        json!({"servicePointId": library.lending.main_desk.0, "declaredLostDateTime": long_ago.to_string()});
    library.lending.admin().post(&path, &body).await.expect(204);
    library.lending.check_in(&item, library.lending.main_desk).await.expect(200);
    assert_eq!(state(&library.account(&loan, LOST_FEE).await), (10.0, 10.0, "Outstanding"));
    assert_eq!(library.lending.status_of(&item).await, "Available");
}

#[tokio::test]
async fn the_fees_of_the_last_loan_are_refunded_when_a_lost_and_paid_item_is_found() {
    let library = Library::open(with(json!({"returnedLostItemProcessingFee": false}))).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    for account in library.accounts(&loan).await {
        let amount = account["amount"].to_string();
        library.settle(&account, "pay", &amount).await;
    }
    let closed = library.stored(&loan).await;
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");

    let answer = library.lending.check_in(&item, library.lending.main_desk).await.expect(200);

    assert!(answer.get("loan").is_none(), "the loan had ended");
    assert_eq!(library.lending.status_of(&item).await, "Available");
    assert_eq!(state(&library.account(&loan, LOST_FEE).await), (10.0, 0.0, "Cancelled item returned"));
    assert_eq!(state(&library.account(&loan, PROCESSING).await), (5.0, 0.0, "Paid fully"));
    assert_eq!(library.stored(&loan).await, closed, "the loan stays as it ended");
}

#[tokio::test]
async fn an_item_ages_to_lost_once_and_is_billed_once() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(29).await;
    let (on_time, borrowed, _) = library.lent(27).await;

    library.age().await;

    let aged = library.stored(&loan).await;
    assert_eq!((&aged["action"], &aged["itemStatus"]), (&json!("itemAgedToLost"), &json!("Aged to lost")));
    assert_eq!(aged["agedToLostDelayedBilling"]["lostItemHasBeenBilled"], false);
    assert_eq!(
        aged["agedToLostDelayedBilling"]["dateLostItemShouldBeBilled"],
        aged["agedToLostDelayedBilling"]["agedToLostDate"]
    );
    assert_eq!(library.lending.status_of(&item).await, "Aged to lost");
    assert_eq!(library.lending.status_of(&borrowed).await, "Checked out");
    assert!(library.stored(&on_time).await.get("agedToLostDelayedBilling").is_none());
    library.age().await;
    assert_eq!(library.stored(&loan).await, aged);

    library.bill().await;
    library.bill().await;
    assert_eq!(library.stored(&loan).await["agedToLostDelayedBilling"]["lostItemHasBeenBilled"], true);
    assert_eq!(library.history(&loan).await, ["", "itemAgedToLost", "checkedout"]);
    assert_eq!(library.accounts(&loan).await.len(), 2);
    let fee = library.account(&loan, LOST_FEE).await;
    let charge = &library.actions(&fee).await[0];
    assert_eq!((&charge["source"], charge.get("createdAt")), (&json!("System"), None));
}

#[tokio::test]
async fn billing_waits_for_its_date_and_for_an_owner() {
    let later = json!({"patronBilledAfterAgedLost": {"duration": 1, "intervalId": "Weeks"}});
    let library = Library::open(with(later)).await;
    let (loan, _, _) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    assert!(library.accounts(&loan).await.is_empty(), "not before its date");
    let mut stored = library.stored(&loan).await;
    stored["agedToLostDelayedBilling"]["dateLostItemShouldBeBilled"] = "2026-01-01T10:00:00.000+00:00".into();
    library.lending.admin().put(&format!("/loan-storage/loans/{}", id(&loan)), &stored).await.expect(204);

    library.lending.admin().delete(&format!("/owners/{}", library.owner)).await.expect(204);
    library.bill().await;
    assert!(library.accounts(&loan).await.is_empty());
    assert_eq!(library.stored(&loan).await["agedToLostDelayedBilling"]["lostItemHasBeenBilled"], false);
    let record = json!({"id": library.owner, "owner": "Main desk",
        "servicePointOwner": [{"value": library.lending.main_desk.0}]});
    library.lending.create("/owners", &record).await;
    library.bill().await;
    assert_eq!(library.accounts(&loan).await.len(), 2);
}

#[tokio::test]
async fn an_aged_item_without_charges_is_lost_and_paid() {
    let library = Library::open(json!({"itemAgedLostOverdue": {"duration": 1, "intervalId": "Weeks"}})).await;
    let (loan, item, _) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    let stored = library.stored(&loan).await;
    assert_eq!((&stored["status"]["name"], &stored["action"]), (&json!("Closed"), &json!("closedLoan")));
    assert_eq!(stored["agedToLostDelayedBilling"]["lostItemHasBeenBilled"], true);
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn an_item_claimed_returned_does_not_age_and_can_be_declared_lost() {
    let library = Library::open(usual()).await;
    let (loan, item, patron) = library.lent(60).await;
    let path = format!("/circulation/loans/{}/claim-item-returned", id(&loan));
    let claim = json!({"itemClaimedReturnedDateTime": Timestamp::now().to_string()});
    library.lending.admin().post(&path, &claim).await.expect(204);
    library.age().await;
    assert_eq!(library.lending.status_of(&item).await, "Claimed returned");

    library.declare_lost(&loan).await.expect(204);
    assert_eq!(library.lending.status_of(&item).await, "Declared lost");
    let notes = library.lending.admin().get("/notes?limit=100").await.expect(200);
    let note = &notes["notes"][0];
    assert_eq!(note["title"], "Claimed returned item marked declared lost");
    assert_eq!(note["links"][0]["id"], json!(patron.id));
}

#[tokio::test]
async fn declaring_an_aged_item_lost_replaces_its_fees() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    let fee = library.account(&loan, LOST_FEE).await;
    library.settle(&fee, "pay", "6.50").await;

    library.declare_lost(&loan).await.expect(204);

    assert_eq!(library.lending.status_of(&item).await, "Declared lost");
    let accounts = library.accounts(&loan).await;
    let states: Vec<_> = accounts.iter().map(state).collect();
    let dropped = "Cancelled item declared lost";
    assert_eq!(states.len(), 4, "{states:?}");
    for expected in
        [(10.0, 0.0, dropped), (5.0, 0.0, dropped), (10.0, 10.0, "Outstanding"), (5.0, 5.0, "Outstanding")]
    {
        assert!(states.contains(&expected), "{expected:?} among {states:?}");
    }
    // Both new fees paid, and the loan ends.
    for account in accounts.iter().filter(|account| account["status"]["name"] == "Open") {
        library.settle(account, "pay", &account["amount"].to_string()).await;
    }
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn a_renewal_by_override_reverses_the_fees_of_a_lost_item() {
    let library = Library::open(usual()).await;
    let (loan, item, patron) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode,
        "servicePointId": library.lending.main_desk.0});
    let refused = library.lending.admin().post("/circulation/renew-by-barcode", &renewal).await;
    assert_eq!(refused.refusals(), ["item is Aged to lost"]);
    let mut by_override = renewal.clone();
    by_override["overrideBlocks"] = json!({"renewalBlock": {}, "comment": "found"});
    library.lending.admin().post("/circulation/renew-by-barcode", &by_override).await.expect(200);

    assert_eq!(library.lending.status_of(&item).await, "Checked out");
    let fee = library.account(&loan, LOST_FEE).await;
    assert_eq!(state(&fee), (10.0, 0.0, "Cancelled item renewed"));
    assert_eq!(state(&library.account(&loan, PROCESSING).await), (5.0, 0.0, "Cancelled item renewed"));
    let cancelled = library.actions(&fee).await.pop().expect("a record");
    assert_eq!(cancelled["createdAt"], json!(library.lending.main_desk.0));
    let stored = library.stored(&loan).await;
    assert_eq!(stored["status"]["name"], "Open");
    assert!(stored["agedToLostDelayedBilling"].get("lostItemHasBeenBilled").is_none());
    library.bill().await;
    assert_eq!(library.accounts(&loan).await.len(), 2, "a renewed loan is not billed again");
}

#[tokio::test]
async fn an_actual_cost_is_recorded_until_staff_bill_it() {
    let library = Library::open(actual_cost()).await;
    let (loan, item, patron) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let record = library.cost_records(&loan).await.remove(0);
    assert_eq!((&record["status"], &record["lossType"]), (&json!("Open"), &json!("Declared lost")));
    assert_eq!(
        (&record["user"]["id"], &record["user"]["barcode"]),
        (&json!(patron.id), &json!(patron.barcode))
    );
    assert_eq!(
        (&record["item"]["barcode"], &record["item"]["permanentLocation"]),
        (&json!(item.barcode), &json!("Stacks"))
    );
    assert_eq!(record["feeFine"]["type"], ACTUAL_COST);
    assert_eq!(library.accounts(&loan).await.len(), 1, "the processing fee is charged at once");
    let processing = library.account(&loan, PROCESSING).await;
    library.settle(&processing, "pay", "5").await;
    assert_eq!(library.lending.status_of(&item).await, "Declared lost", "the item is not paid");

    let admin = library.lending.admin();
    let nothing = json!({"actualCostRecordId": Uuid::new_v4(), "amount": 1});
    let unknown = admin.post("/actual-cost-fee-fine/bill", &nothing).await;
    assert_eq!(unknown.status, 422);
    assert!(unknown.text().ends_with("was not found"), "{}", unknown.text());
    let mut bill = json!({"actualCostRecordId": record["id"], "amount": -1, "additionalInfoForStaff": "worn",
        "additionalInfoForPatron": "sorry", "servicePointId": library.lending.main_desk.0});
    assert_eq!(admin.post("/actual-cost-fee-fine/bill", &bill).await.status, 422);
    bill["amount"] = 19.99.into();
    let billed = admin.post("/actual-cost-fee-fine/bill", &bill).await.expect(201);
    assert_eq!((&billed["status"], &billed["feeFine"]["billedAmount"]), (&json!("Billed"), &json!(19.99)));
    let again = admin.post("/actual-cost-fee-fine/bill", &bill).await;
    assert_eq!(again.status, 422);
    assert_eq!(again.text(), format!("Actual cost record {} is already Billed", id(&record)));

    let fee = library.account(&loan, ACTUAL_COST).await;
    assert_eq!(fee["id"], billed["feeFine"]["accountId"]);
    assert_eq!(state(&fee), (19.99, 19.99, "Outstanding"));
    let charge = &library.actions(&fee).await[0];
    assert_eq!(charge["comments"], "STAFF : worn \n PATRON : sorry");
    library.settle(&fee, "pay", "19.99").await;
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn an_actual_cost_that_staff_cancel_is_not_owed() {
    let library = Library::open(with(json!({"chargeAmountItem": {"chargeType": "actualCost"},
        "chargeAmountItemPatron": false})))
    .await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let record = library.cost_records(&loan).await.remove(0);
    let body = json!({"actualCostRecordId": record["id"], "additionalInfoForStaff": "too cheap"});
    let cancelled = library.lending.admin().post("/actual-cost-fee-fine/cancel", &body).await.expect(201);
    assert_eq!(
        (&cancelled["status"], &cancelled["additionalInfoForStaff"]),
        (&json!("Cancelled"), &json!("too cheap"))
    );
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
    assert_eq!(library.stored(&loan).await["status"]["name"], "Closed");
    let again = library.lending.admin().post("/actual-cost-fee-fine/cancel", &body).await;
    assert_eq!(again.text(), format!("Actual cost record {} is already Cancelled", id(&record)));
}

#[tokio::test]
async fn an_actual_cost_that_is_not_billed_in_time_expires() {
    let library = Library::open(with(json!({"chargeAmountItem": {"chargeType": "actualCost"},
        "chargeAmountItemPatron": false, "lostItemChargeFeeFine": {"duration": 1, "intervalId": "Weeks"}})))
    .await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let mut record = library.cost_records(&loan).await.remove(0);
    library.run("/circulation/actual-cost-expiration-by-timeout").await;
    assert_eq!(library.cost_records(&loan).await[0]["status"], "Open");
    record["expirationDate"] = "2026-01-01T10:00:00.000+00:00".into();
    let path = format!("/actual-cost-record-storage/actual-cost-records/{}", id(&record));
    library.lending.admin().put(&path, &record).await.expect(204);
    library.run("/circulation/actual-cost-expiration-by-timeout").await;
    assert_eq!(library.cost_records(&loan).await[0]["status"], "Expired");
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn an_actual_cost_is_cancelled_when_the_item_is_returned() {
    let library = Library::open(actual_cost()).await;
    let (loan, item, _) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    library.declare_lost(&loan).await.expect(204);
    let records = library.cost_records(&loan).await;
    let told = |record: &Value| (record["status"].clone(), record["additionalInfoForStaff"].clone());
    assert_eq!(told(&records[0]), (json!("Open"), Value::Null));
    assert_eq!(told(&records[1]), (json!("Cancelled"), json!("Aged to lost item was declared lost")));
    library.lending.check_in(&item, library.lending.main_desk).await.expect(200);
    let records = library.cost_records(&loan).await;
    assert_eq!(told(&records[0]), (json!("Cancelled"), json!("Lost item was returned")));
    for account in library.accounts(&loan).await {
        assert_eq!(account["status"]["name"], "Closed");
    }
}

#[tokio::test]
async fn two_nodes_age_and_bill_each_item_once() {
    let library = Library::open(usual()).await;
    let mut loans = Vec::new();
    for _ in 0..6 {
        loans.push(library.lent(60).await.0);
    }
    for path in ["/circulation/scheduled-age-to-lost", "/circulation/scheduled-age-to-lost-fee-charging"] {
        let runs = [library.run(path), library.run(path), library.run(path)];
        futures_util::future::join_all(runs).await;
    }
    for loan in &loans {
        assert_eq!(library.history(loan).await, ["", "itemAgedToLost", "checkedout"]);
        assert_eq!(library.accounts(loan).await.len(), 2);
    }
}

#[tokio::test]
async fn a_lost_item_keeps_its_due_date_and_cannot_be_requested() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let path = format!("/circulation/loans/{}/change-due-date", id(&loan));
    let refused = library.lending.admin().post(&path, &json!({"dueDate": "2030-01-01T10:00:00Z"})).await;
    assert_eq!(refused.refusals(), ["item is Declared lost"]);
    let requester = library.lending.patron().await;
    for kind in ["Hold", "Recall", "Page"] {
        let request = json!({"requestType": kind, "requestLevel": "Item", "requestDate": "2026-01-01T10:00:00Z",
            "requesterId": requester.id, "itemId": item.id, "instanceId": item.instance,
            "holdingsRecordId": item.holdings, "fulfillmentPreference": "Hold Shelf",
            "pickupServicePointId": library.lending.main_desk.0});
        let refused = library.lending.admin().post("/circulation/requests", &request).await;
        assert_eq!(refused.status, 422, "{kind}");
    }
}

#[tokio::test]
async fn an_ordinary_check_in_still_takes_two_round_trips() {
    let options = carrel_platform::ServerOptions { counts_round_trips: true, ..Default::default() };
    let library = Library::on(LendingServer::on(TestServer::start_in(options).await).await, usual()).await;
    let (loan, item, patron) = library.lent(0).await;
    let answer = library.lending.check_in(&item, library.lending.main_desk).await;
    assert_eq!(answer.header("x-carrel-round-trips"), Some("2"));
    let _ = loan;
    let loan = library.lend(&item, &patron, 0).await;
    let lost = library.declare_lost(&loan).await;
    assert_eq!(lost.header("x-carrel-round-trips"), Some("3"), "loan, fees, changes");
}
