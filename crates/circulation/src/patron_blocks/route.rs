//! Paths and answers: the blocks of a patron, and the facts on which they are based.

use super::{Block, Facts};
use super::{blocks_of, facts};
use crate::settings::CirculationSettings;
use crate::settings::GIVEN_BLOCKS;
use carrel_platform::{Answer, Call, Router, stand_in};
use carrel_records::{Failure, time};
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

pub(super) fn connect(router: &mut Router) {
    router.on("GET", "/automated-patron-blocks/{userId}", blocks_of_patron);
    router.on("GET", "/user-summary/{userId}", summary_of_patron);
    router.on_stand_in("POST", "/automated-patron-blocks", |call| async move {
        stand_in::keep(&call, GIVEN_BLOCKS).await
    });
}

/// The facts of a patron's blocks.
struct Counted {
    group: Option<Uuid>,
    settings: Arc<CirculationSettings>,
    facts: Facts,
}

async fn count(call: &Call, user: Uuid) -> Result<Counted, Failure> {
    let tenant = call.tenant()?;
    let sql = format!(
        "SELECT (SELECT value FROM settings_version WHERE id = 1),
            (SELECT patron_group FROM users WHERE id = $1), {}, {}",
        facts::open_loans_sql("$1"),
        facts::open_fees_sql("$1")
    );
    let rows = tenant.writer().await?.query(sql, vec![user.into()]).await?;
    let row = rows.first().ok_or_else(|| Failure::internal("a count has one row"))?;
    let settings = CirculationSettings::at_least(tenant, row.get(0)).await?;
    let facts = facts::read(row.get(2), row.get(3), &settings, call.now);
    Ok(Counted { group: row.get(1), settings, facts })
}

/// FOLIO quirk: a user who does not exist has no blocks.
async fn blocks_of_patron(call: Call) -> Result<Answer, Failure> {
    let user = user(&call, "Invalid user UUID")?;
    let counted = count(&call, user).await?;
    let blocks = blocks_of(&counted.settings, user, counted.group, Some(&counted.facts));
    let blocks: Vec<Value> = blocks.iter().map(shown).collect();
    Ok(Answer::json(&json!({"automatedPatronBlocks": blocks})))
}

fn shown(block: &Block) -> Value {
    json!({
        "patronBlockConditionId": block.condition_id,
        "blockBorrowing": block.borrowing,
        "blockRenewals": block.renewals,
        "blockRequests": block.requests,
        "message": block.message,
    })
}

async fn summary_of_patron(call: Call) -> Result<Answer, Failure> {
    let user = user(&call, "Invalid user ID")?;
    let Facts { loans, fees, .. } = count(&call, user).await?.facts;
    if loans.is_empty() && fees.is_empty() {
        return Err(Failure::NotFound(format!("User summary for user ID {user} not found")));
    }
    let loans: Vec<Value> = loans
        .iter()
        .map(|loan| {
            json!({
                "loanId": loan.id,
                "dueDate": loan.due_date.map(time::format),
                "recall": loan.recalled,
                "itemLost": loan.lost,
                "itemClaimedReturned": loan.claimed_returned,
                "gracePeriod": {"duration": loan.grace.as_mins(), "intervalId": "Minutes"},
            })
        })
        .collect();
    let fees: Vec<Value> = fees
        .iter()
        .map(|fee| {
            // An amount is a number here, as in the account.
            let balance = fee.remaining.to_string().parse().map_or(Value::Null, Value::Number);
            json!({"feeFineId": fee.id, "feeFineTypeId": fee.fee_fine_id, "loanId": fee.loan, "balance": balance})
        })
        .collect();
    Ok(Answer::json(&json!({
        // The summary is not stored; its id is derived from the user's.
        "id": Uuid::new_v5(&user, b"user-summary"),
        "userId": user,
        "openLoans": loans,
        "openFeesFines": fees,
    })))
}

fn user(call: &Call, words: &str) -> Result<Uuid, Failure> {
    call.id(0).map_err(|_| Failure::Invalid(format!("{words}: \"{}\"", call.parameter(0))))
}
