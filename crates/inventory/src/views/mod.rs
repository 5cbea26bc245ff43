//! Views: records together with related records in one answer, for scripts and search engines.
//!
//! Routes: `/inventory-view/instances`, `/inventory-view/instance-set` (instances with holdings records, items and links),
//! `/item-storage-dereferenced/items` (items with referenced records), `/record-bulk/ids` (ids alone),
//! `/search/instances` (instances in the form of mod-search). Reads only;
//! long lists are streamed.

mod dereferenced;
mod field_prefix;
mod instance_set;
mod inventory_view;
mod record_ids;
mod search;

use carrel_platform::Router;
use carrel_platform::http::Query;
use carrel_platform::record_store::read;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", "/inventory-view/instances", inventory_view::list);
    router.on("GET", "/inventory-view/instance-set", instance_set::list);
    router.on("GET", "/item-storage-dereferenced/items", dereferenced::list);
    router.on("GET", "/item-storage-dereferenced/items/{id}", dereferenced::find);
    router.on("GET", "/record-bulk/ids", record_ids::list);
    router.on("GET", "/search/instances", search::list);
}

/// Whether a parameter is `true`; the default is false.
fn is_asked(query: &Query, name: &str) -> bool {
    query.get(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
}

/// In the order of the table `page`. A LIMIT, even an unreachable one, makes the planner compute the documents after it
/// has sorted the page, so that the first one is sent before the last one is computed.
const AS_READ: &str = "ORDER BY page.place LIMIT 9223372036854775807";

/// The SQL expression of an object without its empty properties, `NULL` if none is left.
fn unless_empty(object: &str) -> String {
    format!("coalesce(({object}), '{{}}'::jsonb)")
}

/// The instances of a page, with `id` and `document`, as the table `page`.
fn titles(page: &str) -> String {
    format!("{} page", read::numbered("instance.id, instance.doc AS document", page))
}
