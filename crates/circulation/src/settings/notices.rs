//! The notices of the notice policies: their events, formats and times.

use carrel_loan_rules::loan_policy::Period;
use carrel_loan_rules::request::RequestType;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

/// The notice policies of a tenant.
#[derive(Debug, Clone, Default)]
pub struct NoticePolicies {
    by_id: HashMap<Uuid, Vec<NoticeConfig>>,
    wanted: HashSet<NoticeEvent>,
}

/// One notice of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeConfig {
    pub event: NoticeEvent,
    pub template: Uuid,
    pub format: Format,
    pub timing: Timing,
    /// The time between event and notice.
    pub period: Option<Period>,
    /// The interval of repetitions.
    pub recurring: Option<Period>,
    /// Sent when due; otherwise at the beginning of the next day, with others of its kind.
    pub real_time: bool,
}

/// The medium of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Email,
    Sms,
    Print,
}

impl Format {
    pub fn parse(text: &str) -> Option<Format> {
        [Format::Email, Format::Sms, Format::Print].into_iter().find(|format| format.text() == text)
    }

    /// FOLIO's text.
    pub fn text(self) -> &'static str {
        match self {
            Format::Email => "Email",
            Format::Sms => "SMS",
            Format::Print => "Print",
        }
    }

    /// The format that a template must support.
    pub fn output_format(self) -> &'static str {
        match self {
            Format::Sms => "text/plain",
            Format::Email | Format::Print => "text/html",
        }
    }

    /// The format of FOLIO's contact type (`preferredContactTypeId`).
    pub fn of_contact_type(id: &str) -> Option<Format> {
        match id {
            "001" => Some(Format::Print),
            "002" => Some(Format::Email),
            "003" => Some(Format::Sms),
            _ => None,
        }
    }
}

/// When a notice is sent in relation to its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Timing {
    UponAt,
    Before,
    After,
}

impl Timing {
    /// Absent or unknown text means upon the event.
    pub fn parse(text: &str) -> Timing {
        match text {
            "Before" => Timing::Before,
            "After" => Timing::After,
            _ => Timing::UponAt,
        }
    }

    /// FOLIO's text.
    pub fn text(self) -> &'static str {
        match self {
            Timing::UponAt => "Upon At",
            Timing::Before => "Before",
            Timing::After => "After",
        }
    }
}

impl NoticePolicies {
    /// Parses stored policies by their ids. An invalid notice is omitted and logged.
    pub fn read<'a>(policies: impl Iterator<Item = (Uuid, &'a Value)>) -> NoticePolicies {
        let mut read = NoticePolicies::default();
        for (id, policy) in policies {
            let configs = ["loanNotices", "requestNotices", "feeFineNotices"]
                .into_iter()
                .flat_map(|list| policy[list].as_array().into_iter().flatten())
                .filter_map(|notice| {
                    let config = NoticeConfig::read(notice);
                    if config.is_none() {
                        tracing::warn!(policy.id = %id, "a notice of the policy cannot be read: {notice}");
                    }
                    config
                });
            let configs: Vec<NoticeConfig> = configs.collect();
            read.wanted.extend(configs.iter().map(|config| config.event));
            read.by_id.insert(id, configs);
        }
        read
    }

    /// Whether some policy has a notice of the event.
    pub fn wants(&self, event: NoticeEvent) -> bool {
        self.wanted.contains(&event)
    }

    /// The notices of an event; none of an unknown policy.
    pub fn of(&self, policy: Uuid, event: NoticeEvent) -> impl Iterator<Item = &NoticeConfig> {
        self.by_id.get(&policy).into_iter().flatten().filter(move |config| config.event == event)
    }

    /// The templates of all notices of an event.
    pub fn templates(&self, event: NoticeEvent) -> impl Iterator<Item = Uuid> {
        self.by_id
            .values()
            .flatten()
            .filter(move |config| config.event == event)
            .map(|config| config.template)
    }
}

impl NoticeConfig {
    fn read(notice: &Value) -> Option<NoticeConfig> {
        let options = &notice["sendOptions"];
        let period = |key: &str| serde_json::from_value::<Period>(options[key].clone()).ok();
        Some(NoticeConfig {
            event: NoticeEvent::parse(options["sendWhen"].as_str()?)?,
            template: Uuid::parse_str(notice["templateId"].as_str()?).ok()?,
            format: Format::parse(notice["format"].as_str()?)?,
            timing: Timing::parse(options["sendHow"].as_str().unwrap_or_default()),
            period: period("sendBy"),
            recurring: period("sendEvery").filter(|_| notice["frequency"] == "Recurring"),
            real_time: notice["realTime"] == true,
        })
    }

    /// Notices that differ only in template and format are alternatives, among which the patron's preference chooses.
    pub fn is_alternative_to(&self, other: &NoticeConfig) -> bool {
        self.event == other.event
            && self.timing == other.timing
            && self.period == other.period
            && self.recurring == other.recurring
            && self.real_time == other.real_time
    }
}

