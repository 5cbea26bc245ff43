//! The request policy for an item: the allowed request types and, by type, the allowed pickup service points.

use carrel_circulation::desk::ItemAtDesk;
use carrel_circulation::settings::{CirculationSettings, RuleInputs};
use carrel_circulation_rules::PolicyKind;
use carrel_loan_rules::request::RequestType;
use carrel_records::Failure;
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

/// An applicable request policy.
#[derive(Debug, Clone)]
pub struct RequestPolicy {
    pub id: Uuid,
    record: Arc<Value>,
}

impl RequestPolicy {
    /// The policy for an item and a patron's group.
    pub fn of_item(
        settings: &CirculationSettings,
        item: &ItemAtDesk,
        group: Option<Uuid>,
    ) -> Result<RequestPolicy, Failure> {
        RequestPolicy::matching(settings, &item.rule_inputs(group))
    }

    /// The policy that the circulation rules select for these inputs.
    pub fn matching(settings: &CirculationSettings, what: &RuleInputs) -> Result<RequestPolicy, Failure> {
        let id = settings.matching(what, PolicyKind::Request)?.id;
        let record = settings.request_policies.get(&id).ok_or_else(|| {
            Failure::Misconfigured(format!(
                "Request policy {id} could not be found, please check circulation rules"
            ))
        })?;
        Ok(RequestPolicy { id, record: Arc::clone(record) })
    }

    /// The allowed types, in the policy's order.
    pub fn kinds(&self) -> Vec<RequestType> {
        let kinds = self.record.get("requestTypes").and_then(Value::as_array);
        kinds.map_or_else(Vec::new, |kinds| {
            kinds.iter().filter_map(Value::as_str).filter_map(RequestType::parse_ignoring_case).collect()
        })
    }

    pub fn allows(&self, kind: RequestType) -> bool {
        let kinds = self.record.get("requestTypes").and_then(Value::as_array);
        kinds.is_some_and(|kinds| {
            kinds.iter().filter_map(Value::as_str).any(|text| text.eq_ignore_ascii_case(kind.as_str()))
        })
    }

    /// The service points that the policy allows for a type; `None` if it allows all.
    pub fn service_points(&self, kind: RequestType) -> Option<Vec<&str>> {
        let points = self.record.get("allowedServicePoints")?.get(kind.as_str())?.as_array()?;
        Some(points.iter().filter_map(Value::as_str).collect())
    }

    pub fn allows_service_point(&self, kind: RequestType, service_point: &str) -> bool {
        self.service_points(kind).is_none_or(|points| points.contains(&service_point))
    }

    #[cfg(test)]
    pub fn for_test(record: Value) -> RequestPolicy {
        RequestPolicy { id: Uuid::nil(), record: Arc::new(record) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_policy_without_named_service_points_allows_all() {
        let policy = RequestPolicy::for_test(json!({
            "requestTypes": ["Page", "Hold"], "allowedServicePoints": {"Hold": ["desk"]}
        }));
        assert!(policy.allows(RequestType::Page) && !policy.allows(RequestType::Recall));
        assert!(policy.allows_service_point(RequestType::Page, "elsewhere"));
        assert!(policy.allows_service_point(RequestType::Hold, "desk"));
        assert!(!policy.allows_service_point(RequestType::Hold, "elsewhere"));
    }
}
