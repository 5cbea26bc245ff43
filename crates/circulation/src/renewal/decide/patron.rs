//! The loan to renew, and refusals about its patron.

use super::{Actor, By, Facts, RenewalRequest};
use crate::desk::override_blocks::PATRON_BLOCK;
use crate::desk::patron::AccountStatus;
use crate::desk::{Patron, blocks};
use crate::document::text_at;
use crate::loans::find::LoanAtDesk;
use crate::patron_blocks::Action;
use crate::settings::CirculationSettings;
use carrel_records::{Failure, Refusal, RefusalCode};
use jiff::Timestamp;

/// The loan and its patron; `None` after a refusal that makes the other checks pointless.
pub(super) fn find<'a>(
    facts: &'a Facts,
    command: &RenewalRequest,
    refusals: &mut Vec<Refusal>,
) -> Result<Option<(&'a LoanAtDesk, &'a Patron)>, Failure> {
    let Some(item) = &facts.item else {
        refusals.push(match command.by {
            By::Barcode => {
                let barcode = command.item_barcode.clone().unwrap_or_default();
                Refusal::new(format!("No item with barcode {barcode} exists"))
                    .with("itemBarcode", barcode)
                    .code(RefusalCode::ItemBarcodeNotFound)
            }
            By::Id => {
                let id = command.item_id.clone().unwrap_or_default();
                Refusal::new(format!("No item with ID {id} exists")).with("itemId", id)
            }
        });
        return Ok(None);
    };
    let Some(loan) = &facts.loan else {
        // FOLIO quirk: the message for no open loan is that for several.
        return Err(Failure::Misconfigured(format!("More than one open loan for item {}", item.barcode())));
    };
    let Some(patron) = &loan.patron else {
        refusals.push(
            Refusal::new("user is not found")
                .with("userId", text_at(&loan.document, "userId"))
                .code(RefusalCode::UserNotFound),
        );
        return Ok(None);
    };
    let (key, given, is_borrower) = match command.by {
        By::Barcode => ("userBarcode", &command.user_barcode, patron.barcode == command.user_barcode),
        By::Id => ("userId", &command.user_id, command.user_id == Some(patron.id.to_string())),
    };
    if !is_borrower {
        refusals.push(
            Refusal::new("Cannot renew item checked out to different user")
                .with(key, given.clone().unwrap_or_default())
                .code(RefusalCode::ItemCheckedOutToDifferentUser),
        );
        // FOLIO quirk: only a renewal by id returns all other refusals, too.
        if command.by == By::Barcode {
            return Ok(None);
        }
    }
    Ok(Some((loan, patron)))
}

pub(super) fn refuse_for_account_status(patron: &Patron, now: Timestamp) -> Option<Refusal> {
    match patron.account_status(now) {
        AccountStatus::Active => None,
        AccountStatus::Inactive => Some(
            Refusal::new("Cannot renew loan when user is inactive or expired")
                .with("reason", "User is inactive.")
                .code(RefusalCode::UserIsInactiveOrExpired),
        ),
        AccountStatus::Unknown => Some(
            Refusal::new("Cannot determine if user is active.")
                .with("reason", "Cannot determine if user active.")
                .code(RefusalCode::UserStatusCannotBeDetermined),
        ),
    }
}

pub(super) fn refuse_for_patron_blocks(
    facts: &Facts,
    patron: &Patron,
    command: &RenewalRequest,
    actor: &Actor,
    settings: &CirculationSettings,
    refusals: &mut Vec<Refusal>,
) {
    if command.override_blocks.patron_block.is_some() {
        refusals.extend(PATRON_BLOCK.refuse_override(&actor.may));
        return;
    }
    let reasons = blocks::manual_reasons(&facts.manual_blocks, "renewals", actor.now);
    if !reasons.is_empty() {
        let refusal = Refusal::new("Patron blocked from renewing")
            .with("reason", reasons.join(";"))
            .code(RefusalCode::UserIsBlockedManually);
        refusals.push(PATRON_BLOCK.mark(refusal, &actor.may));
    }
    let counted = facts.counted.as_ref();
    refusals.extend(Action::Renewing.refusals(counted, patron, settings, &actor.may));
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::*;
    use super::*;
    use crate::desk::override_blocks::Empty;
    use serde_json::json;

    #[test]
    fn an_item_on_loan_to_another_patron_is_refused_and_by_id_with_all_other_refusals() {
        let settings = library(json!({"loanable": false}));
        let facts = lent("Checked out", json!({}));
        let by_card = RenewalRequest { user_barcode: Some("other".into()), ..by_barcode() };
        assert_eq!(codes(&facts, &by_card, &settings), [RefusalCode::ItemCheckedOutToDifferentUser]);
        let by_id = RenewalRequest {
            by: By::Id,
            item_id: Some(BOOK.to_string()),
            user_id: Some(BOOK.to_string()),
            ..RenewalRequest::default()
        };
        assert_eq!(
            codes(&facts, &by_id, &settings),
            [RefusalCode::ItemCheckedOutToDifferentUser, RefusalCode::ItemNotLoanable]
        );
    }

    #[test]
    fn unknown_items_and_users_are_refused_in_folios_words() {
        let nothing = Facts { item: None, loan: None, ..Facts::default() };
        assert_eq!(codes(&nothing, &by_barcode(), &usual()), [RefusalCode::ItemBarcodeNotFound]);
        let not_lent = Facts { loan: None, ..lent("Available", json!({})) };
        let refused = decided(&not_lent, &by_barcode(), &usual()).expect_err("nothing to renew").to_string();
        assert!(refused.ends_with("More than one open loan for item 036"), "{refused}");
        let mut of_nobody = lent("Checked out", json!({}));
        of_nobody.loan.as_mut().expect("a loan").patron = None;
        assert_eq!(codes(&of_nobody, &by_barcode(), &usual()), [RefusalCode::UserNotFound]);
    }

    #[test]
    fn an_inactive_and_blocked_borrower_gets_both_refusals() {
        let mut facts = lent("Checked out", json!({}));
        facts.manual_blocks = vec![json!({"renewals": true, "desc": "owes"})];
        let patron = |facts: &mut Facts, active| {
            let loan = facts.loan.as_mut().expect("a loan");
            loan.patron.as_mut().expect("a borrower").active = active;
        };
        patron(&mut facts, Some(false));
        let blocked = RefusalCode::UserIsBlockedManually;
        assert_eq!(codes(&facts, &by_barcode(), &usual()), [RefusalCode::UserIsInactiveOrExpired, blocked]);
        patron(&mut facts, None);
        assert_eq!(
            codes(&facts, &by_barcode(), &usual()),
            [RefusalCode::UserStatusCannotBeDetermined, blocked]
        );
        patron(&mut facts, Some(true));
        let mut overriding = by_barcode();
        overriding.override_blocks.patron_block = Some(Empty {});
        overriding.override_blocks.comment = Some("known to us".into());
        let loan = decided(&facts, &overriding, &usual()).expect("renewed").loan;
        assert_eq!(
            (&loan["action"], &loan["actionComment"]),
            (&json!("renewedThroughOverride"), &json!("known to us"))
        );
    }
}
