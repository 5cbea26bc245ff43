//! Users: user records and patron groups, logging in, permissions, notes, and the settings of a tenant.

pub mod address_types;
pub mod administrator;
pub mod authorizer;
pub mod custom_fields;
pub mod departments;
pub mod extensions;
pub mod login;
pub mod notes;
pub mod patron_pin;
pub mod permissions;
pub mod profile_pictures;
pub mod proxies;
pub mod records;
pub mod self_registration;
pub mod settings;
pub mod staging_users;
pub mod user;
pub mod user_tenants;
pub mod users_bl;

use crate::extensions::Extensions;
use carrel_platform::jobs::Job;
use carrel_platform::record_store::upgrade::Step;
use carrel_platform::{Module, Router};
use serde_json::Value;

/// Tables and indexes beyond those of the declared records.
const TABLES: &str = concat!(include_str!("login/tables.sql"), include_str!("tables.sql"));

/// Tokens were revoked by time before they had generations.
const STEPS: &[Step] =
    &[Step { name: "2026-11-22 tokens have generations", sql: include_str!("login/generations.sql") }];

static JOBS: &[&Job] = &[&login::CLEANUP];

/// The users module.
pub fn module() -> Module {
    Module {
        name: "users",
        records: records::RECORD_TYPES,
        tables: TABLES,
        cached_tables: &["permissions", "permissions_users", "token_revocation", "config_data"],
        steps: STEPS,
        routes: |router: &mut Router| {
            permissions::connect(router);
            user::connect(router);
            custom_fields::connect(router);
            departments::connect(router);
            address_types::connect(router);
            proxies::connect(router);
            patron_pin::connect(router);
            user_tenants::connect(router);
            staging_users::connect(router);
            self_registration::connect(router);
            profile_pictures::connect(router);
            notes::connect(router);
            settings::connect(router);
        },
        jobs: JOBS,
        ..Module::EMPTY
    }
}

/// Connects the routes that need what other modules contribute.
pub fn connect_extended(router: &mut Router, extensions: &'static Extensions) {
    login::connect(router, extensions);
    user::deletion::connect(router, extensions);
    users_bl::connect(router, extensions);
}

/// Reference data of a new tenant: collection paths and documents.
pub fn first_records() -> Vec<(String, Value)> {
    let mut records = permissions::first_records();
    records.extend(profile_pictures::first_records());
    records.extend(notes::first_records());
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_handler_finds_its_route_in_the_surface() {
        (module().routes)(&mut Router::default());
    }
}
