//! Financial transactions in detail: every action on the fees/fines of an owner, with patron, item and loan.

use super::MOST_ROWS;
use super::format::{Format, amount_text, patron_info, patron_name, staff_info};
use super::request::{Period, bind, refuse_if_too_long, texts, unprocessable};
use super::totals::totals;
use crate::actions::ActionKind;
use carrel_platform::{Answer, Call, Connection, Json};
use carrel_records::shape::Shape;
use carrel_records::{Failure, Money};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::LazyLock;
use tokio_postgres::Row;
use uuid::Uuid;

/// The values of a loan in the report; loans belong to a dependent module.
#[derive(Debug, Clone, Default)]
pub struct LoanDetails {
    pub loan: Value,
    pub loan_policy_name: Option<String>,
}

type LoansFuture<'a> = Pin<Box<dyn Future<Output = Result<HashMap<Uuid, LoanDetails>, Failure>> + Send + 'a>>;

/// Finds loans by their ids.
pub type FindLoans = for<'a> fn(&'a Connection, Vec<Uuid>) -> LoansFuture<'a>;

static REQUEST: LazyLock<Shape> = LazyLock::new(|| {
    let shape =
        "feeFineOwner:string(uuid)*; createdAt:array<string>(uuid); startDate:string*; endDate:string";
    Shape::parse(shape, true)
});

/// Answers the report.
pub async fn report(call: Call, find_loans: FindLoans) -> Result<Answer, Failure> {
    let body: Map<String, Value> = call.read_checked(&REQUEST)?;
    let period = match Period::read(&body) {
        Ok(period) => period,
        Err(text) => return Ok(unprocessable(text)),
    };
    let connection = call.tenant()?.reader().await?;
    let format = Format::load(&connection).await?;
    let (from, to) = period.bounds(&format);
    let owner = body.get("feeFineOwner").and_then(Value::as_str).map(str::to_owned);
    let rows = connection
        .query(
            format!("{TRANSACTIONS} LIMIT {}", MOST_ROWS + 1),
            vec![from.into(), to.into(), owner.into(), bind(texts(&body, "createdAt"))],
        )
        .await?;
    refuse_if_too_long(&rows)?;
    let transactions: Vec<Transaction> = rows.iter().map(Transaction::read).collect();
    let loan_id = |account: &Value| account["loanId"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    let mut ids: Vec<Uuid> = transactions.iter().filter_map(|it| loan_id(&it.account)).collect();
    ids.sort_unstable();
    ids.dedup();
    let loans = if ids.is_empty() { HashMap::new() } else { find_loans(&connection, ids).await? };
    let entries: Vec<Value> = transactions
        .iter()
        .zip(&rows)
        .map(|(transaction, row)| {
            let loan = loan_id(&transaction.account).and_then(|id| loans.get(&id));
            entry(transaction, row, loan, &format)
        })
        .collect();
    Ok(Answer::json(&json!({"reportData": entries, "reportStats": stats(&transactions)})))
}

const TRANSACTIONS: &str = "SELECT action.doc AS action, account.doc AS account, users.doc AS patron,
         groups.doc->>'group' AS patron_group, item.doc AS item, instance.doc AS instance,
         item.holdings_record_id, location.doc->>'name' AS location,
         service_point.doc->>'name' AS created_at, charge.doc AS charge, charge.created_at AS charge_created_at,
         overdue_fine_policy.doc AS overdue_policy, lost_item_fee_policy.doc AS lost_policy
     FROM feefineactions action LEFT JOIN accounts account ON account.id = action.account_id
     LEFT JOIN users ON users.id = account.user_id LEFT JOIN groups ON groups.id = users.patron_group
     LEFT JOIN item ON item.id = account.item_id
     LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id
     LEFT JOIN instance ON instance.id = holdings_record.instance_id
     LEFT JOIN location ON location.id = item.effective_location_id
     LEFT JOIN service_point ON service_point.id::text = action.doc->>'createdAt'
     LEFT JOIN overdue_fine_policy ON overdue_fine_policy.id::text = account.doc->>'overdueFinePolicyId'
     LEFT JOIN lost_item_fee_policy ON lost_item_fee_policy.id::text = account.doc->>'lostItemFeePolicyId'
     LEFT JOIN LATERAL (
         SELECT first.doc, place.doc->>'name' AS created_at FROM feefineactions first
         LEFT JOIN service_point place ON place.id::text = first.doc->>'createdAt'
         WHERE first.account_id = account.id ORDER BY first.doc->>'dateAction', first.id LIMIT 1) charge ON true
     WHERE action.doc->>'typeAction' IN ('Paid fully', 'Paid partially', 'Waived fully', 'Waived partially',
           'Transferred fully', 'Transferred partially', 'Refunded fully', 'Refunded partially',
           'Cancelled as error', 'Staff info only')
       AND ($1::timestamptz IS NULL OR carrel.instant(action.doc->>'dateAction') >= $1)
       AND ($2::timestamptz IS NULL OR carrel.instant(action.doc->>'dateAction') < $2)
       AND ($3::text IS NULL OR account.doc->>'ownerId' = $3)
       AND ($4::text[] IS NULL OR action.doc->>'createdAt' = ANY($4))
     ORDER BY action.doc->>'dateAction', action.id";

struct Transaction {
    action: Value,
    account: Value,
    kind: Option<ActionKind>,
}

impl Transaction {
    fn read(row: &Row) -> Transaction {
        let action = row.get::<_, Json>("action").parse();
        let account = document(row, "account");
        let kind = action["typeAction"].as_str().and_then(ActionKind::of_result);
        Transaction { action, account, kind }
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Some(ActionKind::Pay) => "Payment",
            Some(ActionKind::Waive) => "Waive",
            Some(ActionKind::Refund) => "Refund",
            Some(ActionKind::Transfer) => "Transfer",
            Some(ActionKind::Cancel) => "Cancelled",
            Some(ActionKind::Credit) | None => "Staff info only",
        }
    }

    /// The method of payment, the reason or the account, if the action is of this kind.
    fn method(&self, kind: ActionKind) -> Option<&str> {
        if self.kind == Some(kind) { self.action["paymentMethod"].as_str() } else { Some("") }
    }
}

