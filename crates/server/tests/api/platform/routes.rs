//! Authentication and authorization of every route that is built.

use carrel_platform::surface::Route;
use carrel_testkit::{ADMIN, OTHER_TENANT, TENANT, TestServer};
use uuid::Uuid;

/// Routes that need no token, and why. The list only shrinks.
const OPEN: &[(&str, &str, &str)] = &[
    ("GET", "/", "the start page"),
    ("GET", "/desk", "the staff desk's page, where people log in"),
    ("GET", "/desk/{file}", "a file of the staff desk"),
    ("GET", "/desk/assets/{file}", "a file of the staff desk"),
    ("GET", "/admin/health", "called by load balancers"),
    ("GET", "/openapi.json", "the API document"),
    ("GET", "/api-docs", "the API document for people"),
    ("GET", "/consortia", "called before login"),
    ("GET", "/saml/check", "called before login"),
    ("GET", "/_/version", "called before login"),
    ("GET", "/_/proxy/health", "called by load balancers"),
    ("GET", "/_/health", "called by load balancers"),
    ("POST", "/authn/login", "makes the token"),
    ("POST", "/authn/login-with-expiry", "makes the token"),
    ("POST", "/authn/refresh", "has the refresh token in its cookie"),
    ("POST", "/bl-users/login", "makes the token"),
    ("POST", "/bl-users/login-with-expiry", "makes the token"),
    ("POST", "/bl-users/forgotten/password", "for those who cannot log in"),
    ("POST", "/bl-users/forgotten/username", "for those who cannot log in"),
];

/// Built routes, with a value for each parameter.
pub fn built() -> Vec<(&'static Route, String)> {
    filled_with(&Uuid::new_v4().to_string())
}

/// Built routes with this text in place of each parameter.
pub fn filled_with(text: &str) -> Vec<(&'static Route, String)> {
    let router = carrel_server::modules::router();
    router
        .entries()
        .iter()
        .filter(|entry| entry.handler.is_some())
        .map(|entry| {
            let levels: Vec<&str> = entry
                .route
                .path
                .split('/')
                .map(|level| if level.starts_with('{') { text } else { level })
                .collect();
            (entry.route, levels.join("/"))
        })
        .collect()
}

pub fn takes_a_body(route: &Route) -> bool {
    matches!(route.method.as_str(), "POST" | "PUT" | "PATCH")
}

fn guarded() -> Vec<(&'static Route, String)> {
    let open =
        |route: &Route| OPEN.iter().any(|(method, path, _)| *method == route.method && *path == route.path);
    built().into_iter().filter(|(route, _)| !open(route)).collect()
}

/// Routes without a permission, which only operators may call.
fn is_for_operators(route: &Route) -> bool {
    route.is_timer() || route.path.starts_with("/_/tenant")
}

/// Calls each route and returns those with another status.
async fn all_answer(
    client: &carrel_testkit::Client,
    routes: &[(&'static Route, String)],
    statuses: &[u16],
) -> Vec<String> {
    let mut others = Vec::new();
    for (route, path) in routes {
        let body = takes_a_body(route).then(|| "{}".into());
        let reply = client.call(&route.method, path, body).await;
        if !statuses.contains(&reply.status) {
            others.push(format!("{} {}: {} {}", route.method, route.path, reply.status, reply.text()));
        }
    }
    others
}

#[tokio::test]
async fn every_route_refuses_a_caller_without_token() {
    let server = TestServer::start().await;
    let stranger = server.stranger().with_header("x-okapi-tenant", TENANT);
    let passed = all_answer(&stranger, &guarded(), &[401]).await;
    assert!(passed.is_empty(), "these routes let a caller without token pass:\n{}", passed.join("\n"));
}

#[tokio::test]
async fn every_route_refuses_the_token_of_another_tenant() {
    let server = TestServer::start().await;
    let token = server.token_of(server.admin_id, ADMIN, OTHER_TENANT);
    let passed = all_answer(&server.client_with(&token), &guarded(), &[401, 403]).await;
    assert!(passed.is_empty(), "these routes let another tenant's token pass:\n{}", passed.join("\n"));
}

#[tokio::test]
async fn every_route_refuses_a_token_that_was_tampered_with() {
    let server = TestServer::start().await;
    let mut token = server.token_of(server.admin_id, ADMIN, TENANT);
    let last = token.pop();
    token.push(if last == Some('A') { 'B' } else { 'A' });
    let passed = all_answer(&server.client_with(&token), &guarded(), &[401]).await;
    assert!(passed.is_empty(), "these routes let a forged token pass:\n{}", passed.join("\n"));
}

#[tokio::test]
async fn every_route_refuses_a_caller_without_its_permission() {
    let server = TestServer::start().await;
    let nobody = server.staff_with(&[]).await;
    let routes: Vec<_> = guarded()
        .into_iter()
        .filter(|(route, _)| !route.permissions.is_empty() || is_for_operators(route))
        .collect();
    assert!(routes.len() > 300, "only {} routes are tried", routes.len());
    let passed = all_answer(&nobody, &routes, &[403]).await;
    assert!(passed.is_empty(), "these routes need no permission:\n{}", passed.join("\n"));
}

/// Built routes without a permission in FOLIO: a token is enough. The list only shrinks.
const TOKEN_IS_ENOUGH: &[(&str, &str)] = &[
    ("POST", "/token/invalidate"),
    ("POST", "/token/invalidate-all"),
    ("POST", "/authn/logout"),
    ("POST", "/authn/logout-all"),
    ("POST", "/authn/update"),
    ("GET", "/bl-users/_self"),
    ("POST", "/bl-users/settings/myprofile/password"),
    ("DELETE", "/inventory/instances/{id}/mark-deleted"),
];

#[test]
fn routes_without_permission_are_listed() {
    let without: Vec<String> = guarded()
        .into_iter()
        .filter(|(route, _)| route.permissions.is_empty() && !is_for_operators(route))
        .filter(|(route, _)| !TOKEN_IS_ENOUGH.contains(&(&route.method, &route.path)))
        .map(|(route, _)| format!("(\"{}\", \"{}\"),", route.method, route.path))
        .collect();
    assert!(
        without.is_empty(),
        "these routes have no permission; where FOLIO has none either, add them to TOKEN_IS_ENOUGH:\n{}",
        without.join("\n")
    );
    for (method, path) in TOKEN_IS_ENOUGH {
        assert!(
            guarded().iter().any(|(route, _)| route.method == *method && route.path == *path),
            "{method} {path} is not built or not guarded: take it out of TOKEN_IS_ENOUGH"
        );
    }
}
