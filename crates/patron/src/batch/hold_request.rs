//! The request of a batch, and its validation.

use carrel_platform::http::Caller;
use carrel_records::shape::Shape;
use carrel_records::{Failure, Refusal, RefusalCode, metadata, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use uuid::Uuid;

/// Items in a batch, at most, if the library has no setting for it.
pub const MOST: i64 = 50;

/// Items that a patron requests at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub id: Uuid,
    pub requester: Uuid,
    pub comments: Option<String>,
    pub hold_requests: Vec<HoldRequest>,
}

/// One item, and its pickup service point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldRequest {
    pub item: Uuid,
    pub pickup: Uuid,
}

static SHAPE: LazyLock<Shape> = LazyLock::new(|| {
    Shape::parse(
        "batchRequestId:string(uuid)
         requests:array<object>*
         requests[].itemId:string(uuid)*
         requests[].pickUpLocationId:string(uuid)*
         patronComments:string",
        true,
    )
});
const LONGEST_COMMENTS: usize = 1000;

impl Batch {
    /// Parses a body; a batch without an id gets this one.
    pub fn read(mut body: Map<String, Value>, requester: Uuid, id: Uuid) -> Result<Batch, Failure> {
        let mut refusals = SHAPE.check(&mut body);
        let comments = body.get("patronComments").and_then(Value::as_str).map(str::to_owned);
        if comments.as_ref().is_some_and(|comments| comments.chars().count() > LONGEST_COMMENTS) {
            let request = format!("size must be between 0 and {LONGEST_COMMENTS}");
            refusals.push(
                Refusal::new(request)
                    .with("patronComments", comments.clone().unwrap_or_default())
                    .of_storage(),
            );
        }
        if !refusals.is_empty() {
            return Err(Failure::Refused(refusals));
        }
        let id_at = |value: &Value| value.as_str().and_then(|text| Uuid::parse_str(text).ok());
        let requests = body.get("requests").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let hold_requests = requests.iter().filter_map(|request| {
            Some(HoldRequest {
                item: id_at(&request["itemId"])?,
                pickup: id_at(&request["pickUpLocationId"])?,
            })
        });
        Ok(Batch {
            id: body.get("batchRequestId").and_then(id_at).unwrap_or(id),
            requester,
            comments,
            hold_requests: hold_requests.collect(),
        })
    }

    /// Refuses an item that occurs twice, and more items than the library allows.
    pub fn refuse(&self, most: i64) -> Option<Refusal> {
        let once: BTreeSet<Uuid> = self.hold_requests.iter().map(|hold_request| hold_request.item).collect();
        if once.len() < self.hold_requests.len() {
            return Some(
                Refusal::new("Mediated Batch Request contains duplicate item IDs.")
                    .code(RefusalCode::BatchHasDuplicateItems),
            );
        }
        (self.hold_requests.len() as i64 > most).then(|| {
            Refusal::new("The maximum number of items per batch request has been exceeded.")
                .with("requestedItemsCount", self.hold_requests.len().to_string())
                .with("maxAllowedItems", most.to_string())
                .code(RefusalCode::BatchIsTooLarge)
        })
    }

    /// A batch with the id exists already.
    pub fn known_already(&self) -> Refusal {
        Refusal::new("Mediated batch request with the given 'id' already exists.")
            .with("batchId", self.id.to_string())
            .code(RefusalCode::BatchExists)
    }
}

/// The stored document of a batch, without its lines.
pub fn document(caller: &Caller, now: Timestamp, comments: Option<&str>) -> Value {
    let metadata = metadata::created(caller.user_id, now);
    let mut document = json!({"requestDate": time::format(now), "metadata": metadata});
    if let Some(comments) = comments {
        document["patronComments"] = comments.into();
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    const READER: Uuid = Uuid::from_u128(1);

    fn batch(items: &[u128]) -> Batch {
        let requests: Vec<Value> = items
            .iter()
            .map(|item| json!({"itemId": Uuid::from_u128(*item), "pickUpLocationId": Uuid::from_u128(9)}))
            .collect();
        let body = json!({"requests": requests}).as_object().expect("an object").clone();
        Batch::read(body, READER, Uuid::from_u128(7)).expect("a batch")
    }

    #[test]
    fn an_item_is_asked_for_once_and_not_too_many_of_them() {
        let code = |batch: &Batch, most| batch.refuse(most).and_then(|refusal| refusal.code);
        assert_eq!(code(&batch(&[2, 3]), 2), None);
        assert_eq!(code(&batch(&[2, 3, 2]), 2), Some(RefusalCode::BatchHasDuplicateItems));
        assert_eq!(code(&batch(&[2, 3, 4]), 2), Some(RefusalCode::BatchIsTooLarge));
        assert_eq!(batch(&[]).refuse(2), None);
    }

    #[test]
    fn comments_are_short() {
        let body = |length: usize| {
            json!({"requests": [], "patronComments": "x".repeat(length)})
                .as_object()
                .expect("an object")
                .clone()
        };
        assert!(Batch::read(body(1000), READER, READER).is_ok());
        let Err(Failure::Refused(refusals)) = Batch::read(body(1001), READER, READER) else {
            unreachable!("a refusal was expected")
        };
        assert_eq!(refusals[0].message, "size must be between 0 and 1000");
    }
}
