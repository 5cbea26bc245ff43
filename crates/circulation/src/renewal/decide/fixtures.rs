//! Settings and facts for the tests of this use case: an item on loan, its patron and one loan policy.

use super::{Renewed, decide};
use crate::desk::override_blocks::{Empty, MayOverride, WithDueDate};
use crate::desk::{ItemAtDesk, Patron, QueuedRequest};
use crate::loans::find::LoanAtDesk;
use crate::renewal::facts::Facts;
use crate::renewal::{Actor, RenewalRequest};
use crate::settings::CirculationSettings;
use carrel_circulation_rules::Rules;
use carrel_records::{Failure, RefusalCode, time};
use serde_json::{Value, json};
use uuid::Uuid;

pub const NOW: &str = "2024-05-15T08:00:00Z";
pub const POLICY: Uuid = Uuid::from_u128(0x91850940_9ca5_472e_99bd_b434d5985fff);
pub const BOOK: Uuid = Uuid::from_u128(4);
pub const READER: Uuid = Uuid::from_u128(5);

/// Settings with one loan policy; `differs` replaces parts of it.
pub fn library(differs: Value) -> CirculationSettings {
    let mut policy = json!({
        "id": POLICY, "name": "Three weeks", "loanable": true, "renewable": true,
        "loansPolicy": {"profileId": "Rolling", "period": {"duration": 3, "intervalId": "Weeks"},
            "closedLibraryDueDateManagementId": "CURRENT_DUE_DATE_TIME"},
        "renewalsPolicy": {"unlimited": true, "renewFromId": "SYSTEM_DATE"},
    });
    policy.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
    let mut settings = CirculationSettings::blank();
    let rules = format!(
        "priority: t, s, c, b, a, m, g\nfallback-policy: l {POLICY} r {POLICY} n {POLICY} o {POLICY} i {POLICY}"
    );
    settings.rules = Rules::parse(&rules).expect("the rules can be read");
    settings.loan_policies.insert(POLICY, serde_json::from_value(policy).expect("a policy"));
    settings
}

/// A loan due on 20 May; `differs` replaces parts of it.
pub fn lent(item_status: &str, differs: Value) -> Facts {
    let mut loan = json!({"id": BOOK, "itemId": BOOK, "userId": READER, "status": {"name": "Open"},
        "dueDate": "2024-05-20T10:00:00Z", "action": "checkedout", "actionComment": "old", "own": 1});
    loan.as_object_mut().expect("an object").extend(differs.as_object().expect("an object").clone());
    let mut item = ItemAtDesk { id: BOOK, status: item_status.into(), ..ItemAtDesk::default() };
    item.record.barcode = Some("036".into());
    let patron = Patron {
        id: READER,
        barcode: Some("card".into()),
        active: Some(true),
        patron_group: Some(READER),
        ..Patron::default()
    };
    Facts {
        item: Some(item.clone()),
        loan: Some(LoanAtDesk {
            document: loan.as_object().expect("an object").clone(),
            item: Some(item),
            patron: Some(patron),
            ..LoanAtDesk::default()
        }),
        manual_blocks: Vec::new(),
        counted: None,
    }
}

pub fn waiting(mut facts: Facts, kind: &str, item: Value) -> Facts {
    let request = json!({"id": READER, "requestType": kind, "status": "Open - Not yet filled",
        "requestLevel": if item.is_null() { "Title" } else { "Item" }, "itemId": item});
    facts.loan.as_mut().expect("a loan").queue.push(QueuedRequest {
        id: READER,
        document: request.as_object().expect("an object").clone(),
        requester: None,
        queue: None,
    });
    facts
}

pub fn by_barcode() -> RenewalRequest {
    RenewalRequest {
        item_barcode: Some("036".into()),
        user_barcode: Some("card".into()),
        ..RenewalRequest::default()
    }
}

pub fn overriding(due_date: Option<&str>, comment: Option<&str>) -> RenewalRequest {
    let mut command = by_barcode();
    command.override_blocks.renewal_block = Some(Empty {});
    command.override_blocks.renewal_due_date_required_block =
        Some(WithDueDate { due_date: due_date.map(str::to_owned) });
    command.override_blocks.comment = comment.map(str::to_owned);
    command
}

pub fn decided(
    facts: &Facts,
    command: &RenewalRequest,
    settings: &CirculationSettings,
) -> Result<Renewed, Failure> {
    let now = time::parse(NOW).expect("a time");
    decide(facts, command, &Actor { by: None, may: MayOverride::all(), now }, settings)
}

pub fn codes(facts: &Facts, command: &RenewalRequest, settings: &CirculationSettings) -> Vec<RefusalCode> {
    match decided(facts, command, settings) {
        Err(Failure::Refused(refusals)) => refusals.iter().filter_map(|refusal| refusal.code).collect(),
        other => unreachable!("a refusal was expected: {other:?}"),
    }
}

pub fn usual() -> CirculationSettings {
    library(json!({}))
}
