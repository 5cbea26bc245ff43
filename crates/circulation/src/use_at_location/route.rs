//! Paths and answers of use at location.

use super::{UseAtLocationRequest, carry_out};
use carrel_platform::http::pretty;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};
use serde_json::{Value, json};

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/hold-by-barcode-for-use-at-location", |call| async move {
        let item_barcode =
            required_text(&call, "itemBarcode", "put item on hold shelf must have an item barcode")?;
        let command = UseAtLocationRequest::Hold { item_barcode };
        let (changed, settings) = carry_out(call.tenant()?, &command, call.caller.user_id, call.now).await?;
        let mut loan = Value::Object(changed.loan.document().clone());
        loan["item"] = changed.item.summary(&settings, &changed.item.status);
        Ok::<_, Failure>(Answer::json_bytes(pretty(&json!({"loan": loan}))))
    });
    router.on("POST", "/circulation/pickup-by-barcode-for-use-at-location", |call| async move {
        let command = UseAtLocationRequest::PickUp {
            item_barcode: required_text(
                &call,
                "itemBarcode",
                "pick up from hold shelf must have an item barcode",
            )?,
            user_barcode: required_text(
                &call,
                "userBarcode",
                "pick up from hold shelf must have a user barcode",
            )?,
        };
        let (changed, _) = carry_out(call.tenant()?, &command, call.caller.user_id, call.now).await?;
        let loan = Value::Object(changed.loan.document().clone());
        Ok::<_, Failure>(
            Answer::json_bytes(pretty(&loan)).location(format!("/circulation/loans/{}", changed.loan.id)),
        )
    });
}

fn required_text(call: &Call, key: &str, what: &str) -> Result<String, Failure> {
    let body = call.object()?;
    let text = body.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let missing = || Refusal::new(format!("Request to {what}")).with_null(key);
    Ok(text.ok_or_else(missing)?.to_owned())
}
