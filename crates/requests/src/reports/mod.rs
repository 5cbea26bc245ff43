//! Reports for printing: slips, the hold shelf clearance report, items in transit. Read only.

mod hold_shelf_clearance;
mod items_by_instance;
mod items_in_transit;
mod slips;

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    slips::connect(router);
    hold_shelf_clearance::connect(router);
    items_in_transit::connect(router);
    items_by_instance::connect(router);
}

/// Condition on the status of an item, given in lower case, with the expression of its index; not for `available` and
/// `checked out`, which are not indexed.
fn status_is(status: &str) -> String {
    format!("left(carrel.f_lower(item_state.rare_status), 600) COLLATE \"C\" = '{status}'")
}
