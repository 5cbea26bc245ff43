//! Refusals about the patron and their proxy.

use super::{Scan, with_maybe};
use crate::desk::override_blocks::PATRON_BLOCK;
use crate::desk::patron::AccountStatus;
use crate::desk::{Patron, blocks, is_valid_relation};
use crate::patron_blocks::Action;
use carrel_records::{Refusal, RefusalCode};

impl Scan<'_> {
    pub(super) fn refuse_unknown_patron(&self) -> Option<Refusal> {
        self.facts.patron.is_none().then(|| unknown("userBarcode", &self.command.user_barcode))
    }

    /// One refusal for all manual blocks, then one for each automated block; or the refusal of an override.
    pub(super) fn refuse_for_patron_blocks(&self) -> Vec<Refusal> {
        let Some(patron) = &self.facts.patron else { return Vec::new() };
        if self.command.override_blocks.patron_block.is_some() {
            return self.refuse_bad_override(PATRON_BLOCK).into_iter().collect();
        }
        let may = &self.actor.may;
        let reasons = blocks::manual_reasons(&self.facts.manual_blocks, "borrowing", self.actor.now);
        let manual = (!reasons.is_empty()).then(|| {
            let refusal = Refusal::new("Patron blocked from borrowing")
                .with("reason", reasons.join(";"))
                .code(RefusalCode::UserIsBlockedManually);
            PATRON_BLOCK.mark(refusal, may)
        });
        let automated = Action::Borrowing.refusals(self.facts.counted.as_ref(), patron, self.settings, may);
        manual.into_iter().chain(automated).collect()
    }

    pub(super) fn refuse_unknown_proxy(&self) -> Option<Refusal> {
        let barcode = &self.command.proxy_user_barcode;
        let comes = barcode.as_deref().is_some_and(|barcode| !barcode.trim().is_empty());
        (comes && self.facts.proxy.is_none()).then(|| unknown("proxyUserBarcode", barcode))
    }

    pub(super) fn refuse_for_account_status(&self) -> Vec<Refusal> {
        let refusal = |patron: &Option<Patron>, inactive: &str, unknown: &str| match patron
            .as_ref()?
            .account_status(self.actor.now)
        {
            AccountStatus::Inactive => Some(Refusal::new(inactive)),
            AccountStatus::Unknown => Some(Refusal::new(unknown)),
            AccountStatus::Active => None,
        };
        let patron = refusal(
            &self.facts.patron,
            "Cannot check out to inactive user",
            "Cannot determine if user is active or not",
        )
        .map(|refusal| with_maybe(refusal, "userBarcode", &self.command.user_barcode));
        let proxy = refusal(
            &self.facts.proxy,
            "Cannot check out via inactive proxying user",
            "Cannot determine if proxying user is active or not",
        )
        .map(|refusal| with_maybe(refusal, "proxyUserBarcode", &self.command.proxy_user_barcode));
        patron.into_iter().chain(proxy).collect()
    }

    pub(super) fn refuse_for_proxy_relation(&self) -> Option<Refusal> {
        let (patron, proxy) = (self.facts.patron.as_ref()?, self.facts.proxy.as_ref()?);
        if patron.id == proxy.id {
            return Some(
                Refusal::new("User cannot be proxy for themselves")
                    .with("proxyUserId", proxy.id.to_string())
                    .code(RefusalCode::UserCannotBeProxyForThemselves),
            );
        }
        let valid =
            self.facts.proxy_relations.iter().any(|relation| is_valid_relation(relation, self.actor.now));
        (!valid).then(|| {
            with_maybe(
                Refusal::new("Cannot check out item via proxy when relationship is invalid"),
                "proxyUserBarcode",
                &self.command.proxy_user_barcode,
            )
        })
    }
}

fn unknown(key: &str, barcode: &Option<String>) -> Refusal {
    with_maybe(Refusal::new("Could not find user with matching barcode"), key, barcode)
        .code(RefusalCode::UserBarcodeNotFound)
}

#[cfg(test)]
mod tests {
    use super::super::Facts;
    use super::super::fixtures::*;
    use super::*;
    use crate::check_out::{Actor, CheckOutRequest};
    use crate::desk::override_blocks::{Empty, MayOverride};
    use crate::patron_blocks::Block;
    use serde_json::{Value, json};
    use uuid::Uuid;

    fn blocked() -> Facts {
        let blocks = [("lost card", json!({"borrowing": true})), ("loud", json!({"requests": true}))];
        let blocks = blocks.map(|(desc, mut block)| {
            block["desc"] = desc.into();
            block
        });
        Facts { manual_blocks: blocks.to_vec(), ..facts() }
    }

