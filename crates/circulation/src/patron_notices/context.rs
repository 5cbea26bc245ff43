//! The values in templates, under FOLIO's token names. Pure.

use super::facts::{FeeFacts, LoanFacts, RequestFacts};
use crate::desk::{Patron, QueuedRequest, slip};
use crate::document::text_at;
use crate::settings::CirculationSettings;
use carrel_records::{Money, time};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// `item` and `loan`.
pub fn loan(facts: &LoanFacts, settings: &CirculationSettings) -> Value {
    let item = facts.item.as_ref().map(|item| slip::item(item, settings)).unwrap_or_default();
    json!({"item": item, "loan": loan_values(facts, settings)})
}

/// The context of one loan for its patron.
pub fn of_loan(facts: &LoanFacts, settings: &CirculationSettings) -> Value {
    with_user(loan(facts, settings), facts.patron.as_ref(), settings)
}

/// The context of several loans or fees of one patron: `user` and a list.
pub fn of_several(
    list: &'static str,
    contexts: Vec<Value>,
    patron: Option<&Patron>,
    settings: &CirculationSettings,
) -> Value {
    with_user(json!({list: contexts}), patron, settings)
}

/// `user`, `request`, `item`, and `loan` if the item is, or just was, on loan.
pub fn of_request(facts: &RequestFacts, loan: Option<&LoanFacts>, settings: &CirculationSettings) -> Value {
    let item = match &facts.item {
        Some(item) => slip::item(item, settings),
        None => facts.title.as_ref().map(slip::title).unwrap_or_else(|| json!({})),
    };
    let request = QueuedRequest {
        id: facts.id,
        document: facts.document.clone(),
        requester: facts.requester.clone(),
        queue: None,
    };
    let mut context = json!({"request": slip::request(&request, settings), "item": item});
    if let Some(loan) = loan {
        let mut values = loan_values(loan, settings);
        // FOLIO quirk: a loan that just ended is shown as it was before.
        values.as_object_mut().map(|values| values.remove("checkedInDate"));
        context["loan"] = values;
    }
    with_user(context, facts.requester.as_ref(), settings)
}

/// `item`, `loan` and `feeCharge`.
pub fn fee(fee: &FeeFacts, facts: &LoanFacts, settings: &CirculationSettings) -> Value {
    let mut context = loan(facts, settings);
    context["feeCharge"] = charge_values(fee);
    context
}

/// The context of a changed charge: with `feeAction`.
pub fn of_fee_action(of: &FeeFacts, facts: &LoanFacts, settings: &CirculationSettings) -> Value {
    let mut context = with_user(fee(of, facts, settings), facts.patron.as_ref(), settings);
    context["feeAction"] = action_values(of);
    context
}

/// `user`, `item`, `feeCharge`, and `feeAction` if the record is of an action.
pub fn of_fee(of: &FeeFacts, settings: &CirculationSettings) -> Value {
    let account = |key: &str| of.account.get(key).cloned().unwrap_or_default();
    let mut item = of.item.as_ref().map(|item| slip::item(item, settings)).unwrap_or_else(|| json!({}));
    item["materialType"] = account("materialType");
    for (shown, key) in [
        ("barcode", "barcode"),
        ("title", "title"),
        ("callNumber", "callNumber"),
        ("effectiveLocationSpecific", "location"),
    ] {
        if item[shown].is_null() {
            item[shown] = account(key);
        }
    }
    let mut context = json!({"item": item, "feeCharge": charge_values(of)});
    if of.is_action() {
        context["feeAction"] = action_values(of);
        context["feeAction"]["additionalInfo"] = patron_comment(text_at(&of.action, "comments")).into();
    } else {
        context["feeCharge"]["additionalInfo"] = patron_comment(text_at(&of.action, "comments")).into();
    }
    with_user(context, of.patron.as_ref(), settings)
}

/// With `user`.
pub fn with_user(mut context: Value, patron: Option<&Patron>, settings: &CirculationSettings) -> Value {
    context["user"] = patron.map(|patron| slip::requester(patron, None, settings)).unwrap_or_default();
    context
}

fn loan_values(facts: &LoanFacts, settings: &CirculationSettings) -> Value {
    let mut values = Map::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            values.insert(key.to_owned(), value.into());
        }
    };
    let date = |key: &str| instant(text_at(&facts.document, key));
    put("initialBorrowDate", date("loanDate"));
    put("dueDate", date("dueDate"));
    put("checkedInDate", date("returnDate"));
    let taken = facts.document.get("renewalCount").and_then(Value::as_i64).unwrap_or(0);
    put("numberOfRenewalsTaken", Some(taken.to_string()));
    let policy = Uuid::parse_str(text_at(&facts.document, "loanPolicyId")).ok();
    if let Some(policy) = policy.and_then(|id| settings.loan_policies.get(&id)) {
        let renewals = policy.renewals_policy.as_ref();
        let (allowed, remaining) = if renewals.is_some_and(|renewals| renewals.unlimited == Some(true)) {
            ("unlimited".to_owned(), "unlimited".to_owned())
        } else {
            let allowed = renewals.and_then(|renewals| renewals.number_allowed).unwrap_or(0.0) as i64;
            (allowed.to_string(), (allowed - taken).max(0).to_string())
        };
        put("numberOfRenewalsAllowed", Some(allowed));
        put("numberOfRenewalsRemaining", Some(remaining));
    }
    put("additionalInfo", facts.patron_info.clone());
    Value::Object(values)
}

