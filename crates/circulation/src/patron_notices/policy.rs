//! Parsed notice policies: which notices an event has, and in which format a patron gets them.

use super::event::NoticeEvent;
use carrel_loan_rules::loan_policy::Period;
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

/// A patron's preferred formats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContactPreference {
    /// `preferredContactTypeIds`, in the patron's order.
    pub formats: Vec<Format>,
    /// The older `preferredContactTypeId`.
    pub single: Option<Format>,
}

impl ContactPreference {
    /// The preference in a user record.
    pub fn of(user: &Value) -> ContactPreference {
        let personal = &user["personal"];
        let mut formats = Vec::new();
        for id in personal["preferredContactTypeIds"].as_array().into_iter().flatten() {
            if let Some(format) = id.as_str().and_then(Format::of_contact_type)
                && !formats.contains(&format)
            {
                formats.push(format);
            }
        }
        let single = personal["preferredContactTypeId"].as_str().and_then(Format::of_contact_type);
        ContactPreference { formats, single }
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
}

impl NoticePolicies {
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

/// The notices to send among those of one event: the first with its alternatives, one of each format, and of several
/// formats those that the patron prefers.
pub fn chosen<'a>(
    configs: impl Iterator<Item = &'a NoticeConfig>,
    preference: &ContactPreference,
) -> Vec<&'a NoticeConfig> {
    let mut by_format: Vec<&NoticeConfig> = Vec::new();
    for config in configs {
        let is_alternative = by_format.first().is_none_or(|first| config.is_alternative_to(first));
        if is_alternative && by_format.iter().all(|other| other.format != config.format) {
            by_format.push(config);
        }
    }
    if by_format.len() < 2 {
        return by_format;
    }
    let of = |format: Format| by_format.iter().copied().find(|config| config.format == format);
    let preferred: Vec<&NoticeConfig> = preference.formats.iter().copied().filter_map(of).collect();
    if !preferred.is_empty() {
        return preferred;
    }
    // The older preference applies only to patrons without the newer one.
    let single = preference.single.filter(|_| preference.formats.is_empty());
    let fallback = single.and_then(of).or_else(|| of(Format::Email)).or(by_format.first().copied());
    fallback.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const POLICY: Uuid = Uuid::from_u128(1);

    fn notice(format: &str, when: &str, template: u128) -> Value {
        json!({"templateId": Uuid::from_u128(template), "format": format, "realTime": true,
            "sendOptions": {"sendWhen": when}})
    }

    fn policies(notices: Value) -> NoticePolicies {
        let policy = json!({"loanNotices": notices});
        NoticePolicies::read([(POLICY, &policy)].into_iter())
    }

    fn templates(policies: &NoticePolicies, formats: &[Format], single: Option<Format>) -> Vec<u128> {
        let preference = ContactPreference { formats: formats.to_vec(), single };
        let chosen = chosen(policies.of(POLICY, NoticeEvent::CheckOut), &preference);
        chosen.iter().map(|config| config.template.as_u128()).collect()
    }

    #[test]
    fn a_policy_wants_the_events_that_it_has_notices_for() {
        let policies = policies(json!([notice("Email", "Check out", 1), notice("Email", "Renewed", 2)]));
        assert!(policies.wants(NoticeEvent::CheckOut) && policies.wants(NoticeEvent::Renewed));
        assert!(!policies.wants(NoticeEvent::CheckIn));
        assert!(!NoticePolicies::default().wants(NoticeEvent::CheckOut));
    }

    #[test]
    fn the_only_format_is_sent_whatever_the_patron_prefers() {
        let policies = policies(json!([notice("Print", "Check out", 1)]));
        assert_eq!(templates(&policies, &[Format::Email], None), [1]);
    }

    #[test]
    fn of_two_templates_of_a_format_the_first_is_sent() {
        let policies = policies(json!([notice("Email", "Check out", 1), notice("Email", "Check out", 2)]));
        assert_eq!(templates(&policies, &[], None), [1]);
    }

    #[test]
    fn of_several_formats_the_patron_gets_those_they_prefer() {
        let policies = policies(json!([
            notice("Print", "Check out", 1),
            notice("Email", "Check out", 2),
            notice("SMS", "Check out", 3)
        ]));
        for (formats, single, expected) in [
            (vec![Format::Sms, Format::Print], None, vec![3, 1]),
            (vec![], Some(Format::Print), vec![1]),
            (vec![], None, vec![2]),
        ] {
            assert_eq!(templates(&policies, &formats, single), expected, "{formats:?} {single:?}");
        }
    }

    #[test]
    fn without_the_preferred_format_it_is_email_and_else_the_first() {
        let with_email = policies(json!([notice("Print", "Check out", 1), notice("Email", "Check out", 2)]));
        assert_eq!(templates(&with_email, &[Format::Sms], Some(Format::Print)), [2]);
        let without = policies(json!([notice("Print", "Check out", 1), notice("SMS", "Check out", 2)]));
        assert_eq!(templates(&without, &[], Some(Format::Email)), [1]);
    }

    #[test]
    fn a_notice_of_another_timing_is_no_alternative() {
        let mut later = notice("SMS", "Check out", 2);
        later["sendOptions"]["sendHow"] = "After".into();
        let policies = policies(json!([notice("Email", "Check out", 1), later]));
        assert_eq!(templates(&policies, &[Format::Sms], None), [1]);
    }

    #[test]
    fn contact_types_are_read_in_the_patrons_order() {
        let user = json!({"personal": {"preferredContactTypeIds": ["003", "001", "003", "004"],
            "preferredContactTypeId": "002"}});
        let preference = ContactPreference::of(&user);
        assert_eq!(preference.formats, [Format::Sms, Format::Print]);
        assert_eq!(preference.single, Some(Format::Email));
    }
}
