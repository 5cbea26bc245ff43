//! FOLIO's public surface as data: every route with its permission, every permission with its set. Authorization, the
//! API document and tests read these tables.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

/// One route of the surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub module: String,
    pub interface: String,
    pub version: String,
    pub method: String,
    /// Levels in braces are parameters: `/users/{id}`.
    pub path: String,
    /// All of them are required; if empty, a valid token is enough, or no token is needed.
    pub permissions: Vec<String>,
    /// The permissions required instead if the path contains the caller's own tenant; `None` if that makes no
    /// difference.
    pub own_tenant_permissions: Option<Vec<String>>,
    /// When FOLIO's timers call it: `every 5 minute`, `cron=0 2 * * *; zone=CET`; empty for ordinary routes.
    pub timing: String,
}

impl Route {
    /// Called by FOLIO's timers, and not available to ordinary callers.
    pub fn is_timer(&self) -> bool {
        !self.timing.is_empty()
    }
}

/// Every route of FOLIO's modules that Carrel covers, and Carrel's own.
pub static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let mut routes = read_routes(include_str!("../surface/routes.tsv"));
    routes.extend(read_routes(include_str!("../surface/own-routes.tsv")));
    let mut seen = HashSet::new();
    routes.retain(|route| seen.insert((route.method.clone(), route.path.clone())));
    routes
});

/// The routes that FOLIO's timers call, by module; some of them are ordinary routes as well.
pub static TIMER_ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let mut routes = read_routes(include_str!("../surface/routes.tsv"));
    routes.retain(Route::is_timer);
    routes
});

/// Routes of simulated modules in public test suites, which no FOLIO module has in this form: a suite writes to them
/// what it reads back later. Lenient tenants have them in addition to the surface.
pub static STAND_INS: LazyLock<Vec<Route>> =
    LazyLock::new(|| read_routes(include_str!("../surface/stand-in-routes.tsv")));

/// Each permission and the permissions that it contains.
pub static PERMISSIONS: LazyLock<Vec<Permission>> = LazyLock::new(|| {
    let mut seen = HashSet::new();
    include_str!("../surface/permissions.tsv")
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut cells = line.split('\t');
            let (module, name, inner) = (cells.next()?, cells.next()?, cells.next().unwrap_or(""));
            seen.insert(name).then(|| Permission {
                module: module.to_owned(),
                name: name.into(),
                contains: split(inner).map(Into::into).collect(),
            })
        })
        .collect()
});

/// The release of each FOLIO module in the surface. Clients find the module's public schemas by it.
pub static MODULES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    include_str!("../surface/modules.tsv").lines().skip(1).filter_map(|line| line.split_once('\t')).collect()
});

/// The id of a module as gateways write it: `mod-users-19.6.0`.
pub fn module_id(module: &str) -> String {
    format!("{module}-{}", MODULES.get(module).unwrap_or(&env!("CARGO_PKG_VERSION")))
}

/// Permissions by name.
pub static PERMISSION_BY_NAME: LazyLock<HashMap<&'static str, &'static Permission>> =
    LazyLock::new(|| PERMISSIONS.iter().map(|permission| (&*permission.name, permission)).collect());

/// The set with all permissions, which the first administrator of a tenant has.
pub const EVERYTHING: &str = "carrel.all";

/// A permission of FOLIO, with those that it contains.
#[derive(Debug)]
pub struct Permission {
    pub module: String,
    pub name: Arc<str>,
    pub contains: Vec<Arc<str>>,
}

/// The beginning of paths that contain a tenant.
const OWN_TENANT: &str = "/_/proxy/tenants/{tenantId}/";

fn split(cell: &str) -> impl Iterator<Item = &str> {
    cell.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn read_routes(table: &str) -> Vec<Route> {
    let mut routes = Vec::new();
    for line in table.lines().skip(1).filter(|line| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [module, interface, version, method, path, permissions, timer, kind, ..] = cells[..] else {
            panic!("a route has eight cells at least: {line:?}");
        };
        // Edge modules have separate addresses, and a filter is not a route.
        if kind == "edge" || kind == "filter" {
            continue;
        }
        let permissions: Vec<String> = split(permissions).map(str::to_owned).collect();
        let own_tenant_permissions = cells
            .get(9)
            .and_then(|note| note.strip_prefix("permissionsRequiredTenant=[")?.strip_suffix(']'))
            .filter(|_| path.starts_with(OWN_TENANT))
            .map(|names| split(names).map(str::to_owned).collect::<Vec<String>>());
        let route = |method: &str, path: &str| Route {
            module: module.to_owned(),
            interface: interface.to_owned(),
            version: version.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            permissions: permissions.clone(),
            own_tenant_permissions: own_tenant_permissions.clone(),
            timing: timer.to_owned(),
        };
        match path.strip_suffix('*') {
            None => routes.push(route(method, path)),
            // `/perms/users*` also matches the paths below it.
            Some("/perms/users") => {
                routes.push(route(method, "/perms/users"));
                match method {
                    "GET" => {
                        routes.push(route(method, "/perms/users/{id}"));
                        routes.push(route(method, "/perms/users/{id}/permissions"));
                    }
                    _ => routes.push(route(method, "/perms/users/{id}/permissions")),
                }
            }
            Some(path) => routes.push(route(method, path)),
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_and_path_occurs_once() {
        let mut seen = HashSet::new();
        for route in ROUTES.iter() {
            assert!(seen.insert((&route.method, &route.path)), "{} {}", route.method, route.path);
        }
        assert!(ROUTES.len() > 900);
    }

    #[test]
    fn stand_in_routes_are_not_part_of_the_surface() {
        for stand_in in STAND_INS.iter() {
            assert!(
                !ROUTES
                    .iter()
                    .any(|route| (&route.method, &route.path) == (&stand_in.method, &stand_in.path)),
                "{} {}",
                stand_in.method,
                stand_in.path
            );
        }
    }

    #[test]
    fn a_module_is_named_with_its_release() {
        assert_eq!(module_id("mod-users"), "mod-users-19.6.0");
    }

    #[test]
    fn a_permission_has_the_permissions_that_it_contains() {
        let all = PERMISSION_BY_NAME["circulation.all"];
        assert!(all.contains.iter().any(|name| &**name == "circulation.check-out-by-barcode.post"));
    }
}
