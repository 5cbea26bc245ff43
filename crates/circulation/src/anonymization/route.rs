//! Paths and statements of anonymization.

use super::decide::{ClosedLoan, Rule, accounts};
use crate::settings::CirculationSettings;
use carrel_audit::circulation_log;
use carrel_platform::http::pretty;
use carrel_platform::jobs::Job;
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router, Tenant, Tx};
use carrel_records::{Failure, Refusal, time};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;
use uuid::Uuid;

/// Loans per request to the route of the job, at most.
const MOST_SCHEDULED: i64 = 50_000;
/// Loans per request of staff, at most.
const MOST_REQUESTED: i64 = 5_000;
/// Loans per transaction of the job, at most.
const PAGE: i64 = 1_000;

/// Anonymizes loans by the tenant's setting.
pub static JOB: Job = Job {
    name: "scheduled-anonymize-processing",
    every: Duration::from_secs(3600),
    deadline: Duration::from_secs(3000),
    run: |run| {
        Box::pin(async move {
            let anonymized = anonymize_all(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{anonymized} loans anonymized"))
        })
    },
};

/// Anonymizes all closed loans with a patron that the setting allows, a page at a time; returns their number.
async fn anonymize_all(tenant: &Tenant, now: Timestamp) -> Result<usize, Failure> {
    let rule = scheduled_rule(tenant).await?;
    let (mut anonymized, mut after) = (0, None);
    while !rule.forgets_nothing() {
        let mut tx = tenant.begin().await?;
        let page = candidates(&mut tx, None, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        let allowed = page.iter().filter(|loan| rule.keeps(loan, now).is_none());
        let allowed: Vec<Uuid> = allowed.map(|loan| loan.id).collect();
        anonymized += allowed.len();
        anonymize(tx, allowed, now).await?;
    }
    Ok(anonymized)
}

async fn scheduled_rule(tenant: &Tenant) -> Result<Rule, Failure> {
    let settings = CirculationSettings::of(tenant).await?;
    Ok(Rule::scheduled(settings.settings.get("loan_history").map(|setting| &**setting)))
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/loan-anonymization/by-user/{userId}", |call| async move {
        let user = call.id(0)?;
        forget(&call, &Rule::ByStaff, Some(user), MOST_REQUESTED).await
    });
    router.on("POST", "/circulation/scheduled-anonymize-processing", |call| async move {
        let rule = scheduled_rule(call.tenant()?).await?;
        forget(&call, &rule, None, MOST_SCHEDULED).await
    });
    router.on("POST", "/loan-storage/loans/anonymize/{userId}", |call| async move {
        let user = call.id(0).map_err(|_| {
            Refusal::new("Invalid user ID, should be a UUID").with("userId", call.parameter(0)).of_storage()
        })?;
        let mut tx = call.tenant()?.begin().await?;
        let rows = tx
            .query(
                "SELECT id FROM loan WHERE user_id = $1 AND doc->'status'->>'name' = 'Closed'",
                vec![user.into()],
            )
            .await?;
        anonymize(tx, rows.iter().map(|row| row.get(0)).collect(), call.now).await?;
        Ok(Answer::no_content())
    });
    router.on("POST", "/anonymize-storage-loans", |call| async move {
        let sent = call.object()?;
        let ids: Vec<&str> = match sent.get("loanIds").and_then(Value::as_array) {
            Some(ids) => ids.iter().filter_map(Value::as_str).collect(),
            None => return Err(Failure::Invalid("loanIds must be a list of ids".into())),
        };
        let (valid, invalid): (Vec<&str>, Vec<&str>) =
            ids.iter().partition(|id| carrel_records::shape::is_uuid(id));
        if valid.is_empty() {
            let refusal = Refusal::new("Please provide valid loanIds");
            return Err(refusal.with("loanIds", format!("[{}]", ids.join(", "))).into());
        }
        let loans = valid.iter().filter_map(|id| Uuid::parse_str(id).ok()).collect();
        anonymize(call.tenant()?.begin().await?, loans, call.now).await?;
        let not: Vec<Value> = if invalid.is_empty() {
            Vec::new()
        } else {
            vec![json!({"reason": "invalidLoanIds", "loanIds": invalid})]
        };
        Ok(Answer::json(&json!({"anonymizedLoans": valid, "notAnonymizedLoans": not})))
    });
}

/// Anonymizes the loans that the rule allows; returns their ids, and the reasons for the others.
async fn forget(call: &Call, rule: &Rule, user: Option<Uuid>, at_most: i64) -> Result<Answer, Failure> {
    let mut forgotten = Vec::new();
    let mut kept: BTreeMap<&'static str, Vec<Uuid>> = BTreeMap::new();
    if !rule.forgets_nothing() {
        let mut tx = call.tenant()?.begin().await?;
        for loan in candidates(&mut tx, user, None, at_most).await? {
            match rule.keeps(&loan, call.now) {
                Some(reason) => kept.entry(reason).or_default().push(loan.id),
                None => forgotten.push(loan.id),
            }
        }
        anonymize(tx, forgotten.clone(), call.now).await?;
    }
    let errors: Vec<Value> = kept
        .into_iter()
        .map(|(reason, loans)| {
            // FOLIO quirk: the ids are a JSON array within a text.
            let loans = json!(loans).to_string();
            json!({"message": reason, "parameters": [{"key": "loanIds", "value": loans}]})
        })
        .collect();
    Ok(Answer::json_bytes(pretty(&json!({"anonymizedLoans": forgotten, "errors": errors}))))
}