fn document(row: &Row, name: &str) -> Value {
    row.get::<_, Option<Json>>(name).map(|json| json.parse()).unwrap_or_default()
}

fn entry(transaction: &Transaction, row: &Row, loan: Option<&LoanDetails>, format: &Format) -> Value {
    let Transaction { action, account, .. } = transaction;
    let text = |name: &str| row.get::<_, Option<String>>(name).unwrap_or_default();
    let mut entry = json!({
        "action": transaction.name(),
        "actionAmount": amount_text(&action["amountAction"]),
        "actionDate": format.date(&action["dateAction"]),
        "actionCreatedAt": text("created_at"),
        "actionSource": action["source"],
        "actionStatus": action["typeAction"],
        "actionAdditionalStaffInfo": staff_info(action),
        "actionAdditionalPatronInfo": patron_info(action),
        "paymentMethod": transaction.method(ActionKind::Pay),
        "transactionInfo": action["transactionInformation"],
        "waiveReason": transaction.method(ActionKind::Waive),
        "refundReason": transaction.method(ActionKind::Refund),
        "transferAccount": transaction.method(ActionKind::Transfer),
    });
    if !account.is_null() {
        add(
            &mut entry,
            json!({
                "feeFineOwner": account["feeFineOwner"],
                "feeFineType": account["feeFineType"],
                "billedAmount": amount_text(&account["amount"]),
                "feeFineId": account["id"],
                "patronId": account["userId"],
                "dueDate": format.date(&account["dueDate"]),
                "returnDate": format.date(&account["returnedDate"]),
            }),
        );
        let patron = document(row, "patron");
        if !patron.is_null() {
            add(
                &mut entry,
                json!({
                    "patronName": patron_name(&patron),
                    "patronBarcode": patron["barcode"],
                    "patronEmail": patron["personal"]["email"],
                    "patronGroup": row.get::<_, Option<String>>("patron_group"),
                }),
            );
        }
        add_item(&mut entry, row);
        let charge = document(row, "charge");
        if !charge.is_null() {
            add(
                &mut entry,
                json!({
                    "dateBilled": format.date(&charge["dateAction"]),
                    "feeFineCreatedAt": text("charge_created_at"),
                    "feeFineSource": charge["source"],
                }),
            );
        }
        if let Some(LoanDetails { loan, loan_policy_name }) = loan {
            let (overdue, lost) = (document(row, "overdue_policy"), document(row, "lost_policy"));
            add(
                &mut entry,
                json!({
                    "loanId": loan["id"],
                    "loanDate": format.date(&loan["loanDate"]),
                    "loanPolicyId": loan["loanPolicyId"],
                    "loanPolicyName": loan_policy_name,
                    "overdueFinePolicyId": overdue["id"],
                    "overdueFinePolicyName": overdue["name"],
                    "lostItemPolicyId": lost["id"],
                    "lostItemPolicyName": lost["name"],
                }),
            );
        }
    }
    if let Some(entry) = entry.as_object_mut() {
        entry.retain(|_, value| !value.is_null());
    }
    entry
}

