//! Test helpers for requests and patron blocks.

use crate::client::Reply;
use crate::desk::{LendingServer, TestItem, TestPatron, alter};
use serde_json::{Value, json};
use uuid::Uuid;

impl LendingServer {
    /// Places an item-level request of type `Hold`, `Recall` or `Page`, to be picked up at the main desk.
    pub async fn place_request_of_type(
        &self,
        kind: &str,
        test_item: &TestItem,
        patron: &TestPatron,
    ) -> Reply {
        self.place_request_with(kind, test_item, patron, json!({})).await
    }

    /// [`Self::place_request_of_type`] with more properties: overrides, comments, another service point.
    pub async fn place_request_with(
        &self,
        kind: &str,
        test_item: &TestItem,
        patron: &TestPatron,
        more: Value,
    ) -> Reply {
        let mut request = json!({"requestLevel": "Item", "requestType": kind,
            "requestDate": jiff::Timestamp::now().to_string(), "requesterId": patron.id,
            "instanceId": test_item.instance, "holdingsRecordId": test_item.holdings, "itemId": test_item.id,
            "fulfillmentPreference": "Hold Shelf", "pickupServicePointId": self.main_desk.0});
        alter(&mut request, &more);
        self.admin().post("/circulation/requests", &request).await
    }

    /// Enables title-level requests by the setting's older name.
    pub async fn enable_title_requests_by_tlr_setting(&self) {
        let setting = json!({"id": Uuid::new_v4(), "name": "TLR",
            "value": {"titleLevelRequestsFeatureEnabled": true}});
        self.create("/circulation/settings", &setting).await;
    }

    /// Blocks patrons of the default group from everything above a limit, with this message.
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

    /// Sets a manual block of a patron, with the given reason.
    pub async fn blocks_by_hand(&self, patron: &TestPatron, why: &str) {
        let block = json!({"id": Uuid::new_v4(), "type": "Manual", "desc": why, "userId": patron.id,
            "borrowing": true, "renewals": true, "requests": true});
        self.create("/manualblocks", &block).await;
    }
}

/// The patron API, as a discovery system uses it.
impl LendingServer {
    /// The patron's account; `query` is the query string.
    pub async fn account_of(&self, patron: &TestPatron, query: &str) -> Reply {
        self.admin().get(&format!("/patron/account/{}?{query}", patron.id)).await
    }

    /// The patron places an item-level hold.
    pub async fn patron_places_hold(&self, test_item: &TestItem, patron: &TestPatron) -> Reply {
        let path = format!("/patron/account/{}/item/{}/hold", patron.id, test_item.id);
        self.admin().post(&path, &self.hold_body()).await
    }

    /// The patron places a title-level hold.
    pub async fn patron_places_title_hold(&self, test_item: &TestItem, patron: &TestPatron) -> Reply {
        let path = format!("/patron/account/{}/instance/{}/hold", patron.id, test_item.instance);
        self.admin().post(&path, &self.hold_body()).await
    }

    /// The patron cancels a hold; `hold` is the answer of placing it.
    pub async fn patron_cancels(&self, hold: &Value, patron: &TestPatron) -> Reply {
        self.patron_cancels_with(hold, patron, json!({})).await
    }

    /// Cancels with more in the body: a reason, a comment.
    pub async fn patron_cancels_with(&self, hold: &Value, patron: &TestPatron, more: Value) -> Reply {
        let id = hold["requestId"].as_str().unwrap_or_default();
        let mut hold_body = self.hold_body();
        alter(&mut hold_body, &more);
        self.admin().post(&format!("/patron/account/{}/hold/{id}/cancel", patron.id), &hold_body).await
    }

    /// The patron renews a loan.
    pub async fn patron_renews(&self, test_item: &TestItem, patron: &TestPatron) -> Reply {
        let path = format!("/patron/account/{}/item/{}/renew", patron.id, test_item.id);
        self.admin().post(&path, &json!({})).await
    }

    /// The body of a patron's hold, to be picked up at the main desk.
    pub fn hold_body(&self) -> Value {
        json!({"requestDate": "2024-05-01T10:00:00Z", "pickupLocationId": self.main_desk.0,
            "expirationDate": "2099-01-01T10:00:00Z", "patronComments": "soon, please"})
    }
}