/// The event of a notice, as in notice policies and scheduled notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeEvent {
    CheckIn,
    CheckOut,
    Renewed,
    ManualDueDateChange,
    DueDate,
    /// Its scheduled notices are the reminders.
    DueDateWithReminderFee,
    ItemRecalled,
    AgedToLost,
    PagingRequest,
    HoldRequest,
    RecallRequest,
    RequestCancellation,
    Available,
    RequestExpiration,
    TitleLevelRequestExpiration,
    HoldExpiration,
    OverdueFineReturned,
    OverdueFineRenewed,
    AgedToLostFineCharged,
    AgedToLostReturned,
    /// A charge or an action of which staff have the patron notified, whatever the notice policy says.
    FeeFine,
}

impl NoticeEvent {
    pub const ALL: [NoticeEvent; 21] = [
        NoticeEvent::CheckIn,
        NoticeEvent::CheckOut,
        NoticeEvent::Renewed,
        NoticeEvent::ManualDueDateChange,
        NoticeEvent::DueDate,
        NoticeEvent::DueDateWithReminderFee,
        NoticeEvent::ItemRecalled,
        NoticeEvent::AgedToLost,
        NoticeEvent::PagingRequest,
        NoticeEvent::HoldRequest,
        NoticeEvent::RecallRequest,
        NoticeEvent::RequestCancellation,
        NoticeEvent::Available,
        NoticeEvent::RequestExpiration,
        NoticeEvent::TitleLevelRequestExpiration,
        NoticeEvent::HoldExpiration,
        NoticeEvent::OverdueFineReturned,
        NoticeEvent::OverdueFineRenewed,
        NoticeEvent::AgedToLostFineCharged,
        NoticeEvent::AgedToLostReturned,
        NoticeEvent::FeeFine,
    ];

    /// FOLIO's text.
    pub fn text(self) -> &'static str {
        match self {
            NoticeEvent::CheckIn => "Check in",
            NoticeEvent::CheckOut => "Check out",
            NoticeEvent::Renewed => "Renewed",
            NoticeEvent::ManualDueDateChange => "Manual due date change",
            NoticeEvent::DueDate => "Due date",
            NoticeEvent::DueDateWithReminderFee => "Due date - with reminder fee",
            NoticeEvent::ItemRecalled => "Item recalled",
            NoticeEvent::AgedToLost => "Aged to lost",
            NoticeEvent::PagingRequest => "Paging request",
            NoticeEvent::HoldRequest => "Hold request",
            NoticeEvent::RecallRequest => "Recall request",
            NoticeEvent::RequestCancellation => "Request cancellation",
            NoticeEvent::Available => "Available",
            NoticeEvent::RequestExpiration => "Request expiration",
            NoticeEvent::TitleLevelRequestExpiration => "Title level request expiration",
            NoticeEvent::HoldExpiration => "Hold expiration",
            NoticeEvent::OverdueFineReturned => "Overdue fine returned",
            NoticeEvent::OverdueFineRenewed => "Overdue fine renewed",
            NoticeEvent::AgedToLostFineCharged => "Aged to lost - fine charged",
            NoticeEvent::AgedToLostReturned => "Aged to lost & item returned - fine adjusted",
            NoticeEvent::FeeFine => "Fee/fine",
        }
    }

    pub fn parse(text: &str) -> Option<NoticeEvent> {
        NoticeEvent::ALL.into_iter().find(|event| event.text() == text)
    }

    /// The notice of a placed request by the request's type.
    pub fn of_request_type(kind: RequestType) -> NoticeEvent {
        match kind {
            RequestType::Page => NoticeEvent::PagingRequest,
            RequestType::Hold => NoticeEvent::HoldRequest,
            RequestType::Recall => NoticeEvent::RecallRequest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_event_is_found_by_its_text() {
        for event in NoticeEvent::ALL {
            assert_eq!(NoticeEvent::parse(event.text()), Some(event));
        }
        assert_eq!(NoticeEvent::parse("Hold request for item"), None);
    }

    #[test]
    fn a_policy_wants_the_events_that_it_has_notices_for() {
        let policies = NoticePolicies::read(
            [(
                Uuid::nil(),
                &json!({"loanNotices": [
                    {"templateId": Uuid::nil(), "format": "Email", "sendOptions": {"sendWhen": "Check out"}},
                    {"templateId": Uuid::nil(), "format": "Email", "sendOptions": {"sendWhen": "Renewed"}}
                ]}),
            )]
            .into_iter(),
        );
        assert!(policies.wants(NoticeEvent::CheckOut) && policies.wants(NoticeEvent::Renewed));
        assert!(!policies.wants(NoticeEvent::CheckIn));
        assert!(!NoticePolicies::default().wants(NoticeEvent::CheckOut));
    }
}
