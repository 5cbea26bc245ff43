//! Course reserves: courses, their listings, instructors and the items reserved for them, as mod-courses stores them.
//!
//! Routes: `/coursereserves/…`. Those below a course listing show and change what belongs to it; reserves keep a copy of
//! what is searched of their item.

mod listings;
pub mod records;
mod reserves;

use carrel_platform::{Module, Router};

/// The course reserves module.
pub fn module() -> Module {
    Module {
        name: "course-reserves",
        records: records::RECORD_TYPES,
        routes: |router: &mut Router| {
            listings::connect(router);
            reserves::connect(router);
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