fn action_values(fee: &FeeFacts) -> Value {
    let date = instant(text_at(&fee.action, "dateAction"));
    json!({
        "type": fee.action.get("typeAction"),
        "actionDate": date,
        "actionDateTime": date,
        "amount": amount(&fee.action, "amountAction"),
        "remainingAmount": amount(&fee.action, "balance"),
    })
}

fn charge_values(fee: &FeeFacts) -> Value {
    let account = &fee.account;
    let charged = instant(text_at(account, "metadata/createdDate"));
    let mut values = json!({
        "owner": account.get("feeFineOwner"),
        "type": account.get("feeFineType"),
        "paymentStatus": text_at(account, "paymentStatus/name"),
        "amount": amount(account, "amount"),
        "remainingAmount": amount(account, "remaining"),
        "chargeDate": charged,
        "chargeDateTime": charged,
    });
    if let Some(charge) = &fee.charge {
        values["additionalInfo"] = patron_comment(text_at(charge, "comments")).into();
    }
    values
}

/// The part of a fee/fine comment for the patron.
fn patron_comment(comments: &str) -> &str {
    comments.split(" \n ").find_map(|comment| comment.strip_prefix("PATRON : ")).unwrap_or("")
}

/// An amount with two decimals.
fn amount(document: &Map<String, Value>, key: &str) -> Option<String> {
    Money::read(document.get(key)?).map(|amount| amount.to_string())
}

/// A stored date in the format of templates; empty if absent.
fn instant(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| time::parse(text).map_or_else(|| text.to_owned(), slip::instant))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::ItemAtDesk;
    use crate::desk::item::Title;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    fn settings() -> CirculationSettings {
        let mut settings = CirculationSettings::blank();
        for (id, renewals) in [(1, json!({"unlimited": true})), (2, json!({"numberAllowed": 3}))] {
            let policy = json!({"loanable": true, "renewalsPolicy": renewals});
            let policy = serde_json::from_value(policy).expect("a loan policy");
            settings.loan_policies.insert(Uuid::from_u128(id), policy);
        }
        settings
    }

    fn lent(policy: u128) -> LoanFacts {
        LoanFacts {
            document: object(json!({"loanDate": "2024-05-01T10:00:00.000+00:00", "renewalCount": 1,
                "dueDate": "2024-05-22T10:00:00.000+00:00", "loanPolicyId": Uuid::from_u128(policy)})),
            item: Some(ItemAtDesk {
                title: Title { title: Some("Emma".into()), ..Title::default() },
                ..ItemAtDesk::default()
            }),
            patron_info: Some("Please handle with care".into()),
            ..LoanFacts::default()
        }
    }

    #[test]
    fn a_loan_shows_its_dates_and_renewals() {
        let context = of_loan(&lent(2), &settings());
        assert_eq!(context["item"]["title"], "Emma");
        assert_eq!(
            context["loan"],
            json!({"initialBorrowDate": "2024-05-01T10:00:00.000Z", "dueDate": "2024-05-22T10:00:00.000Z",
                "numberOfRenewalsTaken": "1", "numberOfRenewalsAllowed": "3",
                "numberOfRenewalsRemaining": "2", "additionalInfo": "Please handle with care"})
        );
    }

    #[test]
    fn unlimited_renewals_are_written_as_a_word() {
        let context = loan(&lent(1), &settings());
        assert_eq!(context["loan"]["numberOfRenewalsAllowed"], "unlimited");
        assert_eq!(context["loan"]["numberOfRenewalsRemaining"], "unlimited");
    }

    #[test]
    fn a_request_without_an_item_shows_its_title() {
        let facts = RequestFacts {
            title: Some(Title { title: Some("Persuasion".into()), ..Title::default() }),
            document: object(json!({"patronComments": "soon"})),
            ..RequestFacts::default()
        };
        let context = of_request(&facts, None, &settings());
        assert_eq!(context["item"]["title"], "Persuasion");
        assert_eq!(context["request"]["patronComments"], "soon");
        assert!(context.get("loan").is_none());
    }

    #[test]
    fn a_fee_shows_amounts_with_two_decimals_and_the_comment_for_the_patron() {
        let of = FeeFacts {
            account: object(json!({"amount": 5.0, "remaining": 1.25, "feeFineType": "Overdue fine",
                "feeFineOwner": "Main", "paymentStatus": {"name": "Paid partially"},
                "metadata": {"createdDate": "2024-05-01T10:00:00.000+00:00"}})),
            action: object(json!({"typeAction": "Refunded fully", "amountAction": 5, "balance": 0,
                "dateAction": "2024-05-02T10:00:00.000+00:00"})),
            charge: Some(object(json!({"comments": "STAFF : torn \n PATRON : Sorry"}))),
            ..FeeFacts::default()
        };
        let context = of_fee_action(&of, &lent(1), &settings());
        assert_eq!(
            context["feeCharge"],
            json!({"owner": "Main", "type": "Overdue fine", "paymentStatus": "Paid partially",
                "amount": "5.00", "remainingAmount": "1.25", "chargeDate": "2024-05-01T10:00:00.000Z",
                "chargeDateTime": "2024-05-01T10:00:00.000Z", "additionalInfo": "Sorry"})
        );
        assert_eq!(context["feeAction"]["amount"], "5.00");
    }
}
