//! The state of a batch in the form of the patron API.

use super::hold_request::Batch;
use super::store::{BatchStatus, Line, LineStatus};
use serde_json::{Value, json};

/// The answer to a stored batch.
pub fn receipt(batch: &Batch, document: &Value) -> Value {
    let total = batch.hold_requests.len();
    json!({
        "batchId": batch.id, "requesterId": batch.requester, "mediatedRequestStatus": "Pending",
        "itemRequestsStats": {"total": total, "pending": total, "inProgress": 0, "completed": 0, "failed": 0},
        "metadata": document["metadata"],
    })
}

/// A batch with the state of each item.
pub fn status(batch: &BatchStatus, instance: &str, title: Option<&str>) -> Value {
    let each = |status: LineStatus| -> Vec<Value> {
        let lines = batch.lines.iter().filter(|line| line.status == status);
        lines.map(|line| copy(line, instance, title)).collect()
    };
    let (pending, failed, requested) =
        (each(LineStatus::Pending), each(LineStatus::Failed), each(LineStatus::Completed));
    let mut shown = json!({
        "batchRequestId": batch.id,
        "status": if batch.is_done { "Completed" } else { "In progress" },
        "submittedAt": batch.document["requestDate"],
        "itemsTotal": batch.lines.len(), "itemsRequested": requested.len(), "itemsPending": pending.len(),
        "itemsFailed": failed.len(), "itemsPendingDetails": pending, "itemsFailedDetails": failed,
        "itemsRequestedDetails": requested,
    });
    if batch.is_done {
        shown["completedAt"] = batch.document["metadata"]["updatedDate"].clone();
    }
    shown
}

fn copy(line: &Line, instance: &str, title: Option<&str>) -> Value {
    let mut shown = json!({"instanceId": instance, "itemId": line.item, "pickUpLocationId": line.pickup});
    if let Some(title) = title {
        shown["title"] = title.into();
    }
    match line.status {
        LineStatus::Pending => {}
        LineStatus::Completed => shown["confirmedRequestId"] = line.request.to_string().into(),
        LineStatus::Failed => shown["errorDetails"] = line.error.clone().unwrap_or_default().into(),
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn each_item_stands_where_it_belongs() {
        let [id, item, pickup, request] = [1, 2, 3, 4].map(Uuid::from_u128);
        let line = |place, status, error: Option<&str>| Line {
            place,
            item,
            pickup,
            status,
            request,
            error: error.map(str::to_owned),
        };
        let batch = BatchStatus {
            id,
            requester: id,
            document: json!({"requestDate": "then", "metadata": {"updatedDate": "now"}}),
            is_done: true,
            lines: vec![line(1, LineStatus::Completed, None), line(2, LineStatus::Failed, Some("No"))],
        };
        let copy = json!({"instanceId": "i", "itemId": item, "pickUpLocationId": pickup, "title": "A work"});
        let with = |key: &str, value: Value| {
            let mut copy = copy.clone();
            copy[key] = value;
            copy
        };
        assert_eq!(
            status(&batch, "i", Some("A work")),
            json!({"batchRequestId": id, "status": "Completed", "submittedAt": "then", "completedAt": "now",
                "itemsTotal": 2, "itemsRequested": 1, "itemsPending": 0, "itemsFailed": 1,
                "itemsPendingDetails": [], "itemsFailedDetails": [with("errorDetails", json!("No"))],
                "itemsRequestedDetails": [with("confirmedRequestId", json!(request))]})
        );
        let begun = BatchStatus { is_done: false, ..batch };
        let shown = status(&begun, "i", None);
        assert_eq!((&shown["status"], shown.get("completedAt")), (&json!("In progress"), None));
    }
}
