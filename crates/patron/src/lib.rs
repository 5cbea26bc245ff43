//! The patron's account: the API for patrons in a discovery system, without staff.
//!
//! Routes: `/patron/account/{accountId}` (loans, holds and charges with totals), renewals, holds of an item, an
//! instance or several items at once, cancellation, allowed pickup service points. This crate has no rules: a hold is
//! placed by `carrel_requests::place`, renewed by `carrel_circulation::renewal`, cancelled by `carrel_requests::edit`,
//! in the same two round trips as at the desk and without overrides.

mod account;
pub mod batch;
mod cancel;
mod hold;
mod hold_request;
mod pickup;
mod removed_routes;
mod renew;
mod response;

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router, TransactionListeners};
use carrel_records::{Failure, Refusal, RefusalCode};

/// The background jobs.
static JOBS: &[&Job] = &[&batch::PLACING];

/// The patron module.
pub fn module() -> Module {
    Module {
        name: "patron",
        tables: include_str!("tables.sql"),
        routes: |router: &mut Router| {
            account::connect(router);
            renew::connect(router);
            hold::connect(router);
            cancel::connect(router);
            pickup::connect(router);
            batch::connect(router);
            removed_routes::connect(router);
        },
        jobs: JOBS,
        transaction_listeners: |listeners: &mut TransactionListeners| {
            listeners.connect(batch::forget_request)
        },
        ..Module::EMPTY
    }
}

/// A refusal in the form for patrons: without overrides, since no staff are present; malformed values of circulation
/// become refusals, too.
fn shown_to_patron(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(refusals) => Failure::Refused(
            refusals.into_iter().map(|refusal| Refusal { overridable: None, ..refusal }).collect(),
        ),
        Failure::Invalid(request) | Failure::Conflict(request) => bad_request(request),
        other => other,
    }
}

fn bad_request(request: String) -> Failure {
    Refusal::new(request).code(RefusalCode::BadRequest).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_use_case_finds_its_routes_in_the_surface() {
        (module().routes)(&mut Router::default());
    }

    #[test]
    fn a_patron_hears_nothing_of_overrides() {
        let blocked = Refusal::new("Too late").overridable("patronBlock", vec!["a.permission"]);
        let Failure::Refused(refusals) = shown_to_patron(blocked.into()) else {
            unreachable!("still refused")
        };
        assert_eq!(refusals, [Refusal::new("Too late")]);
        let Failure::Refused(refusals) = shown_to_patron(Failure::Invalid("What?".into())) else {
            unreachable!("now refused")
        };
        assert_eq!(refusals, [Refusal::new("What?").code(RefusalCode::BadRequest)]);
    }
}