fn add_item(entry: &mut Value, row: &Row) {
    let (item, instance) = (document(row, "item"), document(row, "instance"));
    if item.is_null() {
        return;
    }
    let contributors: Vec<&str> = instance["contributors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|contributor| contributor["name"].as_str())
        .collect();
    add(
        entry,
        json!({
            "itemId": item["id"],
            "itemBarcode": item["barcode"],
            "callNumber": item["effectiveCallNumberComponents"]["callNumber"],
            "holdingsRecordId": row.get::<_, Option<Uuid>>("holdings_record_id"),
            "instanceId": instance["id"],
            "instance": instance["title"],
            "contributors": contributors.join(", "),
            "effectiveLocation": row.get::<_, Option<String>>("location"),
        }),
    );
}

fn add(entry: &mut Value, more: Value) {
    if let (Some(entry), Value::Object(more)) = (entry.as_object_mut(), more) {
        entry.extend(more);
    }
}

fn stats(transactions: &[Transaction]) -> Value {
    let sums = |name: &str, category: &dyn Fn(&Transaction) -> Option<String>| -> Value {
        let named: Vec<(Option<String>, Money)> = transactions
            .iter()
            .map(|transaction| {
                let amount = Money::read(&transaction.action["amountAction"]).unwrap_or_default();
                (category(transaction).filter(|name| !name.is_empty()), amount)
            })
            .collect();
        totals(named.iter().map(|(name, amount)| (name.as_deref(), *amount)), name)
    };
    let of_account = |transaction: &Transaction, name: &str| match &transaction.account {
        Value::Null => Some("-".to_owned()),
        account => account[name].as_str().map(str::to_owned),
    };
    let method = |kind: ActionKind| move |it: &Transaction| it.method(kind).map(str::to_owned);
    json!({
        "byFeeFineOwner": sums("Fee/fine owner totals", &|it| of_account(it, "feeFineOwner")),
        "byFeeFineType": sums("Fee/fine type totals", &|it| of_account(it, "feeFineType")),
        "byAction": sums("Action totals", &|it| Some(it.name().to_owned())),
        "byPaymentMethod": sums("Payment method totals", &method(ActionKind::Pay)),
        "byWaiveReason": sums("Waive reason totals", &method(ActionKind::Waive)),
        "byRefundReason": sums("Refund reason totals", &method(ActionKind::Refund)),
        "byTransferAccount": sums("Transfer account totals", &method(ActionKind::Transfer)),
    })
}
