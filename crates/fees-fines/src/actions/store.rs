//! Reads accounts and past actions for a decision, and stores the decision.

use super::{Account, AccountChange, ActionKind, ActionRequest, NewAction, PastAction};
use crate::loan_fees_closed::{self, LoanFeesClosed};
use crate::patron_notified::PatronNotified;
use crate::records::accounts::{ACCOUNT, FEEFINEACTION};
use crate::{events, log};
use carrel_audit::circulation_log::write_looking_up;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write;
use carrel_platform::{Call, Changes, Connection, Json, Pipeline, Tenant, Tx};
use carrel_records::{Failure, Money, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::HashMap;
use tokio_postgres::Row;
use uuid::Uuid;

const ACCOUNTS: &str = "SELECT doc FROM accounts WHERE id = ANY($1) ORDER BY id";

/// The requested accounts, in the order of the request; a missing one is reported with its id.
pub async fn find_accounts(
    connection: &Connection,
    request: &ActionRequest,
) -> Result<Vec<Account>, Failure> {
    let rows = connection.query(ACCOUNTS, vec![ids(request).into()]).await?;
    in_order_of(request, &rows)
}

/// [`find_accounts`], locked until the end of the transaction: actions on the same account wait for each other here.
pub async fn lock_accounts(tx: &mut Tx, request: &ActionRequest) -> Result<Vec<Account>, Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add(LOCK_ITEMS, vec![ids(request).into()]);
    let accounts = pipeline.add(format!("{ACCOUNTS} FOR NO KEY UPDATE"), vec![ids(request).into()]);
    let results = tx.send(pipeline).await?;
    in_order_of(request, results.rows(accounts))
}

/// Locks the items of accounts of loans. A settled fee may close the loan of a lost item. Every transaction locks the
/// item before it changes the item's fees, so this one does, too.
pub const LOCK_ITEMS: &str = "SELECT 1 FROM item_state WHERE item_id = ANY (ARRAY(SELECT accounts.item_id \
     FROM accounts WHERE accounts.id = ANY($1) AND accounts.loan_id IS NOT NULL)) \
     ORDER BY item_id FOR NO KEY UPDATE";

fn ids(request: &ActionRequest) -> Vec<Uuid> {
    request.accounts.iter().filter_map(|id| Uuid::parse_str(id).ok()).collect()
}

fn in_order_of(request: &ActionRequest, rows: &[Row]) -> Result<Vec<Account>, Failure> {
    let mut found: HashMap<Uuid, Account> = rows
        .iter()
        .filter_map(|row| Account::read(row.get::<_, Json>("doc").parse()))
        .map(|account| (account.id, account))
        .collect();
    request
        .accounts
        .iter()
        .map(|id| Uuid::parse_str(id).ok().and_then(|id| found.remove(&id)))
        .zip(&request.accounts)
        .map(|(account, id)| account.ok_or_else(|| Failure::NotFound(format!("Fee/fine ID {id} not found"))))
        .collect()
}

/// The statement that reads payments, transfers and refunds of accounts.
pub const PAST_ACTIONS: &str = "SELECT account_id, doc->>'typeAction' AS result, doc->>'amountAction' AS amount, \
     doc->>'paymentMethod' AS payment_method, doc->>'transactionInformation' AS transaction_information, \
     coalesce(doc->>'dateAction', '') AS date \
     FROM feefineactions WHERE account_id = ANY($1) ORDER BY doc->>'dateAction', id";

/// Payments, transfers and refunds of the accounts, oldest first.
pub fn read_past_actions(rows: &[Row]) -> Vec<PastAction> {
    rows.iter()
        .filter_map(|row| {
            let kind = ActionKind::of_result(row.get::<_, Option<&str>>("result")?)?;
            let is_of_interest = matches!(kind, ActionKind::Pay | ActionKind::Transfer | ActionKind::Refund);
            let amount: Money = row.get::<_, Option<&str>>("amount")?.parse().ok()?;
            is_of_interest.then(|| PastAction {
                account: row.get("account_id"),
                kind,
                amount,
                payment_method: row.get("payment_method"),
                transaction_information: row.get("transaction_information"),
            })
        })
        .collect()
}

