//! Users: accounts and their groups, logging in, permissions, and the settings of a tenant.

pub mod doorkeeper;
pub mod login;
pub mod permissions;
pub mod records;
pub mod settings;
pub mod users_bl;

use carrel_platform::{Router, Wing};

/// This wing.
pub fn wing() -> Wing {
    Wing {
        name: "users",
        records: records::RECORD_TYPES,
        tables: login::TABLES,
        routes: |router: &mut Router| {
            login::connect(router);
            permissions::connect(router);
            users_bl::connect(router);
            settings::connect(router);
        },
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
