//! The automated blocks of a patron.

mod conditions;

pub use conditions::Conditions;

use self::conditions::{Condition, Counted};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use serde::Deserialize;
use uuid::Uuid;

/// The patron's loans and accounts at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub now: Timestamp,
    pub loans: Vec<OpenLoan>,
    pub fees: Vec<OpenFee>,
}

/// A loan that is not closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenLoan {
    pub id: Uuid,
    pub due_date: Option<Timestamp>,
    /// Its due date was changed by a recall.
    pub recalled: bool,
    /// The item is declared lost or aged to lost.
    pub lost: bool,
    pub claimed_returned: bool,
    /// Until this long after its due date it does not count as overdue.
    pub grace: SignedDuration,
}

/// A fee/fine that is not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFee {
    pub id: Uuid,
    /// The kind of fee/fine.
    pub fee_fine_id: Option<Uuid>,
    pub loan: Option<Uuid>,
    pub remaining: Decimal,
}

/// The numbers that are compared with limits. Items claimed returned, and their accounts, are excluded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    pub charged_out: u32,
    pub lost: u32,
    pub overdue: u32,
    pub overdue_recalls: u32,
    /// Days, started ones included, by which the latest recalled loan is overdue.
    pub days_of_an_overdue_recall: i64,
    pub balance: Decimal,
}

/// A limit that the patron exceeds, and the actions that it blocks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Block {
    #[serde(rename = "patronBlockConditionId")]
    pub condition_id: Uuid,
    #[serde(rename = "blockBorrowing")]
    pub borrowing: bool,
    #[serde(rename = "blockRenewals")]
    pub renewals: bool,
    #[serde(rename = "blockRequests")]
    pub requests: bool,
    pub message: String,
}

/// The automated blocks of a patron of the group.
pub fn automated_blocks(facts: &Facts, conditions: &Conditions, group: Option<Uuid>) -> Vec<Block> {
    let Some(group) = group else { return Vec::new() };
    let counts = Counts::of(facts);
    conditions
        .limits_of(group)
        .map(|(condition, limit)| block_by(condition, limit, &counts))
        .filter(|block| block.borrowing || block.renewals || block.requests)
        .collect()
}

fn block_by(condition: &Condition, limit: f64, counts: &Counts) -> Block {
    let passed = counts.pass(condition.counted, limit);
    // A patron at the limit may keep and renew items, but not check out more.
    let full = condition.counted == Counted::ItemsChargedOut && f64::from(counts.charged_out) >= limit;
    Block {
        condition_id: condition.id,
        borrowing: condition.borrowing && (passed || full),
        renewals: condition.renewals && passed,
        requests: condition.requests && passed,
        message: condition.message.clone(),
    }
}

impl Counts {
    pub fn of(facts: &Facts) -> Counts {
        let mut counts = Counts::default();
        for loan in facts.loans.iter().filter(|loan| !loan.claimed_returned) {
            counts.charged_out += 1;
            counts.lost += u32::from(loan.lost);
            let minutes = loan.minutes_overdue(facts.now);
            if minutes == 0 {
                continue;
            }
            counts.overdue += 1;
            if loan.recalled {
                counts.overdue_recalls += 1;
                let days = (minutes + MINUTES_A_DAY - 1) / MINUTES_A_DAY;
                counts.days_of_an_overdue_recall = counts.days_of_an_overdue_recall.max(days);
            }
        }
        let claimed = |fee: &&OpenFee| {
            facts.loans.iter().any(|loan| loan.claimed_returned && Some(loan.id) == fee.loan)
        };
        counts.balance = facts.fees.iter().filter(|fee| !claimed(fee)).map(|fee| fee.remaining).sum();
        counts
    }

    /// The numbers that differ, each with its value here and in the other counts.
    pub fn differences(&self, other: &Counts) -> Vec<String> {
        let numbers = |counts: &Counts| {
            [
                ("items charged out", counts.charged_out.to_string()),
                ("lost items", counts.lost.to_string()),
                ("overdue items", counts.overdue.to_string()),
                ("overdue recalls", counts.overdue_recalls.to_string()),
                ("days of an overdue recall", counts.days_of_an_overdue_recall.to_string()),
                ("fee/fine balance", counts.balance.normalize().to_string()),
            ]
        };
        numbers(self)
            .into_iter()
            .zip(numbers(other))
            .filter(|(here, there)| here != there)
            .map(|((name, here), (_, there))| format!("{name} {here} instead of {there}"))
            .collect()
    }

