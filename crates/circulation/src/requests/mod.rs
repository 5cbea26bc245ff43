//! Requests: what patrons ask for, and who gets an item next.
//!
//! `place` a request, `edit` or cancel it, move it to another item, put a queue into another order, let requests
//! expire. `queue` says what positions become, `policy` what a patron may ask for, `snapshot` what a stored
//! request keeps of the records around it, `view` how clients see it. Whoever changes a queue holds it
//! (`desk::queue`).

pub mod allowed_service_points;
mod anonymize;
pub(crate) mod change;
pub(crate) mod edit;
mod effects;
mod expiry;
#[cfg(test)]
mod fixtures;
mod form;
pub(crate) mod hold;
pub(crate) mod instances;
mod move_to;
pub mod place;
pub mod policy;
pub mod queue;
mod queue_level;
pub mod read;
mod refresh;
mod remove;
mod reorder;
pub mod snapshot;
mod storage;
pub mod view;
pub mod words;

pub use expiry::EXPIRY;
pub use queue_level::QUEUE_LEVEL;
pub use refresh::{CHANGE_LISTENERS, REFRESH};

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    place::connect(router);
    read::connect(router);
    edit::connect(router);
    remove::connect(router);
    move_to::connect(router);
    reorder::connect(router);
    storage::connect(router);
    instances::connect(router);
    allowed_service_points::connect(router);
    expiry::connect(router);
    anonymize::connect(router);
    queue_level::connect(router);
}
