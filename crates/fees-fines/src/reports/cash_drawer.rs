//! Cash drawer reconciliation: the payments taken at a service point.

use super::MOST_ROWS;
use super::format::{Format, patron_info, staff_info};
use super::request::{Period, bind, refuse_if_too_long, texts, unprocessable};
use super::totals::totals;
use carrel_platform::{Answer, Call, Json};
use carrel_records::shape::Shape;
use carrel_records::{Failure, Money};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

static REQUEST: LazyLock<Shape> = LazyLock::new(|| {
    Shape::parse("startDate:string*; endDate:string; createdAt:string(uuid)*; sources:array<string>", true)
});
static SOURCES_REQUEST: LazyLock<Shape> = LazyLock::new(|| Shape::parse("createdAt:string(uuid)*", true));

pub async fn report(call: Call) -> Result<Answer, Failure> {
    let body: Map<String, Value> = call.read_checked(&REQUEST)?;
    let period = match Period::read(&body) {
        Ok(period) => period,
        Err(text) => return Ok(unprocessable(text)),
    };
    let connection = call.tenant()?.reader().await?;
    let format = Format::load(&connection).await?;
    let (from, to) = period.bounds(&format);
    let created_at = body.get("createdAt").and_then(Value::as_str);
    let rows = connection
        .query(
            format!(
                "SELECT action.doc AS action, account.doc AS account
                 FROM feefineactions action LEFT JOIN accounts account ON account.id = action.account_id
                 WHERE action.doc->>'typeAction' IN ('Paid fully', 'Paid partially')
                   AND ($1::timestamptz IS NULL OR carrel.instant(action.doc->>'dateAction') >= $1)
                   AND ($2::timestamptz IS NULL OR carrel.instant(action.doc->>'dateAction') < $2)
                   AND ($3::text IS NULL OR action.doc->>'createdAt' = $3)
                   AND ($4::text[] IS NULL OR action.doc->>'source' = ANY($4))
                 ORDER BY account.doc->>'feeFineOwner', action.doc->>'source', action.doc->>'dateAction'
                 LIMIT {}",
                MOST_ROWS + 1
            ),
            vec![from.into(), to.into(), created_at.map(str::to_owned).into(), bind(texts(&body, "sources"))],
        )
        .await?;
    refuse_if_too_long(&rows)?;
    let payments: Vec<(Value, Value)> = rows
        .iter()
        .map(|row| {
            let account = row.get::<_, Option<Json>>("account");
            (row.get::<_, Json>("action").parse(), account.map(|json| json.parse()).unwrap_or_default())
        })
        .collect();
    let entries: Vec<Value> =
        payments.iter().map(|(action, account)| entry(action, account, &format)).collect();
    let sums = |name: &'static str, category: &dyn Fn(&(Value, Value)) -> Option<String>| -> Value {
        let named: Vec<(Option<String>, Money)> = payments
            .iter()
            .map(|payment| (category(payment), Money::read(&payment.0["amountAction"]).unwrap_or_default()))
            .collect();
        totals(named.iter().map(|(name, amount)| (name.as_deref(), *amount)), name)
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    // FOLIO quirk: a payment without account is counted under a hyphen.
    let of_account = |account: &Value, name: &str| match account {
        Value::Null => Some("-".to_owned()),
        account => text(&account[name]),
    };
    Ok(Answer::json(&json!({
        "reportData": entries,
        "reportStats": {
            "bySource": sums("Source totals", &|(action, _)| text(&action["source"])),
            "byPaymentMethod": sums("Payment method totals", &|(action, _)| text(&action["paymentMethod"])),
            "byFeeFineType": sums("Fee/fine type totals", &|(_, account)| of_account(account, "feeFineType")),
            "byFeeFineOwner": sums("Fee/fine owner totals", &|(_, account)| of_account(account, "feeFineOwner")),
        },
    })))
}

fn entry(action: &Value, account: &Value, format: &Format) -> Value {
    let mut entry = json!({
        "source": action["source"],
        "paymentMethod": action["paymentMethod"],
        "paidAmount": format.amount(Money::read(&action["amountAction"]).unwrap_or_default()),
        "feeFineOwner": account["feeFineOwner"],
        "feeFineType": account["feeFineType"],
        "paymentDate": format.date(&action["dateAction"]),
        "paymentStatus": action["typeAction"],
        "transactionInfo": action["transactionInformation"],
        "additionalStaffInfo": staff_info(action),
        "additionalPatronInfo": patron_info(action),
        "patronId": action["userId"],
        "feeFineId": action["accountId"],
    });
    if let Some(entry) = entry.as_object_mut() {
        entry.retain(|_, value| !value.is_null());
    }
    entry
}

/// The users who have accepted payments at a service point.
pub async fn sources(call: Call) -> Result<Answer, Failure> {
    let body: Map<String, Value> = call.read_checked(&SOURCES_REQUEST)?;
    let created_at = body.get("createdAt").and_then(Value::as_str).map(str::to_owned);
    let connection = call.tenant()?.reader().await?;
    let rows = connection
        .query(
            "SELECT DISTINCT action.doc->>'source' AS source FROM feefineactions action
             WHERE action.doc->>'typeAction' IN ('Paid fully', 'Paid partially')
               AND ($1::text IS NULL OR action.doc->>'createdAt' = $1) AND action.doc->>'source' IS NOT NULL
             ORDER BY 1",
            vec![created_at.into()],
        )
        .await?;
    let sources: Vec<String> = rows.iter().map(|row| row.get("source")).collect();
    Ok(Answer::json(&json!({"sources": sources})))
}
