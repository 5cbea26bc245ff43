//! Answers of actions and of their checks.

use super::{ActionRequest, Refusal, Scope};
use carrel_platform::Answer;
use carrel_records::Money;
use http::StatusCode;
use serde_json::{Map, Value, json};

/// The answer of a check: what would remain, or why the action would be refused.
pub fn answer_check(request: &ActionRequest, checked: Result<(Money, Money), Refusal>) -> Answer {
    let mut body = named(request);
    body.insert("allowed".into(), checked.is_ok().into());
    match checked {
        Ok((requested, remaining)) => {
            // FOLIO quirk: for several accounts the amount is returned as it was sent.
            let amount = match request.scope {
                Scope::Single => requested.to_string(),
                Scope::Bulk => request.amount.clone().unwrap_or_default(),
            };
            body.insert("amount".into(), amount.into());
            body.insert("remainingAmount".into(), remaining.to_string().into());
            Answer::json(&body)
        }
        Err(refusal) => refused(request, body, refusal),
    }
}

/// The answer of an action: its records, or why it is refused.
///
/// `requested` is the amount; a cancellation has none. `remaining` is the balance of a single account afterwards.
pub fn answer_action(
    request: &ActionRequest,
    done: Result<(Option<Money>, Money, Vec<Value>), Refusal>,
) -> Answer {
    let mut body = named(request);
    match done {
        Ok((requested, remaining, actions)) => {
            if let Some(requested) = requested {
                body.insert("amount".into(), requested.to_string().into());
            }
            if request.scope == Scope::Single {
                body.insert("remainingAmount".into(), remaining.to_string().into());
            }
            body.insert("feefineactions".into(), actions.into());
            Answer::created(&body)
        }
        Err(refusal) => refused(request, body, refusal),
    }
}

fn named(request: &ActionRequest) -> Map<String, Value> {
    let mut body = Map::new();
    match request.scope {
        Scope::Single => body.insert("accountId".into(), json!(request.accounts.first())),
        Scope::Bulk => body.insert("accountIds".into(), json!(request.accounts)),
    };
    body
}

fn refused(request: &ActionRequest, mut body: Map<String, Value>, refusal: Refusal) -> Answer {
    if let Some(amount) = &request.amount {
        body.insert("amount".into(), amount.as_str().into());
    }
    body.insert("errorMessage".into(), refusal.into());
    Answer::json(&body).status(StatusCode::UNPROCESSABLE_ENTITY)
}
