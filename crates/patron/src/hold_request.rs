//! The body for placing or cancelling a hold.

use carrel_loan_rules::request::RequestStatus;
use carrel_records::shape::Shape;
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// A hold as sent by a discovery system.
#[derive(Debug, Clone)]
pub struct HoldRequest(Map<String, Value>);

static SHAPE: LazyLock<Shape> = LazyLock::new(|| {
    Shape::parse(
        "requestId:string
         item:object(open)
         item.instanceId:string(uuid)*
         requestDate:string(date-time)*
         expirationDate:string(date-time)
         status:string(enum=Open - Not yet filled|Open - Awaiting pickup|Open - Awaiting delivery|\
            Open - In transit|New - Awaiting confirmation|Closed - Filled|Closed - Cancelled|Closed - Unfilled|\
            Closed - Pickup expired)
         pickupLocationId:string(uuid)*
         queuePosition:integer
         cancellationReasonId:string(uuid)
         canceledByUserId:string(uuid)
         cancellationAdditionalInformation:string
         canceledDate:string(date-time)
         patronComments:string",
        false,
    )
});

impl HoldRequest {
    pub fn read(mut body: Map<String, Value>) -> Result<HoldRequest, Failure> {
        let refusals = SHAPE.check(&mut body);
        if refusals.is_empty() { Ok(HoldRequest(body)) } else { Err(Failure::Refused(refusals)) }
    }

    fn at(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// The request without requester, item and instance.
    pub fn request(&self) -> Map<String, Value> {
        let mut request = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                request.insert(key.to_owned(), value);
            }
        };
        put("requestDate", self.date("requestDate"));
        put("requestExpirationDate", self.date("expirationDate"));
        put("pickupServicePointId", self.at("pickupLocationId").cloned());
        put("patronComments", self.at("patronComments").cloned());
        request
    }

    fn date(&self, key: &str) -> Option<Value> {
        let instant = self.at(key)?.as_str().and_then(time::parse)?;
        Some(in_zulu_time(instant).into())
    }

    /// Writes the cancellation into a request.
    pub fn cancel(&self, request: &mut Map<String, Value>, now: Timestamp) {
        for (key, sent) in [
            ("cancellationAdditionalInformation", "cancellationAdditionalInformation"),
            ("cancellationReasonId", "cancellationReasonId"),
            ("cancelledByUserId", "canceledByUserId"),
        ] {
            match self.at(sent) {
                Some(value) => request.insert(key.into(), value.clone()),
                None => request.remove(key),
            };
        }
        let date = self.at("canceledDate").and_then(Value::as_str).and_then(time::parse).unwrap_or(now);
        request.insert("cancelledDate".into(), time::format(date).into());
        request.insert("status".into(), RequestStatus::Cancelled.into());
    }
}

fn in_zulu_time(instant: Timestamp) -> String {
    time::format(instant).replace("+00:00", "Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(value: Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn a_request_says_when_and_where() {
        let Err(Failure::Refused(refusals)) = HoldRequest::read(body(json!({"patronComments": "soon"})))
        else {
            unreachable!("a refusal was expected")
        };
        let keys: Vec<&str> = refusals.iter().map(|refusal| refusal.parameters[0].0.as_str()).collect();
        assert_eq!(keys, ["pickupLocationId", "requestDate"]);
    }

    #[test]
    fn dates_become_universal_time() {
        let desk = "3a40852d-49fd-4df2-a1f9-6e2641a6e91f";
        let hold_request = HoldRequest::read(body(
            json!({"pickupLocationId": desk, "requestDate": "2024-05-01T10:00:00+02:00",
            "expirationDate": "2024-06-01", "patronComments": "soon", "own": 1}),
        ))
        .expect("a hold body");
        assert_eq!(
            Value::Object(hold_request.request()),
            json!({"requestDate": "2024-05-01T08:00:00.000Z", "requestExpirationDate": "2024-06-01T00:00:00.000Z",
                "pickupServicePointId": desk, "patronComments": "soon"})
        );
    }

    #[test]
    fn a_cancellation_without_a_date_is_of_now() {
        let desk = "3a40852d-49fd-4df2-a1f9-6e2641a6e91f";
        let hold_request =
            HoldRequest::read(body(json!({"pickupLocationId": desk, "requestDate": "2024-05-01T10:00:00Z",
            "cancellationAdditionalInformation": "bought it"})))
            .expect("a hold body");
        let mut request = body(json!({"status": "Open - Not yet filled", "own": 1}));
        hold_request.cancel(&mut request, time::parse("2024-05-02").expect("a day"));
        assert_eq!(
            Value::Object(request),
            json!({"status": "Closed - Cancelled", "own": 1, "cancellationAdditionalInformation": "bought it",
                "cancelledDate": "2024-05-02T00:00:00.000+00:00"})
        );
    }
}
