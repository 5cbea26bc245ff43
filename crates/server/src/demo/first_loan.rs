//! The first loan: an item from the shelf goes to a patron and comes back, by the API that desks use.

use super::api::Api;
use super::ids::{CAN_CIRCULATE, CIRC_DESK_1};
use http::Method;
use serde_json::{Value, json};
use std::time::Instant;

/// Checks one available item out and in, and tells what happened, a line for each step.
pub async fn first_loan(api: &mut Api) -> Result<Vec<String>, String> {
    let items = format!(
        "/item-storage/items?limit=1&query=permanentLoanTypeId=={CAN_CIRCULATE}%20and%20status.name==Available"
    );
    let users = "/users?limit=1&query=active==true%20and%20barcode=2900000*%20sortBy%20barcode";
    let item = first(api, &items, "/items/0/barcode").await?;
    let user = first(api, users, "/users/0/barcode").await?;
    let (Some(item), Some(user)) = (item, user) else {
        return Ok(vec!["No item is on the shelf, so none was checked out.".into()]);
    };
    let order = json!({"itemBarcode": item, "userBarcode": user, "servicePointId": CIRC_DESK_1});
    let started = Instant::now();
    let answer = api.call(Method::POST, "/circulation/check-out-by-barcode", &order).await?;
    let took = started.elapsed();
    if answer.status.as_u16() != 201 {
        return Ok(vec![format!("Item {item} could not be checked out: {}", answer.brief())]);
    }
    let loan: Value = answer.json().map_err(|error| error.to_string())?;
    let text = |pointer: &str| loan.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
    let mut lines = vec![format!(
        "Checked out '{}' (item {item}) to {} {}, due on {}, in {:.1} ms.",
        text("/item/title"),
        text("/borrower/firstName"),
        text("/borrower/lastName"),
        text("/dueDate").get(..10).unwrap_or("an unknown day"),
        took.as_secs_f64() * 1000.0
    )];
    let order = json!({"itemBarcode": item, "servicePointId": CIRC_DESK_1,
                       "checkInDate": carrel_records::time::format(jiff::Timestamp::now())});
    let started = Instant::now();
    let answer = api.call(Method::POST, "/circulation/check-in-by-barcode", &order).await?;
    let took = started.elapsed();
    lines.push(match answer.status.as_u16() {
        200 => {
            let back: Value = answer.json().map_err(|error| error.to_string())?;
            format!(
                "Checked it in: it is {} again, in {:.1} ms.",
                back.pointer("/item/status/name").and_then(Value::as_str).unwrap_or("here"),
                took.as_secs_f64() * 1000.0
            )
        }
        _ => format!("It could not be checked in: {}", answer.brief()),
    });
    Ok(lines)
}

async fn first(api: &mut Api, target: &str, pointer: &str) -> Result<Option<String>, String> {
    let page = api.find(target).await?.unwrap_or_default();
    Ok(page.pointer(pointer).and_then(Value::as_str).map(str::to_owned))
}
