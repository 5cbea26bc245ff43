//! Fees and fines.

mod actions;
pub mod histories;
mod patron_notices;
mod reports;
mod storage;

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

const SERVICE_POINT: &str = "3a40852d-49fd-4df2-a1f9-6e2641a6e91f";

/// An owner with a type of fees/fines, and accounts of one patron.
pub struct Fees {
    pub server: TestServer,
    pub owner: Value,
    pub fee_type: Value,
    pub patron: Uuid,
}

impl Fees {
    pub async fn open() -> Fees {
        let server = TestServer::start().await;
        let owner = server.post("/owners", &json!({"owner": "Main desk"})).await.expect(201);
        let fee_type = json!({"feeFineType": "Torn page", "ownerId": owner["id"]});
        let fee_type = server.post("/feefines", &fee_type).await.expect(201);
        let patron = json!({"id": Uuid::new_v4(), "username": "ada", "active": true, "barcode": "77",
            "personal": {"lastName": "Byron", "firstName": "Ada", "email": "ada@example.org",
                "preferredContactTypeId": "002"}});
        let patron = server.post("/users", &patron).await.expect(201)["id"].clone();
        let patron = serde_json::from_value(patron).expect("an id");
        Fees { server, owner, fee_type, patron }
    }

    /// A new account that owes the amount.
    pub async fn account(&self, amount: f64) -> String {
        self.account_with(amount, json!({})).await
    }

    /// [`Self::account`] with more properties.
    pub async fn account_with(&self, amount: f64, more: Value) -> String {
        let mut account = json!({"id": Uuid::new_v4(), "amount": amount, "remaining": amount,
            "status": {"name": "Open"}, "paymentStatus": {"name": "Outstanding"}, "userId": self.patron,
            "feeFineId": self.fee_type["id"], "feeFineType": "Torn page", "ownerId": self.owner["id"],
            "feeFineOwner": "Main desk"});
        if let (Some(account), Value::Object(more)) = (account.as_object_mut(), more) {
            account.extend(more);
        }
        let created = self.server.post("/accounts", &account).await.expect(201);
        created["id"].as_str().unwrap_or_default().to_owned()
    }

    /// The account as it is stored.
    pub async fn stored(&self, account: &str) -> Value {
        self.server.get(&format!("/accounts/{account}")).await.expect(200)
    }

    /// The records of the account, in the order of their dates.
    pub async fn records_of(&self, account: &str) -> Vec<Value> {
        let path = format!("/feefineactions?limit=1000&query=accountId=={account} sortBy dateAction");
        let page = self.server.get(&path).await.expect(200);
        page["feefineactions"].as_array().cloned().unwrap_or_default()
    }
}

/// The body of an action.
pub fn action(amount: &str) -> Value {
    json!({"amount": amount, "notifyPatron": false, "servicePointId": SERVICE_POINT, "userName": "Clerk, Carla",
        "paymentMethod": "Cash"})
}

/// The body of an action on several accounts.
pub fn bulk(accounts: &[&str], amount: &str) -> Value {
    let mut body = action(amount);
    body["accountIds"] = json!(accounts);
    body
}
