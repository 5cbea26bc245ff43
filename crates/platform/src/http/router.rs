//! Handlers by method and path. The paths are those of FOLIO's public API, from the route table (`surface.rs`).

use crate::http::{Answer, Call};
use crate::surface::{ROUTES, Route, STAND_INS};
use carrel_records::Failure;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// The future of a handler's answer.
pub type Handling = Pin<Box<dyn Future<Output = Result<Answer, Failure>> + Send>>;

/// The function that answers a route.
pub type Handler = Arc<dyn Fn(Call) -> Handling + Send + Sync>;

/// Turns an async function into a handler.
pub fn handler<F, W>(function: F) -> Handler
where
    F: Fn(Call) -> W + Send + Sync + 'static,
    W: Future<Output = Result<Answer, Failure>> + Send + 'static,
{
    Arc::new(move |call| Box::pin(function(call)))
}

/// A route of the route table and its handler; without one it answers 501.
pub struct RouteEntry {
    pub route: &'static Route,
    pub handler: Option<Handler>,
}

/// All routes.
pub struct Router {
    surface: Table,
    /// Routes that only tenants with stand-ins have.
    stand_ins: Table,
}

/// Routes by name and by path.
#[derive(Default)]
struct Table {
    entries: Vec<RouteEntry>,
    by_name: HashMap<(&'static str, &'static str), usize>,
    by_method: HashMap<&'static str, matchit::Router<usize>>,
}

impl Table {
    fn of(routes: &'static [Route]) -> Table {
        let mut table = Table::default();
        for (index, route) in routes.iter().enumerate() {
            table.entries.push(RouteEntry { route, handler: None });
            table.by_name.insert((&route.method, &route.path), index);
            table
                .by_method
                .entry(&route.method)
                .or_default()
                .insert(route.path.clone(), index)
                .unwrap_or_else(|error| panic!("{} {}: {error}", route.method, route.path));
        }
        table
    }

    fn connect(&mut self, method: &str, path: &str, handler: Handler) -> bool {
        let Some(index) = self.by_name.get(&(method, path)) else { return false };
        self.entries[*index].handler = Some(handler);
        true
    }

    fn find(&self, method: &str, path: &str) -> Option<(&RouteEntry, Vec<String>)> {
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        let matched = self.by_method.get(method)?.at(path).ok()?;
        let parameters = matched.params.iter().map(|(_, value)| super::call::decode(value, false)).collect();
        Some((&self.entries[*matched.value], parameters))
    }
}

impl Default for Router {
    fn default() -> Router {
        Router { surface: Table::of(&ROUTES), stand_ins: Table::of(&STAND_INS) }
    }
}

impl Router {
    /// Sets the handler of a route.
    ///
    /// # Panics If the route table does not have the route: a misspelling in a module.
    pub fn on<F, W>(&mut self, method: &str, path: &str, function: F)
    where
        F: Fn(Call) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Answer, Failure>> + Send + 'static,
    {
        assert!(self.try_on(method, path, handler(function)), "the surface has no route {method} {path}");
    }

    /// Sets the handler if the route table has the route; returns whether it has.
    pub fn try_on(&mut self, method: &str, path: &str, handler: Handler) -> bool {
        self.surface.connect(method, path, handler)
    }

    /// Sets the handler of a route that only tenants with stand-ins have.
    ///
    /// # Panics If the table of stand-in routes does not have the route: a misspelling in a module.
    pub fn on_stand_in<F, W>(&mut self, method: &str, path: &str, function: F)
    where
        F: Fn(Call) -> W + Clone + Send + Sync + 'static,
        W: Future<Output = Result<Answer, Failure>> + Send + 'static,
    {
        let of_tenants_with_stand_ins = move |call: Call| {
            let function = function.clone();
            async move {
                if !call.caller.profile.stand_ins {
                    return Err(Failure::NotFound(format!("Only lenient tenants have {}", call.route.path)));
                }
                function(call).await
            }
        };
        let connected = self.stand_ins.connect(method, path, handler(of_tenants_with_stand_ins));
        assert!(connected, "there is no stand-in {method} {path}");
    }

    /// Whether the route table has the route.
    pub fn knows(&self, method: &str, path: &str) -> bool {
        self.surface.by_name.contains_key(&(method, path))
    }

    /// Whether the route has a handler.
    pub fn answers(&self, method: &str, path: &str) -> bool {
        self.surface
            .by_name
            .get(&(method, path))
            .is_some_and(|index| self.surface.entries[*index].handler.is_some())
    }

    /// The path of one record below a collection's path, such as `/users/{id}`, if the route table has it.
    pub fn item_path(&self, method: &str, collection: &str) -> Option<&'static str> {
        ROUTES
            .iter()
            .find(|route| {
                route.method == method
                    && route.path.strip_prefix(collection).is_some_and(|rest| {
                        rest.starts_with("/{") && rest.ends_with('}') && rest.matches('/').count() == 1
                    })
            })
            .map(|route| route.path.as_str())
    }

    pub fn entries(&self) -> &[RouteEntry] {
        &self.surface.entries
    }

    /// The route for a request, with the decoded values of its parameters.
    pub fn find(&self, method: &str, path: &str) -> Option<(&RouteEntry, Vec<String>)> {
        self.surface.find(method, path)
    }

    /// The route of tenants with stand-ins for a request the route table does not match.
    pub fn find_stand_in(&self, method: &str, path: &str) -> Option<(&RouteEntry, Vec<String>)> {
        self.stand_ins.find(method, path).filter(|(entry, _)| entry.handler.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_path_wins_over_a_parameter() {
        let router = Router::default();
        let (entry, _) = router.find("GET", "/circulation/requests/allowed-service-points").expect("known");
        assert_eq!(entry.route.path, "/circulation/requests/allowed-service-points");
        let (entry, parameters) = router.find("GET", "/circulation/requests/x%20y").expect("known");
        assert_eq!((entry.route.path.as_str(), &parameters[0][..]), ("/circulation/requests/{id}", "x y"));
    }
}
