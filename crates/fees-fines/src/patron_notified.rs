//! The typed event that patrons are to be notified of charges and actions, for the module above that sends notices.

use crate::actions::ActionKind;
use carrel_platform::Changes;
use carrel_platform::http::Caller;
use carrel_platform::{Pipeline, Tenant, Tx};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;
use uuid::Uuid;

/// Charges and actions whose patrons are notified, at the request of staff (`notify`, `notifyPatron`).
#[derive(Debug, Clone, Default)]
pub struct PatronNotified {
    /// Records of fee/fine actions that this transaction stores.
    pub records: Vec<Uuid>,
    /// What listeners want done after the commit.
    pub after_commit: Vec<fn(&Arc<Tenant>)>,
}

impl PatronNotified {
    /// The event of new records. A credit, which precedes each refund, is no news.
    pub(crate) fn of<'a>(records: impl IntoIterator<Item = &'a Value>) -> PatronNotified {
        let is_news = |record: &&Value| {
            let kind = record["typeAction"].as_str().and_then(ActionKind::of_result);
            kind != Some(ActionKind::Credit)
        };
        let ids = records.into_iter().filter(is_news).filter_map(|record| record["id"].as_str());
        PatronNotified {
            records: ids.filter_map(|id| Uuid::parse_str(id).ok()).collect(),
            after_commit: Vec::new(),
        }
    }

    /// Runs the listeners of modules above; [`PatronNotified::committed`] follows.
    pub(crate) async fn announce(
        &mut self,
        tenant: &Tenant,
        (tx, pipeline): (&mut Tx, &mut Pipeline),
        caller: &Caller,
        now: Timestamp,
    ) -> Result<(), Failure> {
        if self.records.is_empty() {
            return Ok(());
        }
        let mut changes = Changes { tenant, tx, pipeline, caller, now };
        tenant.listeners.announce(&mut changes, self).await
    }

    /// Does what waits for the commit.
    pub(crate) fn committed(self, tenant: &Arc<Tenant>) {
        for wanted in self.after_commit {
            wanted(tenant);
        }
    }
}

/// Whether a record of this type is of an action, such as a payment; else it is the record of a charge.
pub fn is_action(type_action: &str) -> bool {
    ActionKind::of_result(type_action).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refund_is_announced_and_its_credit_is_not() {
        let (credit, refund) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let records = [
            json!({"id": credit, "typeAction": "Credited fully"}),
            json!({"id": refund, "typeAction": "Refunded fully"}),
        ];
        assert_eq!(PatronNotified::of(&records).records, [refund]);
        assert!(is_action("Refunded fully") && !is_action("Damaged item"));
    }
}
