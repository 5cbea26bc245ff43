//! The list of modules.

use carrel_platform::record_store::routes;
use carrel_platform::{Module, Router};
use carrel_users::extensions::Extensions;

/// All modules; a module comes after those whose tables it refers to.
pub fn modules() -> Vec<Module> {
    vec![
        carrel_users::module(),
        carrel_inventory::module(),
        carrel_calendar::module(),
        carrel_audit::module(),
        carrel_fees_fines::module(),
        carrel_notices::module(),
        carrel_circulation::module(),
        carrel_course_reserves::module(),
        carrel_requests::module(),
        carrel_patron::module(),
        carrel_lists::module(),
        carrel_pub_sub::module(),
    ]
}

/// Contributions of modules to the use cases of users.
static USER_EXTENSIONS: Extensions = Extensions {
    dependents: &[
        &carrel_circulation::user_dependents::DEPENDENTS,
        &carrel_fees_fines::user_dependents::DEPENDENTS,
        &carrel_requests::user_dependents::DEPENDENTS,
    ],
    service_points_of_user: carrel_inventory::user_service_points::add,
};

/// All routes with their handlers: use cases first, then plain records.
pub fn router() -> Router {
    let mut router = Router::default();
    crate::observability::connect(&mut router);
    crate::health::connect(&mut router);
    crate::desk_pages::connect(&mut router);
    crate::gateway::connect(&mut router);
    crate::okapi_modules::connect(&mut router);
    crate::background::connect(&mut router);
    crate::timers::connect(&mut router);
    crate::admin::connect(&mut router);
    let modules = modules();
    for module in &modules {
        (module.routes)(&mut router);
    }
    carrel_users::connect_extended(&mut router, &USER_EXTENSIONS);
    for module in &modules {
        routes::connect(&mut router, module.records);
    }
    router
}

#[cfg(test)]
mod tests {
    use super::modules;
    use carrel_records::{RecordType, soundness};

    #[test]
    fn the_declarations_of_all_modules_hold_together() {
        let all: Vec<&RecordType> =
            modules().iter().flat_map(|module| module.records.iter().copied()).collect();
        assert_eq!(soundness::faults(&all, &[]), [""; 0]);
        for key in all.iter().flat_map(|record| record.belongs_to) {
            assert!(all.iter().any(|record| record.table == key.to), "{} leads to no table", key.field);
        }
    }
}
