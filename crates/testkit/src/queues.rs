//! Queues in the desk's language: who waits for what, at which place, and what becomes of it.

use crate::client::Reply;
use crate::desk::{Desk, LendingServer, TestItem, TestPatron, alter};
use serde_json::{Value, json};
use uuid::Uuid;

impl LendingServer {
    /// Patrons may ask for titles from now on.
    pub async fn takes_title_requests(&self) {
        self.title_requests(true).await;
    }

    /// Switches requests for titles on or off.
    pub async fn title_requests(&self, on: bool) {
        let setting = json!({"id": Uuid::new_v4(), "name": "generalTlr",
            "value": {"titleLevelRequestsFeatureEnabled": on}});
        self.admin().post("/circulation/settings", &setting).await.expect(201);
    }

    /// A patron asks for just this copy, to be picked up at the desk.
    pub async fn asks_for(&self, test_item: &TestItem, patron: &TestPatron, kind: &str, desk: Desk) -> Reply {
        self.ask_with(kind, test_item, patron, json!({"pickupServicePointId": desk.0})).await
    }

    /// The patron's hold of this copy, to be picked up at the main desk.
    pub async fn hold(&self, test_item: &TestItem, patron: &TestPatron) -> Uuid {
        placed(&self.asks_for(test_item, patron, "Hold", self.main_desk).await)
    }

    /// A patron asks for any copy of the title.
    pub async fn asks_for_title(
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

    /// Staff change some fields of a request; where it is gone, they hear that.
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

    /// Requests behind a copy, first one first, where queues are of items.
    pub async fn queue_of(&self, test_item: &TestItem) -> Vec<Value> {
        self.queue("item", test_item.id).await
    }

    /// Requests behind a title, first one first.
    pub async fn queue_of_title(&self, test_item: &TestItem) -> Vec<Value> {
        self.queue("instance", test_item.instance).await
    }

    /// Number of requests behind a title, without reading them.
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

    /// The time of a request is over: its own date, and that of the hold shelf.
    pub async fn time_passes_for(&self, id: Uuid) {
        let mut request = self.stored_request(id).await;
        for key in ["requestExpirationDate", "holdShelfExpirationDate"] {
            request[key] = "2020-01-01T00:00:00.000+00:00".into();
        }
        self.admin().put(&format!("/request-storage/requests/{id}"), &request).await.expect(204);
    }

    /// What is done every few minutes: requests past their time are closed.
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

/// The requesters of a queue, first one first.
pub fn waiting(queue: &[Value]) -> Vec<Uuid> {
    queue.iter().filter_map(|request| Uuid::parse_str(request["requesterId"].as_str()?).ok()).collect()
}

/// The positions of a queue, as they stand.
pub fn positions(queue: &[Value]) -> Vec<i64> {
    queue.iter().filter_map(|request| request["position"].as_i64()).collect()
}
