//! The request of an action.

use carrel_platform::Call;
use carrel_platform::record_store::write::Document;
use carrel_records::{Failure, Refusal};
use serde_json::Value;

/// Whether an action is for the account in the path or for several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `/accounts/{id}/…`
    Single,
    /// `/accounts-bulk/…`
    Bulk,
}

/// A requested action.
#[derive(Debug, Clone)]
pub struct ActionRequest {
    pub scope: Scope,
    /// Ids as they were sent, without duplicates.
    pub accounts: Vec<String>,
    pub amount: Option<String>,
    pub comments: Option<String>,
    pub transaction_information: Option<String>,
    pub service_point: Option<String>,
    /// The name of the user who acts, for display.
    pub user_name: Option<String>,
    pub payment_method: Option<String>,
    pub notifies_patron: bool,
    pub cancellation_reason: Option<String>,
}

impl ActionRequest {
    /// Parses the request; properties that a route does not use are ignored.
    pub fn read(call: &Call, scope: Scope) -> Result<ActionRequest, Failure> {
        let body = call.object()?;
        let text = |name: &str| text(&body, name);
        let accounts = match scope {
            Scope::Single => vec![call.parameter(0).to_owned()],
            Scope::Bulk => account_ids(&body)?,
        };
        Ok(ActionRequest {
            scope,
            accounts,
            amount: text("amount")?,
            comments: text("comments")?,
            transaction_information: text("transactionInfo")?,
            service_point: text("servicePointId")?,
            user_name: text("userName")?,
            payment_method: text("paymentMethod")?,
            notifies_patron: body.get("notifyPatron").and_then(Value::as_bool).unwrap_or(false),
            cancellation_reason: text("cancellationReason")?,
        })
    }
}

/// A text; numbers are accepted as texts, as in FOLIO's module.
fn text(body: &Document, name: &str) -> Result<Option<String>, Failure> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(Refusal::new("must be a string").with(name, other.to_string()).into()),
    }
}

fn account_ids(body: &Document) -> Result<Vec<String>, Failure> {
    let refusal = || Failure::from(Refusal::new("must be a list of ids").with_null("accountIds"));
    let ids = body.get("accountIds").and_then(Value::as_array).ok_or_else(refusal)?;
    let mut once = Vec::with_capacity(ids.len());
    let mut seen = std::collections::HashSet::new();
    for id in ids {
        let id = id.as_str().ok_or_else(refusal)?;
        if seen.insert(id) {
            once.push(id.to_owned());
        }
    }
    Ok(once)
}