    fn pass(&self, counted: Counted, limit: f64) -> bool {
        match counted {
            Counted::ItemsChargedOut => f64::from(self.charged_out) > limit,
            Counted::LostItems => f64::from(self.lost) > limit,
            Counted::OverdueItems => f64::from(self.overdue) > limit,
            Counted::OverdueRecalls => f64::from(self.overdue_recalls) > limit,
            Counted::DaysOfAnOverdueRecall => self.days_of_an_overdue_recall as f64 > limit,
            Counted::FeeFineBalance => Decimal::from_f64(limit).is_some_and(|limit| self.balance > limit),
        }
    }
}

const MINUTES_A_DAY: i64 = 1440;

impl OpenLoan {
    /// Whole minutes since it was due; zero within the grace period, all of them after it.
    fn minutes_overdue(&self, now: Timestamp) -> i64 {
        let Some(due) = self.due_date.filter(|due| *due < now) else { return 0 };
        let minutes = now.duration_since(due).as_mins();
        if minutes > self.grace.as_mins() { minutes } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    const GROUP: Uuid = Uuid::from_u128(1);
    const CHARGED_OUT: &str = "3d7c52dc-c732-4223-8bf8-e5917801386f";
    const LOST: &str = "72b67965-5b73-4840-bc0b-be8f3f6e047e";
    const OVERDUE: &str = "584fbd4f-6a34-4730-a6ca-73a6a6a9d845";
    const RECALLS: &str = "e5b45031-a202-4abb-917b-e1df9346fe2c";
    const RECALL_DAYS: &str = "08530ac4-07f2-48e6-9dda-a97bc2bf7053";
    const BALANCE: &str = "cf7a0d5f-a327-4ca1-aa9e-dc55ec006b8a";

    fn now() -> Timestamp {
        "2024-05-01T12:00:00Z".parse().expect("a time")
    }

    fn facts() -> Facts {
        Facts { now: now(), loans: Vec::new(), fees: Vec::new() }
    }

    /// A loan that is due tomorrow.
    fn loan() -> OpenLoan {
        OpenLoan {
            id: Uuid::from_u128(9),
            due_date: Some(now() + SignedDuration::from_hours(24)),
            recalled: false,
            lost: false,
            claimed_returned: false,
            grace: SignedDuration::ZERO,
        }
    }

    fn overdue(minutes: i64) -> OpenLoan {
        OpenLoan { due_date: Some(now() - SignedDuration::from_mins(minutes)), ..loan() }
    }

    fn fee(remaining: &str) -> OpenFee {
        OpenFee {
            id: Uuid::from_u128(5),
            fee_fine_id: None,
            loan: Some(loan().id),
            remaining: remaining.parse().expect("an amount"),
        }
    }

    /// A condition that blocks everything, with a limit for the group.
    fn limit(condition: &str, value: f64) -> Conditions {
        limit_for(
            condition,
            value,
            json!({"blockBorrowing": true, "blockRenewals": true, "blockRequests": true}),
        )
    }

    fn limit_for(condition: &str, value: f64, mut blocks: serde_json::Value) -> Conditions {
        blocks["id"] = condition.into();
        blocks["message"] = "Too much".into();
        let limit = json!({"patronGroupId": GROUP, "conditionId": condition, "value": value});
        Conditions::read(&[Arc::new(blocks)], &[Arc::new(limit)])
    }

    /// Whether (check-out, renewals, requests) are blocked.
    fn blocked(facts: &Facts, conditions: &Conditions) -> (bool, bool, bool) {
        let blocks = automated_blocks(facts, conditions, Some(GROUP));
        blocks
            .first()
            .map_or((false, false, false), |block| (block.borrowing, block.renewals, block.requests))
    }

    const ALL: (bool, bool, bool) = (true, true, true);
    const NONE: (bool, bool, bool) = (false, false, false);

    #[test]
    fn a_patron_with_as_many_items_as_allowed_may_renew_but_not_borrow() {
        let with = |count: usize| Facts { loans: vec![loan(); count], ..facts() };
        let limit = limit(CHARGED_OUT, 2.0);
        assert_eq!(blocked(&with(1), &limit), NONE);
        assert_eq!(blocked(&with(2), &limit), (true, false, false));
        assert_eq!(blocked(&with(3), &limit), ALL);
    }

    #[test]
    fn more_than_the_limit_of_each_kind_blocks() {
        let recalled = |minutes| OpenLoan { recalled: true, ..overdue(minutes) };
        let lost = OpenLoan { lost: true, ..loan() };
        let table = [
            (LOST, vec![lost.clone()], vec![lost.clone(), lost]),
            (OVERDUE, vec![overdue(1)], vec![overdue(1), overdue(2)]),
            (RECALLS, vec![recalled(1), overdue(1)], vec![recalled(1), recalled(1)]),
            (RECALL_DAYS, vec![recalled(1440), overdue(9000)], vec![recalled(1441)]),
        ];
        for (condition, within, beyond) in table {
            let limit = limit(condition, 1.0);
            assert_eq!(blocked(&Facts { loans: within, ..facts() }, &limit), NONE, "{condition}");
            assert_eq!(blocked(&Facts { loans: beyond, ..facts() }, &limit), ALL, "{condition}");
        }
    }

    #[test]
    fn a_balance_blocks_from_the_first_cent_above_the_limit() {
        let limit = limit(BALANCE, 10.1);
        let owing =
            |fees: &[&str]| Facts { fees: fees.iter().map(|amount| fee(amount)).collect(), ..facts() };
        assert_eq!(blocked(&owing(&["10.00", "0.10"]), &limit), NONE);
        assert_eq!(blocked(&owing(&["10.00", "0.11"]), &limit), ALL);
    }

    #[test]
    fn an_item_claimed_returned_and_its_fees_do_not_count() {
        let claimed = OpenLoan { claimed_returned: true, ..overdue(9000) };
        let patron = Facts { loans: vec![claimed], fees: vec![fee("99")], ..facts() };
        assert_eq!(Counts::of(&patron), Counts::default());
    }

    #[test]
    fn a_loan_within_its_grace_period_is_not_overdue() {
        let late = OpenLoan { grace: SignedDuration::from_mins(60), ..overdue(60) };
        assert_eq!(late.minutes_overdue(now()), 0);
        assert_eq!(late.minutes_overdue(now() + SignedDuration::from_mins(1)), 61);
    }

    #[test]
    fn counts_that_differ_are_named_with_both_values() {
        let one = Counts { charged_out: 2, balance: "1.50".parse().expect("an amount"), ..Counts::default() };
        let same = Counts { balance: "1.5".parse().expect("an amount"), ..one.clone() };
        assert_eq!(one.differences(&same), [""; 0]);
        let other = Counts { charged_out: 1, lost: 1, ..one.clone() };
        assert_eq!(
            one.differences(&other),
            ["items charged out 2 instead of 1", "lost items 0 instead of 1"]
        );
    }

    #[test]
    fn only_what_the_condition_names_is_blocked() {
        let limit = limit_for(OVERDUE, 0.0, json!({"blockRequests": true}));
        assert_eq!(blocked(&Facts { loans: vec![overdue(5)], ..facts() }, &limit), (false, false, true));
        let nothing = limit_for(OVERDUE, 0.0, json!({}));
        assert_eq!(
            automated_blocks(&Facts { loans: vec![overdue(5)], ..facts() }, &nothing, Some(GROUP)),
            []
        );
        assert!(!nothing.concern(Some(GROUP)) && limit.concern(Some(GROUP)) && !limit.concern(None));
    }

    #[test]
    fn limits_of_other_groups_do_not_block() {
        let late = Facts { loans: vec![overdue(5)], ..facts() };
        assert_eq!(automated_blocks(&late, &limit(OVERDUE, 0.0), Some(Uuid::from_u128(2))), []);
        assert_eq!(automated_blocks(&late, &limit(OVERDUE, 0.0), None), []);
    }
}
