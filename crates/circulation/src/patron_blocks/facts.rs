//! SQL of a patron's open loans and open fees/fines, for the statements of other use cases.

use super::{Facts, OpenFee, OpenLoan};
use crate::settings::CirculationSettings;
use carrel_platform::Json;
use carrel_records::{ItemStatus, time};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use serde_json::Value;
use uuid::Uuid;

/// SQL of the open loans of the user given as an SQL expression: a JSON array, or null.
///
/// Whether an item is lost or claimed returned is read from the loan, as in FOLIO: every circulation action stores it
/// there, and reading each item would cost a desk four pages for each loan. For loans without it, the item is read.
pub fn open_loans_sql(user: &str) -> String {
    loans_sql(user, "open_loan.is_open", &format!("coalesce(open_loan.doc->>'itemStatus', {ITEM_STATUS})"))
}

/// The same loans, found and counted independently: by the status in each document, and by the state of the item.
pub(super) fn recomputed_loans_sql(user: &str) -> String {
    loans_sql(user, "open_loan.doc->'status'->>'name' = 'Open'", ITEM_STATUS)
}

const ITEM_STATUS: &str =
    "(SELECT lent_state.status FROM item_state lent_state WHERE lent_state.item_id = open_loan.item_id)";

fn loans_sql(user: &str, is_open: &str, status: &str) -> String {
    format!(
        "(SELECT jsonb_agg(jsonb_build_array(open_loan.id, open_loan.doc->'dueDate',
                open_loan.doc->'dueDateChangedByRecall', {status}, open_loan.doc->'loanPolicyId'))
          FROM loan open_loan WHERE open_loan.user_id = {user} AND {is_open})"
    )
}

/// SQL of the user's open fees/fines: a JSON array, or null.
pub fn open_fees_sql(user: &str) -> String {
    format!(
        "(SELECT jsonb_agg(jsonb_build_array(owed.id, owed.doc->'feeFineId', owed.doc->'loanId',
                owed.doc->>'remaining'))
          FROM accounts owed WHERE owed.user_id = {user} AND owed.doc->'status'->>'name' = 'Open'
            AND coalesce((owed.doc->>'remaining')::numeric, 0) <> 0)"
    )
}

/// Parses the values of [`open_loans_sql`] and [`open_fees_sql`]. The grace period is that of the loan's policy.
pub fn read(
    loans: Option<Json>,
    fees: Option<Json>,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Facts {
    Facts {
        now,
        loans: Json::elements(loans).iter().filter_map(|loan| read_loan(loan, settings)).collect(),
        fees: Json::elements(fees).iter().filter_map(read_fee).collect(),
    }
}

fn read_loan(loan: &Value, settings: &CirculationSettings) -> Option<OpenLoan> {
    let status = ItemStatus::from(loan[3].as_str().unwrap_or_default());
    let grace = id(&loan[4])
        .and_then(|policy| settings.loan_policies.get(&policy)?.loans_policy.as_ref()?.grace_period.as_ref())
        .map_or(SignedDuration::ZERO, |period| period.elapsed());
    Some(OpenLoan {
        id: id(&loan[0])?,
        due_date: loan[1].as_str().and_then(time::parse),
        recalled: loan[2] == true,
        lost: status.is_lost(),
        claimed_returned: status == ItemStatus::ClaimedReturned,
        grace,
    })
}

fn read_fee(fee: &Value) -> Option<OpenFee> {
    let amount = fee[3].as_str()?;
    Some(OpenFee {
        id: id(&fee[0])?,
        fee_fine_id: id(&fee[1]),
        loan: id(&fee[2]),
        remaining: amount.parse().or_else(|_| Decimal::from_scientific(amount)).ok()?,
    })
}

fn id(value: &Value) -> Option<Uuid> {
    value.as_str().and_then(|id| Uuid::parse_str(id).ok())
}
