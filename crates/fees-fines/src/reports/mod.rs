//! Reports on fees/fines: refunds, cash drawer reconciliation, and all financial transactions.
//!
//! Routes: POST of `/feefine-reports/…`. Reading only: accounts, their actions, patrons, items and titles.

mod cash_drawer;
mod financial_transactions;
mod format;
mod refunds;
mod request;
mod totals;

pub use financial_transactions::{FindLoans, LoanDetails, report as financial_transactions};

use carrel_platform::Router;

/// Connects the routes, except the one of financial transactions, which needs the loans of another module.
pub fn routes(router: &mut Router) {
    router.on("POST", "/feefine-reports/refund", refunds::report);
    router.on("POST", "/feefine-reports/cash-drawer-reconciliation", cash_drawer::report);
    router.on("POST", "/feefine-reports/cash-drawer-reconciliation/sources", cash_drawer::sources);
}

/// Rows of a report, at most.
pub const MOST_ROWS: usize = 50_000;
