//! Entries of the circulation log about notices that are sent or fail; notices that do not apply have none.

use super::deliver::{Notice, Reason, Subject, Unsent};
use carrel_audit::circulation_log::{
    Action, Links, LogEntry, LogObject, LoggedItem, LoggedPatron, Source, description,
};
use uuid::Uuid;

/// The entry about a notice, with the items of all records that it is about.
pub fn of_notice(notice: &Notice, template: Option<&str>, sent: &Result<Uuid, Reason>) -> Option<LogEntry> {
    let barcode = |index: usize| {
        let context = &notice.context;
        let of_several = |list: &str| context[list][index]["item"]["barcode"].as_str();
        let alone = || context["item"]["barcode"].as_str().filter(|_| index == 0);
        of_several("loans").or_else(|| of_several("feeCharges")).or_else(alone).map(str::to_owned)
    };
    let items =
        notice.subjects.iter().enumerate().filter_map(|(index, subject)| item(subject, barcode(index)));
    let error = match sent {
        Ok(_) => None,
        Err(reason) => Some(failure(reason)?),
    };
    let first = notice.subjects.first().copied().unwrap_or_default();
    let text = description::notice(template, Some(notice.triggering_event()), error);
    let entry = entry(&first, items.collect(), text, error.is_some());
    Some(LogEntry {
        patron: LoggedPatron { id: Some(notice.recipient), barcode: None },
        links: Links { template: Some(notice.template), ..entry.links },
        ..entry
    })
}

/// The entry about a notice that could not be sent.
pub fn of_unsent(unsent: &Unsent) -> Option<LogEntry> {
    let error = failure(&unsent.reason)?;
    let items = item(&unsent.subject, None).into_iter().collect();
    let text = description::notice(None, Some(unsent.event.text()), Some(error));
    let entry = entry(&unsent.subject, items, text, true);
    Some(LogEntry {
        patron: LoggedPatron { id: unsent.recipient, barcode: None },
        links: Links { template: unsent.template, ..entry.links },
        ..entry
    })
}

fn failure(reason: &Reason) -> Option<&str> {
    match reason {
        Reason::Failed(reason) => Some(reason),
        Reason::Skipped(_) => None,
    }
}

fn item(subject: &Subject, barcode: Option<String>) -> Option<LoggedItem> {
    (subject.loan.is_some() || barcode.is_some()).then(|| LoggedItem {
        barcode,
        loan: subject.loan,
        ..LoggedItem::default()
    })
}

fn entry(subject: &Subject, items: Vec<LoggedItem>, description: String, has_failed: bool) -> LogEntry {
    LogEntry {
        items,
        source: Source::System,
        description: Some(description),
        links: Links {
            request: subject.request,
            fee_fine: subject.account,
            notice_policy: subject.policy,
            ..Links::default()
        },
        ..LogEntry::new(LogObject::Notice, if has_failed { Action::SendError } else { Action::Send })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Format, NoticeEvent};
    use serde_json::{Value, json};

    fn notice(context: Value, subjects: Vec<Subject>) -> Notice {
        Notice {
            event: NoticeEvent::CheckOut,
            recipient: Uuid::from_u128(1),
            template: Uuid::from_u128(2),
            format: Format::Email,
            context,
            subjects,
        }
    }

    #[test]
    fn a_notice_about_several_loans_names_all_items() {
        let loan = |id| Subject { loan: Some(Uuid::from_u128(id)), ..Subject::default() };
        let context = json!({"loans": [{"item": {"barcode": "1"}}, {"item": {"barcode": "2"}}]});
        let entry = of_notice(&notice(context, vec![loan(3), loan(4)]), Some("Lent"), &Ok(Uuid::nil()))
            .expect("an entry");
        let items: Vec<_> = entry.items.iter().map(|item| (item.barcode.as_deref(), item.loan)).collect();
        assert_eq!(items, [(Some("1"), Some(Uuid::from_u128(3))), (Some("2"), Some(Uuid::from_u128(4)))]);
        assert_eq!(entry.action, Action::Send);
    }

    #[test]
    fn what_fails_has_its_reason_and_what_does_not_apply_no_entry() {
        let about = |reason| of_notice(&notice(json!({}), vec![]), None, &Err(reason));
        let failed = about(Reason::Failed("no template".into())).expect("an entry");
        assert_eq!(failed.action, Action::SendError);
        assert!(failed.description.is_some_and(|text| text.ends_with("Error message: no template")));
        assert_eq!(about(Reason::Skipped("no address".into())), None);
    }
}
