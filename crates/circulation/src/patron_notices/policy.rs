//! Which notices of a policy a patron gets, by their preferred formats.

use crate::settings::{Format, NoticeConfig};
use serde_json::Value;

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
    use crate::settings::{NoticeEvent, NoticePolicies};
    use serde_json::json;
    use uuid::Uuid;

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
