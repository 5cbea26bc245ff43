//! Events for other programs, with the API of mod-pubsub: event types, publishers, subscribers, and delivery of the
//! events in the outbox to subscribers by HTTP.

pub mod delivery;
mod event_types;
mod history;
mod modules;
mod publish;

pub use delivery::{Addresses, configure, start, stop};

use carrel_platform::jobs::Job;
use carrel_platform::{Module, Router};

static JOBS: &[&Job] = &[&history::RETENTION];

/// The pub-sub module.
pub fn module() -> Module {
    Module {
        name: "pub-sub",
        tables: include_str!("tables.sql"),
        routes: |router: &mut Router| {
            event_types::connect(router);
            modules::connect(router);
            publish::connect(router);
            history::connect(router);
        },
        jobs: JOBS,
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
