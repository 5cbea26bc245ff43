//! The list of wings.

use carrel_platform::record_store::routes;
use carrel_platform::{Router, Wing};

/// Every wing of the house, those referred to before those that refer.
pub fn wings() -> Vec<Wing> {
    vec![
        carrel_users::wing(),
        carrel_inventory::wing(),
        carrel_fees_fines::wing(),
        carrel_notices::wing(),
        carrel_circulation::wing(),
    ]
}

/// All routes with their handlers: rooms first, then plain records.
pub fn router() -> Router {
    let mut router = Router::default();
    crate::outside::connect(&mut router);
    crate::gateway::connect(&mut router);
    crate::enabling::connect(&mut router);
    crate::background::connect(&mut router);
    crate::admin::connect(&mut router);
    let wings = wings();
    for wing in &wings {
        (wing.routes)(&mut router);
    }
    for wing in &wings {
        routes::connect(&mut router, wing.records);
    }
    router
}