/// Closed loans with a patron, locked, with their accounts; those with ids after the given one.
async fn candidates(
    tx: &mut Tx,
    user: Option<Uuid>,
    after: Option<Uuid>,
    at_most: i64,
) -> Result<Vec<ClosedLoan>, Failure> {
    let whose = if user.is_some() { "loan.user_id = $3" } else { "loan.user_id IS NOT NULL" };
    let sql = format!(
        "SELECT loan.id, loan.doc->>'systemReturnDate',
             (SELECT jsonb_agg(jsonb_build_object(
                  'closed', a.doc->'status'->>'name' = 'Closed',
                  'settled', (SELECT jsonb_agg(f.doc->'dateAction') FROM feefineactions f
                      WHERE f.account_id = a.id AND (f.doc->>'balance')::numeric = 0)))
              FROM accounts a WHERE a.loan_id = loan.id)
         FROM loan WHERE {whose} AND loan.doc->'status'->>'name' = 'Closed'
             AND ($2::uuid IS NULL OR loan.id > $2)
         ORDER BY loan.id LIMIT $1::bigint FOR NO KEY UPDATE OF loan"
    );
    let mut binds: Vec<Bind> = vec![at_most.into(), after.into()];
    binds.extend(user.map(Bind::from));
    let rows = tx.query(sql, binds).await?;
    Ok(rows
        .iter()
        .map(|row| ClosedLoan {
            id: row.get(0),
            returned: row.get::<_, Option<String>>(1).as_deref().and_then(time::parse),
            accounts: row
                .get::<_, Option<Json>>(2)
                .map(|listed| accounts(&listed.parse()))
                .unwrap_or_default(),
        })
        .collect())
}

/// Removes the patron from those of these loans that are closed, and from their history, desk sessions, notices and
/// events.
async fn anonymize(tx: Tx, loans: Vec<Uuid>, now: Timestamp) -> Result<(), Failure> {
    if loans.is_empty() {
        return Ok(());
    }
    let mut pipeline = Pipeline::new();
    for statement in ERASURE.iter() {
        pipeline.add(statement.as_str(), vec![loans.clone().into(), now.into()]);
    }
    tx.send_and_commit(pipeline).await?;
    Ok(())
}

/// The loan comes last, since the other rows are found by loans that still have a patron.
static ERASURE: LazyLock<Vec<String>> = LazyLock::new(|| {
    const THESE: &str = "FROM loan WHERE id = ANY($1) AND $2::timestamptz IS NOT NULL AND user_id IS NOT NULL AND doc->'status'->>'name' = 'Closed'";
    // After self-service, the loan's metadata contain the patron, too.
    let without_people = |document: &str| {
        let signature = |key: &str| {
            format!(
                "CASE WHEN {document}->'metadata'->'{key}' = {document}->'userId' THEN '{{metadata,{key}}}'::text[]
                     ELSE '{{}}'::text[] END"
            )
        };
        format!(
            "(({document} - 'userId' - 'proxyUserId') #- {}) #- {}",
            signature("createdByUserId"),
            signature("updatedByUserId")
        )
    };
    // Every statement is sent with both parameters, so each must use both.
    let loans = format!(
        "SELECT id, item_id,
             coalesce(doc->>'checkinServicePointId', doc->>'checkoutServicePointId')::uuid AS service_point_id
         {THESE}"
    );
    let mut statements = circulation_log::forgetting_loans(&loans, "$2").to_vec();
    statements.extend([
        format!(
            "UPDATE audit_loan SET doc = jsonb_set(doc, '{{loan}}', {}) WHERE loan_id IN (SELECT id {THESE})",
            without_people("(doc->'loan')")
        ),
        format!(
            "DELETE FROM patron_action_session WHERE patron_id IN (SELECT user_id {THESE})
                 AND doc->>'loanId' IN (SELECT id::text {THESE})"
        ),
        format!("DELETE FROM idempotency_key WHERE loan_id IN (SELECT id {THESE})"),
        format!("DELETE FROM scheduled_notice WHERE loan_id IN (SELECT id {THESE})"),
        format!("DELETE FROM notice_event WHERE loan_id IN (SELECT id {THESE})"),
        // An e-mail that is still to be sent is sent, and deleted with its time.
        format!(
            "DELETE FROM email_statistics WHERE id IN (
                 SELECT (doc->>'messageId')::uuid FROM patron_notice WHERE loan_id IN (SELECT id {THESE}))
                 AND NOT EXISTS (SELECT FROM email_delivery WHERE email_delivery.id = email_statistics.id)"
        ),
        format!(
            "DELETE FROM printed_notice WHERE id IN (
                 SELECT (doc->>'messageId')::uuid FROM patron_notice WHERE loan_id IN (SELECT id {THESE}))"
        ),
        format!("DELETE FROM patron_notice WHERE loan_id IN (SELECT id {THESE})"),
        format!("DELETE FROM outbox WHERE topic = 'circulation.loan' AND key IN (SELECT id::text {THESE})"),
        format!("UPDATE loan SET doc = {} WHERE id IN (SELECT id {THESE})", without_people("doc")),
    ]);
    statements
});
