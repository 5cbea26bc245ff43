//! Every route refuses callers without a token, with a token of another tenant, and without its permission. Exceptions
//! are listed here; the lists only shrink.

use carrel_platform::surface::{ROUTES, Route};
use carrel_testkit::{Client, OTHER_TENANT, TENANT, TestServer};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Routes without a token: those that issue one, and public information about the server.
const OPEN: [&str; 19] = [
    "GET /",
    "GET /_/health",
    "GET /_/proxy/health",
    "GET /_/version",
    "GET /admin/health",
    "GET /api-docs",
    "GET /consortia",
    "GET /desk",
    "GET /desk/assets/{file}",
    "GET /desk/{file}",
    "GET /openapi.json",
    "GET /saml/check",
    "POST /authn/login",
    "POST /authn/login-with-expiry",
    "POST /authn/refresh",
    "POST /bl-users/forgotten/password",
    "POST /bl-users/forgotten/username",
    "POST /bl-users/login",
    "POST /bl-users/login-with-expiry",
];

/// Routes that need a token and no permission: they concern the caller only.
const FOR_ALL_WITH_A_TOKEN: [&str; 10] = [
    "GET /_/jsonSchemas",
    "GET /_/ramls",
    "GET /bl-users/_self",
    "GET /data-import/testFileSplit",
    "POST /authn/logout",
    "POST /authn/logout-all",
    "POST /authn/update",
    "POST /bl-users/settings/myprofile/password",
    "POST /token/invalidate",
    "POST /token/invalidate-all",
];

/// Routes that end the session of the test.
const ENDS_THE_SESSION: [&str; 2] = ["POST /authn/logout-all", "POST /token/invalidate-all"];

fn name(route: &Route) -> String {
    format!("{} {}", route.method, route.path)
}

/// Routes that can be called, with ids in place of parameters.
fn callable() -> impl Iterator<Item = (&'static Route, String)> {
    ROUTES.iter().filter(|route| route.method != "*" && !route.path.contains('*')).map(|route| {
        let path = route
            .path
            .split('/')
            .map(|level| match level.starts_with('{') {
                true => "11111111-1111-4111-8111-111111111111",
                false => level,
            })
            .collect::<Vec<_>>()
            .join("/");
        (route, path)
    })
}

async fn status(client: &Client, route: &Route, path: &str) -> u16 {
    let body = ["POST", "PUT", "PATCH"].contains(&&*route.method).then(|| "{}".into());
    client.call(&route.method, path, body).await.status
}

#[tokio::test]
async fn without_a_token_only_open_routes_answer() {
    let server = TestServer::start().await;
    let stranger = server.stranger().with_header("x-okapi-tenant", TENANT);
    let mut passed = BTreeSet::new();
    for (route, path) in callable() {
        if status(&stranger, route, &path).await != 401 {
            passed.insert(name(route));
        }
    }
    let expected: BTreeSet<String> = OPEN.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(passed, expected, "routes that answer without a token are listed");
}

#[tokio::test]
async fn a_token_of_another_tenant_is_refused_by_every_route() {
    let server = TestServer::start().await;
    server.node.create_tenant(OTHER_TENANT, "Other", "").await.expect("made");
    let theirs = server.token_of(server.admin_id, "diku_admin", OTHER_TENANT);
    let caller = server.client_with(&theirs);
    for (route, path) in callable().filter(|(route, _)| !OPEN.contains(&&*name(route))) {
        assert_eq!(status(&caller, route, &path).await, 403, "{}", name(route));
    }
}

#[tokio::test]
async fn a_caller_without_permissions_is_refused_where_one_is_required() {
    let server = TestServer::start().await;
    let caller = server.client_of(Uuid::new_v4(), "nobody-in-particular");
    let mut passed = BTreeSet::new();
    for (route, path) in callable().filter(|(route, _)| !OPEN.contains(&&*name(route))) {
        if ENDS_THE_SESSION.contains(&&*name(route)) || status(&caller, route, &path).await != 403 {
            passed.insert(name(route));
        }
    }
    let expected: BTreeSet<String> = FOR_ALL_WITH_A_TOKEN.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(passed, expected, "routes that need no permission are listed");
}
