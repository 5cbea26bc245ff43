//! Loans: open and closed ones, and their history.
//!
//! Routes: `/circulation/loans` (extended; also whole loans sent by clients), `…/change-due-date`, `…/add-info`;
//! `/loan-storage` (as stored, with history and anonymization); `/loan-anonymization`. Reads item, patron, fees/fines
//! and queue with the loan; changes the loan, each time with a history row; announces `circulation.loan`.
//!
//! `find` reads a loan with its related records, `view` is its form in the API, `store` writes it, `sent` decides about
//! a whole loan sent by a client, `history` adds one row for every change, `session` has the actions of a desk session.

pub mod change;
mod fee_fine_report;
pub mod find;
mod history;
pub mod log;
mod route;
mod sent;
pub mod session;
mod storage;
pub mod store;
pub mod view;

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    route::connect(router);
    storage::connect(router);
    change::connect(router);
    session::connect(router);
    fee_fine_report::connect(router);
}
