//! The decision about a whole loan that a client sends: refusals, or the changes of loan, item and queue.

mod new;
mod replacement;

pub use new::decide_new;
pub use replacement::decide_replacement;

use super::facts::Facts;
use crate::desk::{ItemAtDesk, is_valid_relation, queue};
use crate::document::text_at;
use crate::moved_request::MovedRequest;
use crate::settings::CirculationSettings;
use carrel_loan_rules::LoanStatus;
use carrel_records::{Failure, ItemStatus, Refusal, RefusalCode};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// The changes of the loan, its item and the item's queue.
#[derive(Debug, Clone)]
pub struct Decision {
    pub loan: Map<String, Value>,
    pub item_id: Uuid,
    /// The item's new status, if it changes.
    pub item_status: Option<ItemStatus>,
    /// The request that the new loan fulfills, and the new positions of those after it.
    pub fills: Option<Uuid>,
    pub moves_up: queue::Moves,
    /// The request that the returned item fulfills.
    pub moved: Option<MovedRequest>,
}

pub(super) fn refuse_for_status_and_desks(
    sent: &Map<String, Value>,
    settings: &CirculationSettings,
) -> Result<(), Failure> {
    let Some(status) = LoanStatus::of(sent) else {
        let refusal = Refusal::new("Loan status must be \"Open\" or \"Closed\"");
        return Err(refusal.with("status", text_at(sent, "status/name")).into());
    };
    if status == LoanStatus::Open && text_at(sent, "userId").is_empty() {
        return Err(Refusal::new("Open loan must have a user ID").with_null("userId").into());
    }
    for (key, words) in [
        ("checkinServicePointId", "Check In Service Point does not exist"),
        ("checkoutServicePointId", "Check Out Service Point does not exist"),
    ] {
        let id = text_at(sent, key);
        let known = Uuid::parse_str(id).is_ok_and(|id| settings.service_points.contains_key(&id));
        if !id.is_empty() && !known {
            return Err(Refusal::new(words).with(key, id).into());
        }
    }
    Ok(())
}

pub(super) fn known_item<'a>(facts: &'a Facts, sent: &Map<String, Value>) -> Result<&'a ItemAtDesk, Failure> {
    facts.item.as_ref().ok_or_else(|| {
        let id = text_at(sent, "itemId");
        Refusal::new(format!("No item with ID {id} could be found")).with("itemId", id).into()
    })
}

pub(super) fn refuse_for_proxy(
    facts: &Facts,
    sent: &Map<String, Value>,
    now: Timestamp,
) -> Result<(), Failure> {
    let proxy = text_at(sent, "proxyUserId");
    if proxy.is_empty() {
        return Ok(());
    }
    if proxy == text_at(sent, "userId") {
        return Err(Refusal::new("User cannot be proxy for themselves")
            .with("proxyUserId", proxy)
            .code(RefusalCode::UserCannotBeProxyForThemselves)
            .into());
    }
    if !facts.proxy_relations.iter().any(|relation| is_valid_relation(relation, now)) {
        return Err(Refusal::new("proxyUserId is not valid").with("proxyUserId", proxy).into());
    }
    Ok(())
}

pub(super) fn with_text(refusal: Refusal, key: &str, sent: &Map<String, Value>) -> Refusal {
    match text_at(sent, key) {
        "" => refusal.with_null(key),
        text => refusal.with(key, text),
    }
}

#[cfg(test)]
mod fixtures {
    use super::Facts;
    use crate::desk::ItemAtDesk;
    use crate::settings::CirculationSettings;
    use carrel_records::time;
    use jiff::Timestamp;
    use serde_json::{Map, Value, json};
    use uuid::Uuid;

    pub const DESK: Uuid = Uuid::from_u128(1);
    pub const BOOK: Uuid = Uuid::from_u128(4);
    pub const PATRON: Uuid = Uuid::from_u128(5);

    pub fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => unreachable!("{other} is an object"),
        }
    }

    pub fn library() -> CirculationSettings {
        let mut settings = CirculationSettings::blank();
        settings.service_points.insert(DESK, Default::default());
        settings
    }

    pub fn item(status: &str) -> Facts {
        let item = ItemAtDesk { id: BOOK, status: status.into(), ..ItemAtDesk::default() };
        Facts { item: Some(item), ..Facts::default() }
    }

    pub fn loan(status: &str, more: Value) -> Map<String, Value> {
        let mut loan = object(json!({"itemId": BOOK, "userId": PATRON, "status": {"name": status},
        "dueDate": "2024-05-20T10:00:00Z"}));
        loan.extend(object(more));
        loan
    }

    pub fn now() -> Timestamp {
        time::parse("2024-05-10T10:00:00Z").expect("a time")
    }
}
