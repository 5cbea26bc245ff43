//! Instances for staff: with relationships, preceding and succeeding titles, and bound-with parts.
//!
//! Routes: `/inventory/instances` (GET by query, POST), `/inventory/instances/batch`, `/inventory/instances/{id}` (GET,
//! PUT, PATCH, `mark-deleted`), `/inventory/holdings/{id}` (PUT), `/inventory/config/…/blocked-fields`. Changes
//! instances through their own use case, and `instance_relationship` and `preceding_succeeding_title` in the same transaction.

mod facts;
mod holdings;
mod many;
mod related;
mod route;
mod shape;

use carrel_platform::Router;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    route::routes(router);
    holdings::routes(router);
}
