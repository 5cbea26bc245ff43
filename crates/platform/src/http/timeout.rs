//! The time within which every call is answered.

use crate::node::ServerOptions;
use crate::surface::Route;
use std::time::Duration;

/// For load balancers, which call often and remove a node without an answer.
const HEALTH: Duration = Duration::from_secs(2);

/// Paths of long operations on many records or on whole tenants.
const LONG_WORK: &[&str] = &[
    "/_/",
    "/admin/flame-graph",
    "/reindex",
    "batch",
    "-bulk/",
    "/bulk",
    "/iteration",
    "/migration",
    "/data-import/",
    "/oai-pmh",
];

/// The time for authentication and again for the handler; reading a body has its own bound.
pub(super) fn of(route: &Route, options: &ServerOptions) -> Duration {
    let (method, path) = (route.method.as_str(), route.path.as_str());
    if matches!(path, "/admin/health" | "/_/health" | "/_/proxy/health") {
        HEALTH
    } else if route.is_timer() || LONG_WORK.iter().any(|part| path.contains(part)) {
        options.long_call_timeout
    } else if method == "DELETE" && !path.contains('{') {
        // By query: any number of records.
        options.long_call_timeout
    } else if method == "GET" || path.ends_with("/retrieve") {
        options.read_timeout
    } else {
        options.write_timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surface::ROUTES;

    #[test]
    fn desk_actions_have_less_time_than_reads_and_these_less_than_bulk_work() {
        let options = ServerOptions::default();
        let time = |method: &str, path: &str| {
            let route = ROUTES.iter().find(|route| route.method == method && route.path == path);
            of(route.unwrap_or_else(|| panic!("no route {method} {path}")), &options).as_secs()
        };
        assert_eq!(time("GET", "/admin/health"), 2);
        assert_eq!(time("POST", "/circulation/check-out-by-barcode"), 30);
        assert_eq!(time("GET", "/users"), 75);
        assert_eq!(time("POST", "/item-storage/items/retrieve"), 75);
        assert_eq!(time("DELETE", "/users"), 900);
        assert_eq!(time("POST", "/item-storage/batch/synchronous"), 900);
    }
}
