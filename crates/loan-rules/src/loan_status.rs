//! Whether a loan is open: the patron has the item, or has not settled its loss.

use carrel_records::text_enum;
use serde_json::{Map, Value};

text_enum! {
    pub enum LoanStatus {
        Open = "Open",
        Closed = "Closed",
    }
}

impl LoanStatus {
    /// The status of a loan as stored or sent; `None` where it has none, or another text.
    pub fn of(loan: &Map<String, Value>) -> Option<LoanStatus> {
        LoanStatus::parse(loan.get("status")?.get("name")?.as_str()?)
    }
}
