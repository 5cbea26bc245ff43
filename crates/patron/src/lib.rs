//! The patron's account: what a reader sees and does from a discovery system, without staff.
//!
//! Routes: `/patron/account/{accountId}` (loans, holds and charges with totals), renewing, holds of an item or a
//! title or several copies at once, cancelling, and where things may be picked up. Nothing here has rules of its
//! own: a hold is placed by `requests::place`, renewed by `renewal`, cancelled by `requests::edit`, in the same two
//! pipelines as at the desk and with nobody's right to override. Changes and announces what those do.

mod account;
pub mod batch;
mod cancel;
mod hold;
mod hold_request;
mod pickup;
mod removed_routes;
mod renew;
mod shown;

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router};
use carrel_records::{Failure, Refusal};

/// What is done in the background.
static JOBS: &[&Job] = &[&batch::PLACING];

/// This module.
pub fn module() -> Module {
    Module {
        name: "patron",
        records: &[],
        tables: include_str!("tables.sql"),
        cached_tables: &[],
        steps: &[],
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
        change_listeners: &[],
        transaction_listeners: |_| (),
    }
}

/// A refusal as the patron hears it: nobody of the staff is there to insist, and what circulation cannot
/// understand is one more refusal.
fn shown_to_patron(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(refusals) => Failure::Refused(
            refusals.into_iter().map(|refusal| Refusal { overridable: None, ..refusal }).collect(),
        ),
        Failure::Invalid(words) | Failure::Conflict(words) => bad_request(words),
        other => other,
    }
}

fn bad_request(words: String) -> Failure {
    Refusal::new(words).code("BAD_REQUEST").into()
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
        let Failure::Refused(reported) = shown_to_patron(blocked.into()) else {
            unreachable!("still refused")
        };
        assert_eq!(reported, [Refusal::new("Too late")]);
        let Failure::Refused(reported) = shown_to_patron(Failure::Invalid("What?".into())) else {
            unreachable!("now refused")
        };
        assert_eq!(reported, [Refusal::new("What?").code("BAD_REQUEST")]);
    }
}
