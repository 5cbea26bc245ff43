//! Reads the fees for lost items for decisions of circulation.

use super::TYPES;
use crate::actions::{Account, PastAction, read_past_actions};
use carrel_platform::database::Results;
use carrel_platform::{Bind, Json, Pipeline};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// A fee for a lost item.
#[derive(Debug, Clone, PartialEq)]
pub struct LostItemFee {
    pub id: Uuid,
    /// Name of its type, one of [`TYPES`].
    pub kind: String,
    pub created: Option<Timestamp>,
    pub payment_status: String,
    pub(super) account: Account,
}

impl LostItemFee {
    pub fn is_closed(&self) -> bool {
        self.account.is_closed
    }

    pub fn is_cancelled(&self) -> bool {
        self.payment_status.starts_with("Cancelled")
    }

    /// Reads a stored account.
    pub fn read(document: Value) -> Option<LostItemFee> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let created = document["metadata"]["createdDate"].as_str().and_then(time::parse);
        Some(LostItemFee {
            kind: text(&document["feeFineType"]),
            created,
            payment_status: text(&document["paymentStatus"]["name"]),
            id: document["id"].as_str().and_then(|id| Uuid::parse_str(id).ok())?,
            account: Account::read(document)?,
        })
    }
}

/// The fees for the lost item of a loan, with what was paid, transferred and refunded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LossFees {
    pub fees: Vec<LostItemFee>,
    pub(super) past: Vec<PastAction>,
}

/// Adds the statements that lock and read the fees for the lost item of a loan; [`LossFees::of`] reads their rows.
pub fn lock_fees(pipeline: &mut Pipeline, loan: Uuid) -> (usize, usize) {
    let types = || Bind::Texts(TYPES.iter().map(|name| (*name).to_owned()).collect());
    let fees = pipeline.add(
        "SELECT doc FROM accounts WHERE loan_id = $1 AND doc->>'feeFineType' = ANY($2) ORDER BY id
         FOR NO KEY UPDATE",
        vec![loan.into(), types()],
    );
    let past = pipeline.add(
        "SELECT account_id, doc->>'typeAction' AS result, doc->>'amountAction' AS amount,
             doc->>'paymentMethod' AS payment_method, doc->>'transactionInformation' AS transaction_information
         FROM feefineactions WHERE account_id = ANY (ARRAY(
             SELECT accounts.id FROM accounts WHERE accounts.loan_id = $1 AND accounts.doc->>'feeFineType' = ANY($2)))
         ORDER BY doc->>'dateAction', id",
        vec![loan.into(), types()],
    );
    (fees, past)
}

impl LossFees {
    /// Reads the rows of [`lock_fees`].
    pub fn of(results: &Results, (fees, past): (usize, usize)) -> LossFees {
        let fee = |row: &tokio_postgres::Row| LostItemFee::read(row.get::<_, Json>("doc").parse());
        LossFees {
            fees: results.rows(fees).iter().filter_map(fee).collect(),
            past: read_past_actions(results.rows(past)),
        }
    }

    /// Fees without actions, for tests of rules.
    pub fn unpaid(fees: Vec<LostItemFee>) -> LossFees {
        LossFees { fees, past: Vec::new() }
    }
}
