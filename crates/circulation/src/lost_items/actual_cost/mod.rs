//! Actual costs of lost items: staff determine the cost of an item and bill it, or decide not to.
//!
//! Routes: `POST /actual-cost-fee-fine/bill` and `…/cancel`, of mod-feesfines, and `POST
//! /circulation/actual-cost-expiration-by-timeout`. Each locks item, loan and record; changes the record; charges the
//! patron, or closes the loan as lost and paid if nothing else is owed.

mod balance_changed;
pub mod expiry;
pub mod record;
mod settle;

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    settle::connect(router);
    expiry::connect(router);
    balance_changed::connect(router);
}
