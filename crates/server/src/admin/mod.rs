//! Diagnostics for operators: index builds, slow statements, a flame graph.
//!
//! Routes: `GET /admin/index-builds`, `GET /admin/slow-statements`, `GET /admin/flame-graph`.

mod flame_graph;
mod index_builds;
mod slow_statements;

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    router.on("GET", "/admin/index-builds", index_builds::list);
    router.on("GET", "/admin/slow-statements", slow_statements::list);
    router.on("GET", "/admin/flame-graph", flame_graph::draw);
}
