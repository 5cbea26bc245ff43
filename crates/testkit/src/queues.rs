//! Test helpers for request queues.

use crate::client::Reply;
use crate::desk::{Desk, LendingServer, TestItem, TestPatron, alter};
use serde_json::{Value, json};
use uuid::Uuid;

impl LendingServer {
    /// Enables title-level requests.
    pub async fn enable_title_requests(&self) {
        self.set_title_requests(true).await;
    }

    /// Switches title-level requests on or off.
    pub async fn set_title_requests(&self, on: bool) {
        let setting = json!({"id": Uuid::new_v4(), "name": "generalTlr",
            "value": {"titleLevelRequestsFeatureEnabled": on}});
        self.admin().post("/circulation/settings", &setting).await.expect(201);
    }

    /// Places an item-level request, to be picked up at the service point.
    pub async fn place_request(
        &self,
        test_item: &TestItem,
        patron: &TestPatron,
        kind: &str,
        desk: Desk,
    ) -> Reply {
        self.place_request_with(kind, test_item, patron, json!({"pickupServicePointId": desk.0})).await
    }

    /// Places an item-level hold, to be picked up at the main desk.
    pub async fn hold(&self, test_item: &TestItem, patron: &TestPatron) -> Uuid {
        placed(&self.place_request(test_item, patron, "Hold", self.main_desk).await)
    }

    /// Places a title-level request.
    pub async fn place_title_request(
        &self,
        test_item: &TestItem,
        patron: &TestPatron,
        kind: &str,
        desk: Desk,
    ) -> Reply {
        let order = json!({
            "requestLevel": "Title", "requestType": kind, "requestDate": jiff::Timestamp::now().to_string(),
            "requesterId": patron.id, "instanceId": test_item.instance, "fulfillmentPreference": "Hold Shelf",
            "pickupServicePointId": desk.0,
        });
        self.admin().post("/circulation/requests", &order).await
    }

    /// The request as circulation shows it.
    pub async fn request(&self, id: Uuid) -> Value {
        self.admin().get(&format!("/circulation/requests/{id}")).await.expect(200)
    }

    /// The request's status.
    pub async fn request_status(&self, id: Uuid) -> String {
        self.request(id).await["status"].as_str().unwrap_or_default().to_owned()
    }

    /// The request as it is stored.
    pub async fn stored_request(&self, id: Uuid) -> Value {
        self.admin().get(&format!("/request-storage/requests/{id}")).await.expect(200)
    }

    /// Staff replace some properties of a request; 404 if it does not exist.
    pub async fn edit_request(&self, id: Uuid, differs: Value) -> Reply {
        let found = self.admin().get(&format!("/circulation/requests/{id}")).await;
        if found.status != 200 {
            return found;
        }
        let mut request = found.json();
        alter(&mut request, &differs);
        self.admin().put(&format!("/circulation/requests/{id}"), &request).await
    }

    /// Staff cancel a request.
    pub async fn cancel(&self, id: Uuid) -> Reply {
        self.edit_request(
            id,
            json!({"status": "Closed - Cancelled", "cancelledDate": jiff::Timestamp::now().to_string()}),
        )
        .await
    }

    /// The queue of an item, by position.
    pub async fn queue_of(&self, test_item: &TestItem) -> Vec<Value> {
        self.queue("item", test_item.id).await
    }

    /// The queue of an instance, by position.
    pub async fn queue_of_title(&self, test_item: &TestItem) -> Vec<Value> {
        self.queue("instance", test_item.instance).await
    }

    /// Number of requests in the queue of an instance.
    pub async fn queue_length(&self, test_item: &TestItem) -> usize {
        let path = format!(
            "/request-storage/requests?limit=0&query=instanceId=={} and status=\"Open*\"",
            test_item.instance
        );
        let counted = self.admin().get(&path).await.expect(200);
        counted["totalRecords"].as_u64().unwrap_or_default() as usize
    }

    async fn queue(&self, of: &str, id: Uuid) -> Vec<Value> {
        let queue = self.admin().get(&format!("/circulation/requests/queue/{of}/{id}")).await.expect(200);
        queue["requests"].as_array().cloned().unwrap_or_default()
    }

    /// Sets the expiration dates of a request to the past.
    pub async fn time_passes_for(&self, id: Uuid) {
        let mut request = self.stored_request(id).await;
        for key in ["requestExpirationDate", "holdShelfExpirationDate"] {
            request[key] = "2020-01-01T00:00:00.000+00:00".into();
        }
        self.admin().put(&format!("/request-storage/requests/{id}"), &request).await.expect(204);
    }

    /// Runs the expiration of requests.
    pub async fn requests_expire(&self) {
        self.admin().post("/scheduled-request-expiration", &json!({})).await.expect(204);
    }
}

/// The id of a request that was placed.
#[track_caller]
pub fn placed(reply: &Reply) -> Uuid {
    let request = reply.expect(201);
    request["id"].as_str().and_then(|id| Uuid::parse_str(id).ok()).expect("a placed request has an id")
}

/// The requesters of a queue, by position.
pub fn waiting(queue: &[Value]) -> Vec<Uuid> {
    queue.iter().filter_map(|request| Uuid::parse_str(request["requesterId"].as_str()?).ok()).collect()
}

/// The positions of a queue.
pub fn positions(queue: &[Value]) -> Vec<i64> {
    queue.iter().filter_map(|request| request["position"].as_i64()).collect()
}
