//! Refunds of a period, each with earlier payments and transfers.

use super::MOST_ROWS;
use super::format::{Format, amount_text, patron_info, patron_name, staff_info};
use super::request::{Period, bind, refuse_if_too_long, texts, unprocessable};
use crate::actions::{ActionKind, PAST_ACTIONS, PastAction, read_past_actions};
use carrel_platform::{Answer, Call, Json};
use carrel_records::shape::Shape;
use carrel_records::{Failure, Money};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;
use tokio_postgres::Row;
use uuid::Uuid;

static REQUEST: LazyLock<Shape> = LazyLock::new(|| {
    Shape::parse("startDate:string; endDate:string; feeFineOwners:array<string>(uuid)", true)
});

pub async fn report(call: Call) -> Result<Answer, Failure> {
    let body: Map<String, Value> = call.read_checked(&REQUEST)?;
    let period = match Period::read(&body) {
        Ok(period) if period.has_end_only() => {
            return Ok(unprocessable("Start date should not be empty when end date is specified"));
        }
        Ok(period) => period,
        Err(text) => return Ok(unprocessable(text)),
    };
    let connection = call.tenant()?.reader().await?;
    let format = Format::load(&connection).await?;
    let (from, to) = period.bounds(&format);
    let rows = connection
        .query(
            format!(
                "SELECT action.doc AS action, action.account_id, account.doc AS account, users.doc AS patron,
                     groups.doc->>'group' AS patron_group, item.doc->>'barcode' AS barcode, item.id AS item_id,
                     instance.doc->>'title' AS title
                 FROM feefineactions action LEFT JOIN accounts account ON account.id = action.account_id
                 LEFT JOIN users ON users.id = account.user_id LEFT JOIN groups ON groups.id = users.patron_group
                 LEFT JOIN item ON item.id = account.item_id
                 LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id
                 LEFT JOIN instance ON instance.id = holdings_record.instance_id
                 WHERE action.doc->>'typeAction' IN ('Refunded fully', 'Refunded partially')
                   AND ($1::timestamptz IS NULL OR carrel.instant(action.doc->>'dateAction') >= $1)
                   AND ($2::timestamptz IS NULL OR carrel.instant(action.doc->>'dateAction') < $2)
                   AND ($3::text[] IS NULL OR account.doc->>'ownerId' = ANY($3))
                 ORDER BY action.doc->>'dateAction', action.id
                 LIMIT {}",
                MOST_ROWS + 1
            ),
            vec![from.into(), to.into(), bind(texts(&body, "feeFineOwners"))],
        )
        .await?;
    refuse_if_too_long(&rows)?;
    let accounts: BTreeSet<Uuid> = rows.iter().filter_map(|row| row.get("account_id")).collect();
    let past = connection.query(PAST_ACTIONS, vec![accounts.into_iter().collect::<Vec<_>>().into()]).await?;
    let dates: Vec<String> = past.iter().map(|row| row.get("date")).collect();
    let mut of_account: HashMap<Uuid, Vec<(String, PastAction)>> = HashMap::new();
    for (date, row) in dates.into_iter().zip(&past) {
        for action in read_past_actions(std::slice::from_ref(row)) {
            of_account.entry(action.account).or_default().push((date.clone(), action));
        }
    }
    let entries: Vec<Value> = rows.iter().map(|row| entry(row, &of_account, &format)).collect();
    Ok(Answer::json(&json!({"reportData": entries})))
}

fn entry(row: &Row, past: &HashMap<Uuid, Vec<(String, PastAction)>>, format: &Format) -> Value {
    let document = |name: &str| row.get::<_, Option<Json>>(name).map(|json| json.parse()).unwrap_or_default();
    let (action, account, patron) = (document("action"), document("account"), document("patron"));
    let text = |name: &str| row.get::<_, Option<String>>(name);
    let mut entry = json!({
        "patronId": action["userId"],
        "feeFineId": action["accountId"],
        "refundDate": format.date(&action["dateAction"]),
        "refundAmount": amount_text(&action["amountAction"]),
        "refundAction": action["typeAction"],
        "refundReason": action["paymentMethod"],
        "staffInfo": staff_info(&action),
        "patronInfo": patron_info(&action),
    });
    if !patron.is_null() {
        entry["patronName"] = patron_name(&patron).into();
        entry["patronBarcode"] = patron["barcode"].clone();
        entry["patronGroup"] = json!(text("patron_group"));
    }
    if !account.is_null() {
        entry["feeFineType"] = account["feeFineType"].clone();
        entry["billedAmount"] = amount_text(&account["amount"]);
        entry["dateBilled"] = format.date(&account["metadata"]["createdDate"]).into();
        entry["feeFineOwner"] = account["feeFineOwner"].clone();
    }
    if row.get::<_, Option<Uuid>>("item_id").is_some() {
        entry["itemBarcode"] = json!(text("barcode"));
        entry["instance"] = json!(text("title"));
    }
    let Some(entry) = entry.as_object_mut() else { return Value::Null };
    let refunded_on = action["dateAction"].as_str().unwrap_or_default();
    let before: Vec<&PastAction> = row
        .get::<_, Option<Uuid>>("account_id")
        .and_then(|account| past.get(&account))
        .into_iter()
        .flatten()
        .filter(|(date, _)| date.as_str() <= refunded_on)
        .map(|(_, action)| action)
        .collect();
    let information = action["transactionInformation"].as_str().unwrap_or_default();
    if information != "Refunded to Bursar" {
        add_payments(entry, &before);
    }
    if information != "Refunded to patron" {
        add_transfers(entry, &before);
    }
    entry.retain(|_, value| !value.is_null());
    Value::Object(std::mem::take(entry))
}

fn add_payments(entry: &mut Map<String, Value>, before: &[&PastAction]) {
    let payments = || before.iter().filter(|action| action.kind == ActionKind::Pay);
    let sum: Money = payments().map(|action| action.amount).sum();
    entry.insert("paidAmount".into(), sum.to_string().into());
    let methods = payments().map(|action| action.payment_method.as_deref());
    entry.insert("paymentMethod".into(), only_one(methods, "Multiple").into());
    let information = payments().map(|action| action.transaction_information.as_deref());
    entry.insert("transactionInfo".into(), only_one(information, "See Fee/fine details page").into());
}

fn add_transfers(entry: &mut Map<String, Value>, before: &[&PastAction]) {
    let transfers = || before.iter().filter(|action| action.kind == ActionKind::Transfer);
    let sum: Money = transfers().map(|action| action.amount).sum();
    entry.insert("transferredAmount".into(), sum.to_string().into());
    let accounts = transfers().map(|action| action.payment_method.as_deref());
    entry.insert("transferAccount".into(), only_one(accounts, "Multiple").into());
}

/// The only value; empty if there is none; a fixed text if there are several.
fn only_one<'a>(values: impl Iterator<Item = Option<&'a str>>, several: &str) -> String {
    let values: BTreeSet<&str> = values.map(Option::unwrap_or_default).collect();
    match values.len() {
        0 => String::new(),
        1 => values.into_iter().collect(),
        _ => several.to_owned(),
    }
}
