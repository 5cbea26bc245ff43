//! Lost items through the public API: declared lost, aged to lost, billed, found, renewed, paid.

mod actual_cost;
mod aging;
mod declare_lost;
mod histories;
mod payment;
mod refund;

use carrel_testkit::{LendingServer, TestItem, TestPatron};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

/// A tenant with a lost item fee policy and an owner of its fees.
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

    /// A loan with its item and patron; the loan began this many days ago.
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

/// Amount, balance, and payment status.
fn state(account: &Value) -> (f64, f64, &str) {
    let number = |name: &str| account[name].as_f64().unwrap_or(f64::NAN);
    (number("amount"), number("remaining"), account["paymentStatus"]["name"].as_str().unwrap_or_default())
}

/// Ten for the item, five for its processing, both also for items aged to lost, one week after they are due.
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