    /// Settings with automated blocks of the patron on borrowing and requests.
    fn blocking() -> crate::settings::CirculationSettings {
        let mut settings = usual();
        let block = |message: &str, borrowing| Block {
            condition_id: Uuid::nil(),
            borrowing,
            renewals: false,
            requests: true,
            message: message.into(),
        };
        settings.given_blocks.insert(PATRON, vec![block("Too many", true), block("Not so fast", false)]);
        settings
    }

    #[test]
    fn manual_blocks_are_one_refusal_and_automated_blocks_one_each() {
        let refusals = refusals(decided(&blocked(), &command(), &blocking()));
        let messages: Vec<_> =
            refusals.iter().map(|refusal| (refusal.message.as_str(), refusal.code)).collect();
        assert_eq!(
            messages,
            [
                ("Patron blocked from borrowing", Some(RefusalCode::UserIsBlockedManually)),
                ("Too many", Some(RefusalCode::UserIsBlockedAutomatically)),
            ]
        );
        assert_eq!(refusals[0].parameters, [("reason".to_owned(), Some("lost card;loud".to_owned()))]);
        assert!(refusals[1].parameters.is_empty());
        assert!(refusals.iter().all(|refusal| {
            refusal.overridable.as_ref().is_some_and(|block| block.name == "patronBlock")
        }));
    }

    #[test]
    fn an_override_of_patron_blocks_needs_permission_and_comment() {
        let mut overriding = command();
        overriding.override_blocks.patron_block = Some(Empty {});
        let (facts, settings) = (blocked(), blocking());
        let messages_of = |command: &CheckOutRequest| messages(decided(&facts, command, &settings));
        assert_eq!(messages_of(&overriding), ["Override should be performed with the comment specified"]);
        overriding.override_blocks.comment = Some("known to us".into());
        let loan = decided(&facts, &overriding, &settings).expect("a loan").loan;
        assert_eq!(loan["action"], "checkedOutThroughOverride");
        assert_eq!(loan["actionComment"], "known to us");

        let actor = Actor { may: MayOverride::default(), ..actor() };
        let refused = refusals(super::super::decide(&facts, &overriding, &actor, &settings));
        assert_eq!(refused.len(), 1, "reported once for both kinds of block");
        assert_eq!(refused[0].message, "Insufficient override permissions");
        let lacks = refused[0].overridable.as_ref().map(|block| block.missing_permissions.clone());
        assert_eq!(lacks, Some(vec!["circulation.override-patron-block.post"]));
    }

    #[test]
    fn an_inactive_expired_or_undetermined_account_is_refused() {
        for (differs, expected) in [
            (json!({"active": true, "expirationDate": "2024-05-15T08:00:00.001Z"}), None),
            (
                json!({"active": true, "expirationDate": "2024-05-15T07:59:59Z"}),
                Some("Cannot check out to inactive user"),
            ),
            (json!({"active": false}), Some("Cannot check out to inactive user")),
            (json!({}), Some("Cannot determine if user is active or not")),
        ] {
            let mut facts = facts();
            let patron = facts.patron.as_mut().expect("a patron");
            patron.active = differs["active"].as_bool();
            patron.expiration_date = differs["expirationDate"].as_str().map(str::to_owned);
            let decided = decided(&facts, &command(), &usual());
            match expected {
                Some(words) => assert_eq!(messages(decided), [words], "{differs}"),
                None => assert!(decided.is_ok(), "{differs}"),
            }
        }
    }

    #[test]
    fn a_proxy_needs_a_valid_relation_to_the_sponsor() {
        let command = CheckOutRequest { proxy_user_barcode: Some("proxy".into()), ..command() };
        let with = |proxy: Uuid, relation: Value| {
            let proxy = Patron { id: proxy, active: Some(true), ..Patron::default() };
            let facts = Facts { proxy: Some(proxy), proxy_relations: vec![relation], ..facts() };
            decided(&facts, &command, &usual())
        };
        let invalid = "Cannot check out item via proxy when relationship is invalid";
        for (relation, expected) in [
            (json!({"status": "Active"}), None),
            (json!({"status": "Active", "expirationDate": "2024-05-16T00:00:00Z"}), None),
            (json!({"meta": {"status": "Active"}}), None),
            (json!({"status": "Inactive"}), Some(invalid)),
            (json!({"status": "Active", "expirationDate": "2024-05-14T00:00:00Z"}), Some(invalid)),
            (json!({"meta": {"status": "Active", "expirationDate": "2024-05-14T00:00:00Z"}}), Some(invalid)),
        ] {
            match expected {
                Some(words) => assert_eq!(messages(with(OTHER, relation.clone())), [words], "{relation}"),
                None => {
                    let loan = with(OTHER, relation.clone()).expect("a loan").loan;
                    assert_eq!(loan["proxyUserId"], OTHER.to_string(), "{relation}");
                }
            }
        }
        let self_service = refusals(with(PATRON, json!({"status": "Active"})));
        assert_eq!(self_service[0].code, Some(RefusalCode::UserCannotBeProxyForThemselves));
    }
}
