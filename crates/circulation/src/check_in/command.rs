//! The request of a check-in: its fields and the refusals of incomplete ones.

use crate::desk::lenient_json;
use carrel_records::{Refusal, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// A check-in as the desk requests it.
#[derive(Debug, Clone)]
pub struct CheckInRequest {
    pub item_barcode: String,
    pub service_point: Uuid,
    /// When the item was returned; before now for items from a book drop that is emptied later.
    pub returned: Timestamp,
    pub session: Option<Uuid>,
    pub resolution: Option<Resolution>,
    /// The staff member at the desk.
    pub by: Uuid,
    /// The desk wants a refusal if staff must confirm something about the item first.
    pub refuses_unconfirmed: bool,
}

/// The resolution of a claim that the item was returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    FoundByLibrary,
    ReturnedByPatron,
}

impl Resolution {
    fn named(text: &str) -> Option<Resolution> {
        match text {
            "Found by library" => Some(Resolution::FoundByLibrary),
            "Returned by patron" => Some(Resolution::ReturnedByPatron),
            _ => None,
        }
    }
    /// The action of the loan.
    pub fn action(self) -> &'static str {
        match self {
            Resolution::FoundByLibrary => "checkedInFoundByLibrary",
            Resolution::ReturnedByPatron => "checkedInReturnedByPatron",
        }
    }
}

impl CheckInRequest {
    /// Reads the body; refuses the first field that is missing.
    pub fn read(body: &Map<String, Value>, by: Option<Uuid>) -> Result<CheckInRequest, Refusal> {
        let text = |key: &str| {
            lenient_json::text_of(body.get(key))
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        let missing =
            |what: &str, key: &str| Refusal::new(format!("Checkin request must have {what}")).with_null(key);
        let by = by.ok_or_else(|| Refusal::new("No logged-in user present").with_null("X-Okapi-User-Id"))?;
        let item_barcode = text("itemBarcode").ok_or_else(|| missing("an item barcode", "itemBarcode"))?;
        let service_point = text("servicePointId")
            .and_then(|id| Uuid::parse_str(&id).ok())
            .ok_or_else(|| missing("a service point id", "servicePointId"))?;
        let returned = text("checkInDate")
            .and_then(|date| time::parse(&date))
            .ok_or_else(|| missing("an check in date", "checkInDate"))?;
        let resolution = match body.get("claimedReturnedResolution").and_then(Value::as_str) {
            None => None,
            Some(text) => Some(Resolution::named(text).ok_or_else(|| {
                Refusal::new("Unrecognized value provided for property")
                    .with("claimedReturnedResolution", text)
            })?),
        };
        let session = text("sessionId").and_then(|id| Uuid::parse_str(&id).ok());
        let refuses_unconfirmed = false;
        Ok(CheckInRequest {
            item_barcode,
            service_point,
            returned,
            session,
            resolution,
            by,
            refuses_unconfirmed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(body: Value) -> String {
        let body = body.as_object().expect("an object").clone();
        CheckInRequest::read(&body, Some(Uuid::nil())).expect_err("something is missing").message
    }

    #[test]
    fn missing_fields_are_refused_in_desk_order() {
        let point = "4431826f-d634-497d-9151-d21404d2fbf3";
        let nobody = CheckInRequest::read(&Map::new(), None).expect_err("nobody is logged in");
        assert_eq!(nobody.message, "No logged-in user present");
        assert_eq!(refused(json!({})), "Checkin request must have an item barcode");
        assert_eq!(refused(json!({"itemBarcode": " "})), "Checkin request must have an item barcode");
        assert_eq!(refused(json!({"itemBarcode": "1"})), "Checkin request must have a service point id");
        assert_eq!(
            refused(json!({"itemBarcode": "1", "servicePointId": point})),
            "Checkin request must have an check in date"
        );
        let whole = json!({"itemBarcode": "1", "servicePointId": point, "checkInDate": "2024-05-01",
            "claimedReturnedResolution": "Lost again"});
        assert_eq!(refused(whole), "Unrecognized value provided for property");
        assert_eq!(refused(json!({"itemBarcode": 36000})), "Checkin request must have a service point id");
    }
}
