//! The documents of a charge.

use carrel_records::{Money, metadata, time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// A charge by the system, such as an overdue fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    pub user: Uuid,
    pub amount: Money,
    /// Id and name of the type.
    pub fee_fine_type: (Uuid, String),
    /// Id and name of the owner.
    pub owner: (Uuid, String),
    pub loan: Option<Uuid>,
    pub item: Option<ChargedItem>,
    /// Where it happened.
    pub service_point: Option<Uuid>,
    pub charged_by: ChargedBy,
    /// Remark in the record of the charge.
    pub comments: Option<String>,
    /// Whether the patron is notified.
    pub notifies_patron: bool,
    /// More properties of the account: due date, date of return, policies.
    pub more: Map<String, Value>,
}

/// The source in the record of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargedBy {
    /// A member of staff, by name.
    Staff(Uuid),
    /// A background job: `System`.
    System,
}

/// The item's values in an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargedItem {
    pub id: Uuid,
    pub title: String,
    pub barcode: Option<String>,
    pub call_number: Option<String>,
    pub location: Option<String>,
    pub material_type: Option<(Uuid, String)>,
    pub contributors: Vec<String>,
}

impl Charge {
    /// The account, with the whole amount as balance.
    pub fn account(&self, id: Uuid, by: Option<Uuid>, now: Timestamp) -> Map<String, Value> {
        let mut account = self.more.clone();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                account.insert(name.to_owned(), value);
            }
        };
        put("id", json!(id));
        put("userId", json!(self.user));
        put("amount", self.amount.to_json());
        put("remaining", self.amount.to_json());
        put("status", json!({"name": "Open"}));
        put("paymentStatus", json!({"name": "Outstanding"}));
        put("feeFineId", json!(self.fee_fine_type.0));
        put("feeFineType", json!(self.fee_fine_type.1));
        put("ownerId", json!(self.owner.0));
        put("feeFineOwner", json!(self.owner.1));
        put("loanId", json!(self.loan));
        put("dateCreated", time::format(now).into());
        if let Some(item) = &self.item {
            put("itemId", json!(item.id));
            put("title", json!(item.title));
            put("barcode", json!(item.barcode));
            put("callNumber", json!(item.call_number));
            put("location", json!(item.location));
            if let Some((id, name)) = &item.material_type {
                put("materialTypeId", json!(id));
                put("materialType", json!(name));
            }
        }
        let contributors = self.item.iter().flat_map(|item| &item.contributors);
        let contributors: Vec<Value> = contributors.map(|name| json!({"name": name})).collect();
        put("contributors", contributors.into());
        put("metadata", metadata::created(by, now));
        account
    }

    /// The record of the charge, whose type is the type of the fee/fine; it does not yet contain the name of a member
    /// of staff.
    pub(super) fn action(&self, id: Uuid, account: Uuid, now: Timestamp) -> Map<String, Value> {
        let mut action = Map::new();
        action.insert("id".into(), json!(id));
        action.insert("accountId".into(), json!(account));
        action.insert("userId".into(), json!(self.user));
        action.insert("typeAction".into(), json!(self.fee_fine_type.1));
        action.insert("dateAction".into(), time::format(now).into());
        action.insert("amountAction".into(), self.amount.to_json());
        action.insert("balance".into(), self.amount.to_json());
        action.insert("notify".into(), self.notifies_patron.into());
        action.insert("transactionInformation".into(), "-".into());
        if let Some(service_point) = self.service_point {
            action.insert("createdAt".into(), json!(service_point));
        }
        if self.charged_by == ChargedBy::System {
            action.insert("source".into(), "System".into());
        }
        if let Some(comments) = &self.comments {
            action.insert("comments".into(), json!(comments));
        }
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_owed_whole_and_its_record_says_so() {
        let charge = Charge {
            user: Uuid::from_u128(1),
            amount: Money::of_cents(250),
            fee_fine_type: (Uuid::from_u128(2), "Overdue fine".into()),
            owner: (Uuid::from_u128(3), "Main desk".into()),
            loan: None,
            item: None,
            service_point: None,
            charged_by: ChargedBy::System,
            comments: None,
            notifies_patron: false,
            more: Map::new(),
        };
        let now = time::parse("2026-05-01T10:00:00Z").expect("a time");
        let id = Uuid::from_u128(4);
        let (account, action) = (charge.account(id, None, now), charge.action(Uuid::from_u128(5), id, now));
        assert_eq!((&account["amount"], &account["remaining"]), (&json!(2.5), &json!(2.5)));
        assert_eq!((&action["amountAction"], &action["balance"]), (&json!(2.5), &json!(2.5)));
        assert_eq!(action["typeAction"], "Overdue fine");
        assert_eq!(action["source"], "System");
        assert_eq!((&account["id"], &account["contributors"]), (&action["accountId"], &json!([])));
    }
}
