//! Conditions and limits, parsed from their records.

use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use uuid::{Uuid, uuid};

/// The counted quantity; the ids are FOLIO's, the same in every tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counted {
    ItemsChargedOut,
    LostItems,
    OverdueItems,
    OverdueRecalls,
    DaysOfAnOverdueRecall,
    FeeFineBalance,
}

impl Counted {
    const ALL: [(Uuid, Counted); 6] = [
        (uuid!("3d7c52dc-c732-4223-8bf8-e5917801386f"), Counted::ItemsChargedOut),
        (uuid!("72b67965-5b73-4840-bc0b-be8f3f6e047e"), Counted::LostItems),
        (uuid!("584fbd4f-6a34-4730-a6ca-73a6a6a9d845"), Counted::OverdueItems),
        (uuid!("e5b45031-a202-4abb-917b-e1df9346fe2c"), Counted::OverdueRecalls),
        (uuid!("08530ac4-07f2-48e6-9dda-a97bc2bf7053"), Counted::DaysOfAnOverdueRecall),
        (uuid!("cf7a0d5f-a327-4ca1-aa9e-dc55ec006b8a"), Counted::FeeFineBalance),
    ];

    pub fn of(condition: Uuid) -> Option<Counted> {
        Counted::ALL.into_iter().find(|(id, _)| *id == condition).map(|(_, counted)| counted)
    }
}

/// The actions that a condition blocks when its limit is exceeded, and the message for staff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    pub id: Uuid,
    pub counted: Counted,
    pub borrowing: bool,
    pub renewals: bool,
    pub requests: bool,
    pub message: String,
}

/// The conditions of a library and the limits of its patron groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    conditions: Vec<Condition>,
    /// For each group the limits in the order in which they were set: index of the condition, and value.
    limits: HashMap<Uuid, Vec<(usize, f64)>>,
}

impl Conditions {
    /// Parses both kinds of records; invalid ones are ignored.
    pub fn read(conditions: &[Arc<Value>], limits: &[Arc<Value>]) -> Conditions {
        let conditions: Vec<Condition> =
            conditions.iter().filter_map(|record| read_condition(record)).collect();
        let mut by_group: HashMap<Uuid, Vec<(usize, f64)>> = HashMap::new();
        for limit in limits {
            let (Some(group), Some(condition), Some(value)) =
                (id_at(limit, "patronGroupId"), id_at(limit, "conditionId"), limit["value"].as_f64())
            else {
                continue;
            };
            if let Some(place) = conditions.iter().position(|known| known.id == condition) {
                by_group.entry(group).or_default().push((place, value));
            }
        }
        Conditions { conditions, limits: by_group }
    }

    /// The limits of a group, each with its condition.
    pub(super) fn limits_of(&self, group: Uuid) -> impl Iterator<Item = (&Condition, f64)> {
        let limits = self.limits.get(&group).map_or(&[][..], Vec::as_slice);
        limits.iter().map(|(place, value)| (&self.conditions[*place], *value))
    }

    /// Whether patrons of this group can be blocked at all; otherwise their loans and fees need not be counted.
    pub fn concern(&self, group: Option<Uuid>) -> bool {
        group.is_some_and(|group| {
            self.limits_of(group)
                .any(|(condition, _)| condition.borrowing || condition.renewals || condition.requests)
        })
    }
}

fn read_condition(record: &Value) -> Option<Condition> {
    let id = id_at(record, "id")?;
    let blocks = |name: &str| record[name] == true;
    Some(Condition {
        id,
        counted: Counted::of(id)?,
        borrowing: blocks("blockBorrowing"),
        renewals: blocks("blockRenewals"),
        requests: blocks("blockRequests"),
        message: record["message"].as_str().unwrap_or_default().to_owned(),
    })
}

fn id_at(record: &Value, name: &str) -> Option<Uuid> {
    record[name].as_str().and_then(|id| Uuid::parse_str(id).ok())
}
