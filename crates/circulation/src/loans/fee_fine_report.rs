//! Loans for the report of financial transactions in fees and fines.
//!
//! Route: `POST /feefine-reports/financial-transactions-detail`. Reads loans and their policies.

use carrel_fees_fines::reports::{LoanDetails, financial_transactions};
use carrel_platform::{Connection, Json, Router};
use carrel_records::Failure;
use std::collections::HashMap;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/feefine-reports/financial-transactions-detail", |call| {
        financial_transactions(call, |connection, ids| Box::pin(find_loans(connection, ids)))
    });
}

async fn find_loans(connection: &Connection, ids: Vec<Uuid>) -> Result<HashMap<Uuid, LoanDetails>, Failure> {
    let rows = connection
        .query(
            "SELECT loan.id, loan.doc, loan_policy.doc->>'name' AS policy_name
             FROM loan LEFT JOIN loan_policy ON loan_policy.id::text = loan.doc->>'loanPolicyId'
             WHERE loan.id = ANY($1)",
            vec![ids.into()],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| {
            let details = LoanDetails {
                loan: row.get::<_, Json>("doc").parse(),
                loan_policy_name: row.get("policy_name"),
            };
            (row.get("id"), details)
        })
        .collect())
}
