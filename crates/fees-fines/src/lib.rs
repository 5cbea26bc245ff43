//! Fees and fines.

pub mod policies;
pub mod records;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing {
        name: "fees-fines",
        records: records::RECORD_TYPES,
        tables: "",
        steps: &[],
        routes: |router: &mut Router| {
            policies::connect(router);
        },
        jobs: &[],
        follows: &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_room_finds_its_routes_in_the_surface() {
        (wing().routes)(&mut Router::default());
    }
}