/// Stores the changes, the records of the action and the events, and commits; returns the records as they are stored.
///
/// Modules above hear of settled fees of loans, and of patrons to be notified, within the transaction.
pub async fn store(
    call: &Call,
    mut tx: Tx,
    request: &ActionRequest,
    accounts: &[Account],
    changes: &[AccountChange],
    actions: &[NewAction],
) -> Result<Vec<Value>, Failure> {
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    let written =
        write_actions(&mut pipeline, tenant, &call.caller, call.now, request, (accounts, changes, actions))?;
    let closed = LoanFeesClosed::of(&written.accounts);
    let mut changes =
        Changes { tenant, tx: &mut tx, pipeline: &mut pipeline, caller: &call.caller, now: call.now };
    loan_fees_closed::announce(&mut changes, closed).await?;
    let mut notified = PatronNotified::of(written.records.iter().filter(|_| request.notifies_patron));
    notified.announce(tenant, (&mut tx, &mut pipeline), &call.caller, call.now).await?;
    tx.send_and_commit(pipeline).await?;
    notified.committed(tenant);
    Ok(written.records)
}

/// The values that the statements of an action store.
pub struct Written {
    /// The records of the action.
    pub records: Vec<Value>,
    /// The changed accounts, after the change.
    pub accounts: Vec<Account>,
}

/// Adds the statements that store the changes, the records of the action and the events. The accounts are locked.
pub fn write_actions(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    caller: &Caller,
    now: Timestamp,
    request: &ActionRequest,
    (accounts, changes, actions): (&[Account], &[AccountChange], &[NewAction]),
) -> Result<Written, Failure> {
    let mut written = Written { records: Vec::with_capacity(actions.len()), accounts: Vec::new() };
    for action in actions {
        let Some(account) = accounts.iter().find(|account| account.id == action.account) else { continue };
        let ready = write::prepare_new(&FEEFINEACTION, document(now, request, account, action), caller, now)?;
        write::insert(pipeline, tenant, &FEEFINEACTION, &ready, now);
        if let Some(entry) = log::action(&account.document, &ready.document, false) {
            write_looking_up(pipeline, &entry, now);
        }
        written.records.push(Value::Object(ready.document));
    }
    for change in changes {
        let Some(account) = accounts.iter().find(|account| account.id == change.account) else { continue };
        let Value::Object(mut document) = account.document.clone() else { continue };
        document.insert("remaining".into(), change.remaining.to_json());
        set_name(&mut document, "status", if change.is_closed { "Closed" } else { "Open" });
        set_name(&mut document, "paymentStatus", &change.payment_status);
        // The stored document is not validated again: only these fields change.
        let stored = &account.document;
        let ready = write::complete_replacement(&ACCOUNT, account.id, document, stored, caller, now)?;
        write::update(pipeline, tenant, &ACCOUNT, &ready, stored, now);
        let changed = Value::Object(ready.document);
        events::balance_changed(pipeline, &changed, now);
        written.accounts.extend(Account::read(changed));
    }
    for closed in LoanFeesClosed::of(&written.accounts) {
        events::loan_related_fee_fine_closed(pipeline, closed.loan, now);
    }
    Ok(written)
}

fn set_name(document: &mut Map<String, Value>, property: &str, name: &str) {
    let inner = document.entry(property.to_owned()).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(inner) = inner {
        inner.insert("name".into(), name.into());
    }
}

fn document(
    now: Timestamp,
    request: &ActionRequest,
    account: &Account,
    action: &NewAction,
) -> Map<String, Value> {
    let mut document = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            document.insert(name.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
    put("dateAction", time::format(now).into());
    put("typeAction", action.result.as_str().into());
    put("comments", text(&request.comments));
    put("amountAction", action.amount.to_json());
    put("balance", action.balance.to_json());
    let information = action.transaction_information.as_ref().or(request.transaction_information.as_ref());
    put("transactionInformation", text(&information.cloned()));
    put("createdAt", text(&request.service_point));
    put("source", text(&request.user_name));
    put("paymentMethod", text(&request.payment_method));
    put("accountId", account.id.to_string().into());
    put("userId", account.user_id.map_or(Value::Null, |id| id.to_string().into()));
    // FOLIO quirk: the record of a cancellation does not contain whether the patron is notified.
    if ActionKind::of_result(&action.result).is_some_and(|kind| kind != ActionKind::Cancel) {
        put("notify", request.notifies_patron.into());
    }
    document
}
