//! Fees and fines: accounts, the actions that settle them, reports, and the policies of charges.

mod actions;
mod cancel;
pub mod charge;
pub mod events;
pub mod loan_fees_closed;
mod log;
pub mod lost_item_fees;
pub mod patron_notified;
mod pay_waive_transfer;
pub mod policies;
pub mod records;
mod refund;
pub mod reports;
mod storage_answers;
pub mod user_dependents;

use carrel_platform::{Module, Router};

/// The fees and fines module.
pub fn module() -> Module {
    Module {
        name: "fees-fines",
        records: records::RECORD_TYPES,
        routes: |router: &mut Router| {
            policies::connect(router);
            charge::routes(router);
            pay_waive_transfer::routes(router);
            refund::routes(router);
            cancel::routes(router);
            reports::routes(router);
            storage_answers::routes(router);
        },
        ..Module::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_in_the_surface() {
        (module().routes)(&mut Router::default());
    }
}
