//! Malformed input is an error of the client: 4xx in FOLIO's shape, never 5xx, on every route that is built.

use super::routes::{built, filled_with, takes_a_body};
use carrel_platform::ServerOptions;
use carrel_platform::surface::Route;
use carrel_testkit::{Client, Reply, TestServer};

/// Routes that ignore the body, so a malformed one has no effect.
const READS_NO_BODY: &[(&str, &str)] = &[("POST", "/token/invalidate-all")];

/// Routes whose 422 is plain text, as it is in FOLIO.
const REPORTED_AS_TEXT: &[&str] = &["/check-out-lock-storage"];

/// Routes that answer 500 with this text while their feature is disabled, as in FOLIO.
const DISABLED: (&str, &str) = ("/users/profile-picture", "feature is not enabled for tenant");

fn in_folios_shape(route: &Route, reply: &Reply) -> Result<(), String> {
    if reply.status == 500 && route.path.starts_with(DISABLED.0) && reply.text().contains(DISABLED.1) {
        return Ok(());
    }
    if reply.status >= 500 {
        return Err(format!("{}", reply.status));
    }
    if reply.status == 422 && !REPORTED_AS_TEXT.contains(&route.path.as_str()) {
        let errors: Result<serde_json::Value, _> = serde_json::from_slice(&reply.body);
        if !errors.is_ok_and(|errors| errors["errors"][0]["message"].is_string()) {
            return Err("422 without a list of errors".into());
        }
    } else if reply.status >= 400 && reply.body.is_empty() {
        return Err(format!("{} without a word", reply.status));
    }
    Ok(())
}

async fn try_all(
    client: &Client,
    routes: Vec<(&'static Route, String)>,
    body: &str,
    fits: impl Fn(&Route, &Reply) -> Result<(), String>,
) {
    let mut wrong = Vec::new();
    for (route, path) in routes {
        let body = takes_a_body(route).then(|| body.to_owned().into());
        let reply = client.call(&route.method, &path, body).await;
        if let Err(words) = in_folios_shape(route, &reply).and_then(|()| fits(route, &reply)) {
            wrong.push(format!("{} {path}: {words}: {}", route.method, reply.text()));
        }
    }
    assert!(wrong.is_empty(), "these routes answer nonsense badly:\n{}", wrong.join("\n"));
}

fn with_a_body() -> Vec<(&'static Route, String)> {
    built().into_iter().filter(|(route, _)| takes_a_body(route)).collect()
}

#[tokio::test]
async fn broken_json_is_refused() {
    let server = TestServer::start().await;
    try_all(&server.admin, with_a_body(), "{\"a\": ", |route, reply| {
        let exempt = READS_NO_BODY.contains(&(&route.method, &route.path));
        if reply.status < 400 && !exempt { Err(format!("{} for broken JSON", reply.status)) } else { Ok(()) }
    })
    .await;
}

#[tokio::test]
async fn json_of_the_wrong_type_is_refused() {
    let server = TestServer::start().await;
    for body in
        ["[]", "null", "\"text\"", "17", "{\"id\": {\"a\": [1]}}", "{\"id\": \"no uuid\", \"name\": []}"]
    {
        try_all(&server.admin, with_a_body(), body, |_, _| Ok(())).await;
    }
}

#[tokio::test]
async fn invalid_utf_8_and_nul_characters_are_refused() {
    let server = TestServer::start().await;
    let mut wrong = Vec::new();
    for (route, path) in with_a_body() {
        let body: &[u8] = b"{\"name\": \"\xff\xfe\", \"id\": \"\\u0000\"}";
        let reply = server.admin.call(&route.method, &path, Some(body.into())).await;
        if reply.status >= 500 {
            wrong.push(format!("{} {path}: {} {}", route.method, reply.status, reply.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn another_content_type_is_accepted_or_refused() {
    let server = TestServer::start().await;
    let client = server.admin.with_header("content-type", "application/xml");
    try_all(&client, with_a_body(), "<record/>", |_, _| Ok(())).await;
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server =
        TestServer::start_in(ServerOptions { largest_body: 2_000, ..ServerOptions::default() }).await;
    let body = format!("{{\"name\": \"{}\"}}", "x".repeat(4_000));
    try_all(&server.admin, with_a_body(), &body, |_, reply| match reply.status {
        413 => Ok(()),
        status => Err(format!("{status} instead of 413")),
    })
    .await;
}

#[tokio::test]
async fn a_malformed_id_is_refused() {
    let server = TestServer::start().await;
    for text in ["no-uuid", "%00", "'%20OR%201=1", "00000000-0000-0000-0000-00000000000g"] {
        let routes = filled_with(text).into_iter().filter(|(route, _)| route.path.contains('{')).collect();
        try_all(&server.admin, routes, "{}", |_, _| Ok(())).await;
    }
}

#[tokio::test]
async fn a_malformed_query_is_refused() {
    let server = TestServer::start().await;
    let deep = format!("{}a=b{}", "(".repeat(3_000), ")".repeat(3_000));
    for query in [
        "query=%29%28",
        "query=name==",
        "query=nosuchfield==x%20sortBy%20nosuchfield",
        "query=%22%00%22",
        "query=id==nouuid",
        "query=a%20prox%20b",
        "limit=-1",
        "limit=x",
        "offset=99999999999999999999",
        "limit=1&offset=-5",
        &format!("query={deep}"),
    ] {
        let routes = built()
            .into_iter()
            .filter(|(route, _)| matches!(route.method.as_str(), "GET" | "DELETE"))
            .map(|(route, path)| (route, format!("{path}?{query}")))
            .collect();
        try_all(&server.admin, routes, "", |_, _| Ok(())).await;
    }
}
