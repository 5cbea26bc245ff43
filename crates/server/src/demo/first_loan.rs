//! The first loan: an item is checked out, renewed and checked in, by the API of the desks.

use super::api::Api;
use super::ids::{CAN_CIRCULATE, CIRC_DESK_1};
use http::Method;
use serde_json::{Value, json};
use std::time::Instant;
use uuid::Uuid;

/// Name and id of the service point for the first steps.
pub const SERVICE_POINT: (&str, Uuid) = ("Circ Desk 1", CIRC_DESK_1);

/// Checks one available item out, renews the loan and checks the item in; returns a line for each step.
pub async fn first_loan(api: &mut Api) -> Result<Vec<String>, String> {
    let items = format!(
        "/item-storage/items?limit=1&query=permanentLoanTypeId=={CAN_CIRCULATE}%20and%20status.name==Available%20sortBy%20barcode"
    );
    let users = "/users?limit=1&query=active==true%20and%20barcode=2900000*%20sortBy%20barcode";
    let item = first(api, &items, "/items/0/barcode").await?;
    let user = first(api, users, "/users/0/barcode").await?;
    let (Some(item), Some(user)) = (item, user) else {
        return Ok(vec!["No item is available, so none was checked out.".into()]);
    };
    let (desk, id) = SERVICE_POINT;
    let mut lines = Vec::new();

    let request = json!({"itemBarcode": item, "userBarcode": user, "servicePointId": id});
    match step(api, "/circulation/check-out-by-barcode", &request).await? {
        Err(refusal) => return Ok(vec![format!("Item {item} could not be checked out: {refusal}")]),
        Ok((loan, milliseconds)) => lines.push(format!(
            "Checked out '{}' (item {item}) at {desk} to {} {} (patron {user}), due on {}, in {milliseconds:.1} ms.",
            text(&loan, "/item/title"),
            text(&loan, "/borrower/firstName"),
            text(&loan, "/borrower/lastName"),
            day(&loan),
        )),
    }
    let request = json!({"itemBarcode": item, "userBarcode": user});
    lines.push(match step(api, "/circulation/renew-by-barcode", &request).await? {
        Ok((loan, milliseconds)) => format!("Renewed it: due on {}, in {milliseconds:.1} ms.", day(&loan)),
        Err(refusal) => format!("It could not be renewed: {refusal}"),
    });
    let request = json!({"itemBarcode": item, "servicePointId": id,
                         "checkInDate": carrel_records::time::format(jiff::Timestamp::now())});
    lines.push(match step(api, "/circulation/check-in-by-barcode", &request).await? {
        Ok((answer, milliseconds)) => {
            format!(
                "Checked it in: its status is {}, in {milliseconds:.1} ms.",
                text(&answer, "/item/status/name")
            )
        }
        Err(refusal) => format!("It could not be checked in: {refusal}"),
    });
    Ok(lines)
}

/// One request of a desk: the answer and its time in milliseconds, or the refusal.
async fn step(api: &mut Api, path: &str, request: &Value) -> Result<Result<(Value, f64), String>, String> {
    let started = Instant::now();
    let answer = api.call(Method::POST, path, request).await?;
    let milliseconds = started.elapsed().as_secs_f64() * 1000.0;
    if !answer.status.is_success() {
        return Ok(Err(answer.brief()));
    }
    Ok(Ok((answer.json().map_err(|error| error.to_string())?, milliseconds)))
}

fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn day(loan: &Value) -> &str {
    text(loan, "/dueDate").get(..10).unwrap_or("an unknown day")
}

async fn first(api: &mut Api, target: &str, pointer: &str) -> Result<Option<String>, String> {
    let page = api.find(target).await?.unwrap_or_default();
    Ok(page.pointer(pointer).and_then(Value::as_str).map(str::to_owned))
}
