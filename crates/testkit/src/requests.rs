//! The desk's language for requests and for what keeps patrons from things.

use crate::client::Reply;
use crate::desk::{Book, LendingLibrary, TestPatron};
use serde_json::{Value, json};
use uuid::Uuid;

impl LendingLibrary {
    /// Asks for just this book, to be picked up at the main desk: a `Hold`, `Recall` or `Page`.
    pub async fn ask_for(&self, kind: &str, book: &Book, patron: &TestPatron) -> Reply {
        self.ask_with(kind, book, patron, json!({})).await
    }

    /// Asks for just this book with more in the body: overrides, comments, another desk.
    pub async fn ask_with(&self, kind: &str, book: &Book, patron: &TestPatron, more: Value) -> Reply {
        let mut request = json!({"requestLevel": "Item", "requestType": kind,
            "requestDate": jiff::Timestamp::now().to_string(), "requesterId": patron.id,
            "instanceId": book.instance, "holdingsRecordId": book.holdings, "itemId": book.id,
            "fulfillmentPreference": "Hold Shelf", "pickupServicePointId": self.main_desk.0});
        for (key, value) in more.as_object().expect("an object of additions") {
            request[key] = value.clone();
        }
        self.admin().post("/circulation/requests", &request).await
    }

    /// Lets readers ask for titles.
    pub async fn lets_readers_ask_for_titles(&self) {
        let setting = json!({"id": Uuid::new_v4(), "name": "TLR",
            "value": {"titleLevelRequestsFeatureEnabled": true}});
        self.create("/circulation/settings", &setting).await;
    }

    /// Keeps patrons of the usual group from everything once they pass a limit; both are told by the message.
    pub async fn blocks_above(&self, condition: &str, value: f64, message: &str) {
        let path = format!("/patron-block-conditions/{condition}");
        let mut record = self.admin().get(&path).await.expect(200);
        for flag in ["blockBorrowing", "blockRenewals", "blockRequests"] {
            record[flag] = true.into();
        }
        record["message"] = message.into();
        self.admin().put(&path, &record).await.expect(204);
        let limit = json!({"id": Uuid::new_v4(), "patronGroupId": self.group, "conditionId": condition,
            "value": value});
        self.create("/patron-block-limits", &limit).await;
    }

    /// Writes against a patron that he may do nothing, and why.
    pub async fn blocks_by_hand(&self, patron: &TestPatron, why: &str) {
        let block = json!({"id": Uuid::new_v4(), "type": "Manual", "desc": why, "userId": patron.id,
            "borrowing": true, "renewals": true, "requests": true});
        self.create("/manualblocks", &block).await;
    }
}
