//! Settings and facts for the tests of this use case: an item, a patron and one loan policy.

use super::{CheckOut, decide};
use crate::check_out::facts::Facts;
use crate::check_out::{Actor, CheckOutRequest};
use crate::desk::override_blocks::MayOverride;
use crate::desk::patron::Personal;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest};
use crate::settings::{CirculationSettings, Named};
use carrel_circulation_rules::Rules;
use carrel_records::{Failure, Refusal, time};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

pub const POLICY: Uuid = Uuid::from_u128(0x91850940_9ca5_472e_99bd_b434d5985fff);
pub const BOOK: Uuid = Uuid::from_u128(0x91850940_9ca5_472e_99bd_b434d5985ff4);
/// The patron, and their group.
pub const PATRON: Uuid = Uuid::from_u128(0x91850940_9ca5_472e_99bd_b434d5985ff5);
/// Another patron, item, or type.
pub const OTHER: Uuid = Uuid::from_u128(0x91850940_9ca5_472e_99bd_b434d5985ff6);
pub const DESK: Uuid = Uuid::from_u128(7);
pub const STACKS: Uuid = Uuid::from_u128(8);
pub const LOAN: Uuid = Uuid::from_u128(9);

/// Settings with a loan period of three weeks.
pub fn usual() -> CirculationSettings {
    library(json!({}))
}

/// [`usual`] settings with `differs` replacing parts of the loan policy.
pub fn library(differs: Value) -> CirculationSettings {
    server_with("", differs)
}

/// Settings with a rule before the policies; `{book}`, `{patron_group}` and `{other}` are replaced by ids.
pub fn server_with(rule: &str, differs: Value) -> CirculationSettings {
    let mut policy = json!({
        "id": POLICY, "name": "Three weeks", "loanable": true, "renewable": true,
        "loansPolicy": {"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"}},
    });
    policy.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
    let policies = format!("l {POLICY} r {POLICY} n {POLICY} o {POLICY} i {POLICY}");
    let mut text = format!("priority: t, s, c, b, a, m, g\nfallback-policy: {policies}");
    if !rule.is_empty() {
        let ids = [("{book}", BOOK), ("{patron_group}", PATRON), ("{other}", OTHER)];
        let rule = ids.iter().fold(rule.to_owned(), |rule, (name, id)| rule.replace(name, &id.to_string()));
        text.push_str(&format!("\n{rule}: {policies}"));
    }
    let mut settings = CirculationSettings::blank();
    settings.rules = Rules::parse(&text).expect("the rules can be read");
    settings.loan_policies.insert(POLICY, serde_json::from_value(policy).expect("a policy"));
    settings.request_policies.insert(POLICY, Arc::new(json!({"requestTypes": ["Hold", "Page", "Recall"]})));
    settings.material_types.insert(BOOK, Named { name: "Book".into(), ..Named::default() });
    settings
}

/// An available item and an active patron.
pub fn facts() -> Facts {
    item_that_is("Available")
}

pub fn item_that_is(status: &str) -> Facts {
    let mut item = ItemAtDesk { id: BOOK, status: status.into(), ..ItemAtDesk::default() };
    item.record.barcode = Some("036".into());
    item.record.material_type_id = Some(BOOK);
    item.record.permanent_loan_type_id = Some(BOOK);
    item.record.effective_location_id = Some(STACKS);
    item.title.title = Some("Nod".into());
    let patron = Patron {
        id: PATRON,
        barcode: Some("card".into()),
        username: Some("joan".into()),
        active: Some(true),
        patron_group: Some(PATRON),
        personal: Personal {
            last_name: Some("Reader".into()),
            first_name: Some("Joan".into()),
            ..Personal::default()
        },
        ..Patron::default()
    };
    Facts { patron: Some(patron), item: Some(item), ..Facts::default() }
}

pub fn id_of_request(position: u128) -> Uuid {
    Uuid::from_u128(100 + position)
}

/// A hold of the item at a position of its queue; `differs` replaces parts of it.
pub fn request(position: u128, patron: Uuid, differs: Value) -> QueuedRequest {
    let mut document = json!({"id": id_of_request(position), "requestLevel": "Item", "itemId": BOOK,
        "requesterId": patron, "requestType": "Hold", "status": "Open - Not yet filled",
        "fulfillmentPreference": "Hold Shelf", "position": position as i64});
    document.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
    QueuedRequest {
        id: id_of_request(position),
        document: document.as_object().expect("an object").clone(),
        requester: Some(Patron { id: patron, patron_group: Some(PATRON), ..Patron::default() }),
        queue: None,
    }
}

pub fn command() -> CheckOutRequest {
    CheckOutRequest {
        item_barcode: Some("036".into()),
        user_barcode: Some("card".into()),
        service_point_id: Some(DESK.to_string()),
        ..CheckOutRequest::default()
    }
}

/// An actor with all override permissions.
pub fn actor() -> Actor {
    let now = time::parse("2024-05-15T08:00:00Z").expect("a time");
    Actor { by: None, may: MayOverride::all(), now, loan_id: LOAN, dry_run: false }
}

pub fn decided(
    facts: &Facts,
    command: &CheckOutRequest,
    settings: &CirculationSettings,
) -> Result<CheckOut, Failure> {
    decide(facts, command, &actor(), settings)
}

pub fn refusals(decided: Result<CheckOut, Failure>) -> Vec<Refusal> {
    match decided {
        Err(Failure::Refused(refusals)) => refusals,
        other => unreachable!("a refusal was expected: {other:?}"),
    }
}

pub fn messages(decided: Result<CheckOut, Failure>) -> Vec<String> {
    refusals(decided).into_iter().map(|refusal| refusal.message).collect()
}
