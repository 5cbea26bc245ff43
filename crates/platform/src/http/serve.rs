//! The gateway: finds the route, the tenant and the caller, asks for the permission, runs the handler, and
//! counts what it cost.

use crate::http::request_line::{CUT, Escaping};
use crate::http::tls::{Certificate, TlsListener};
use crate::http::{Answer, Call, Caller, Doorkeeper, Permissions, Query, Router};
use crate::meter::{Meter, metered};
use crate::surface::Route;
use crate::tenant::{Library, Tenant};
use crate::token::TokenKind;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use axum::serve::ListenerExt;
use carrel_records::Failure;
use futures_util::{FutureExt, StreamExt};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use uuid::Uuid;

/// The program as the network sees it.
pub struct App {
    pub library: Arc<Library>,
    pub router: Router,
    pub doorkeeper: Box<dyn Doorkeeper>,
    figures: HashMap<&'static str, ModuleFigures>,
    requests: AtomicU64,
}

/// Upper bounds of the latency histogram, in microseconds.
pub const BOUNDS: [u64; 12] =
    [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 250_000, 1_000_000, 8_000_000];

/// What one FOLIO module's routes have cost since the start.
#[derive(Debug, Default)]
pub struct ModuleFigures {
    pub by_class: [AtomicU64; 5],
    pub histogram: [AtomicU64; BOUNDS.len() + 1],
    pub micros: AtomicU64,
    pub busy_nanos: AtomicU64,
    pub flights: AtomicU64,
    pub database_nanos: AtomicU64,
    pub bytes: AtomicU64,
}

impl App {
    pub fn new(library: Arc<Library>, router: Router, doorkeeper: Box<dyn Doorkeeper>) -> Arc<App> {
        let figures =
            router.places().iter().map(|place| (&*place.route.module, ModuleFigures::default())).collect();
        Arc::new(App { library, router, doorkeeper, figures, requests: AtomicU64::new(0) })
    }

    pub fn figures(&self) -> impl Iterator<Item = (&'static str, &ModuleFigures)> {
        self.figures.iter().map(|(module, figures)| (*module, figures))
    }
}

/// Serves until the shutdown future ends, then lets requests under way finish.
pub async fn serve(
    app: Arc<App>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    // Answers leave at once: waiting to fill packets would add 40 ms to each call.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let listener = Escaping(listener).tap_io(|_| {});
    axum::serve(listener, router(app).into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(shutdown)
        .await
}

/// The same by HTTPS.
pub async fn serve_with_tls(
    app: Arc<App>,
    listener: TcpListener,
    certificate: Arc<Certificate>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let listener = Escaping(TlsListener::new(listener, certificate)?).tap_io(|_| {});
    axum::serve(listener, router(app).into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(shutdown)
        .await
}

fn router(app: Arc<App>) -> axum::Router {
    axum::Router::new().fallback(answer).with_state(app)
}

async fn answer(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request<Body>,
) -> Response<Body> {
    let started = Instant::now();
    let origin = request.headers().get(header::ORIGIN).cloned();
    if request.method() == Method::OPTIONS {
        return preflight(request.headers(), origin);
    }
    let meter = Arc::new(Meter::default());
    let number = app.requests.fetch_add(1, Relaxed);
    let (answer, route, request_id) = metered(Arc::clone(&meter), route(&app, peer, request, number)).await;
    if let Some(route) = route
        && let Some(figures) = app.figures.get(&*route.module)
    {
        count(figures, &answer, started.elapsed(), &meter);
    }
    let flights = app.library.manner.counts_flights.then(|| meter.flights.load(Relaxed));
    let body = match answer.rest {
        None => Body::from(answer.body),
        Some(rest) => {
            let begin = std::iter::once(Ok(Bytes::from(answer.body)));
            Body::from_stream(futures_util::stream::iter(begin).chain(rest))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    if answer.status != StatusCode::NO_CONTENT {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    }
    for (name, value) in answer.headers {
        headers.append(name, value);
    }
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        headers.insert("x-okapi-request-id", id);
    }
    if let Some(flights) = flights {
        headers.insert("x-carrel-flights", HeaderValue::from(flights));
    }
    allow_origin(headers, origin);
    response
}

fn count(figures: &ModuleFigures, answer: &Answer, took: Duration, meter: &Meter) {
    let micros = took.as_micros() as u64;
    let class = usize::from(answer.status.as_u16() / 100).clamp(1, 5) - 1;
    figures.by_class[class].fetch_add(1, Relaxed);
    let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
    figures.histogram[bucket].fetch_add(1, Relaxed);
    figures.micros.fetch_add(micros, Relaxed);
    figures.busy_nanos.fetch_add(meter.busy.load(Relaxed), Relaxed);
    figures.flights.fetch_add(meter.flights.load(Relaxed), Relaxed);
    figures.database_nanos.fetch_add(meter.database.load(Relaxed), Relaxed);
    figures.bytes.fetch_add(answer.body.len() as u64, Relaxed);
}

/// Preflights are answered without a question about permission, as browsers send them without credentials.
fn preflight(asked: &HeaderMap, origin: Option<HeaderValue>) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
    );
    let wanted = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned().unwrap_or_else(|| {
        HeaderValue::from_static(
            "content-type, authorization, x-okapi-tenant, x-okapi-token, x-okapi-request-id",
        )
    });
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
    allow_origin(headers, origin);
    response
}

fn allow_origin(headers: &mut HeaderMap, origin: Option<HeaderValue>) {
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("location, x-okapi-token, x-okapi-request-id"),
        );
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}

async fn route(
    app: &Arc<App>,
    peer: SocketAddr,
    request: Request<Body>,
    number: u64,
) -> (Answer, Option<&'static Route>, String) {
    let (head, body) = request.into_parts();
    let request_id = head
        .headers
        .get("x-okapi-request-id")
        .and_then(|value| value.to_str().ok())
        .filter(|id| id.len() <= 200)
        .map_or_else(|| format!("{number:06}/{}", first_level(head.uri.path())), str::to_owned);
    if let Some(answer) = head.headers.get(CUT).map(too_large) {
        return (answer, None, request_id);
    }
    let method = if head.method == Method::HEAD { "GET" } else { head.method.as_str() };
    let path = head.uri.path();
    let stand_in = || app.router.find_stand_in(method, path).filter(|_| app.library.manner.makes_tenants);
    let Some((place, parameters)) = app.router.find(method, path).or_else(stand_in) else {
        let tenant =
            head.headers.get("x-okapi-tenant").and_then(|t| t.to_str().ok()).unwrap_or("supertenant");
        let words = format!("No suitable module found for path {} for tenant {tenant}", head.uri.path());
        return (Answer::of_failure(&Failure::NotFound(words)), None, request_id);
    };
    let route = place.route;
    let seen = OnceLock::new();
    let outcome = async {
        let (tenant, caller) = enter(app, peer, route, &head.headers, &seen).await?;
        let handler = place.handler.as_ref().ok_or_else(|| {
            Failure::NotBuilt(format!("{} {} is known but not built yet", route.method, route.path))
        })?;
        let body = read_body(body, app.library.manner.largest_body).await?;
        let call = Call {
            library: Arc::clone(&app.library),
            tenant,
            caller,
            route,
            parameters,
            query: Query::read(head.uri.query().unwrap_or("")),
            headers: head.headers,
            body: body.to_vec(),
            request_id: request_id.clone(),
            now: Timestamp::now(),
        };
        let lenient = call.caller.lenient;
        // A mistake of ours in one call is told to this caller, and the connection lives on.
        let answer = AssertUnwindSafe(handler(call)).catch_unwind().await.unwrap_or_else(|_| {
            Err(Failure::internal("the handler panicked; the panic's own message stands in the log"))
        })?;
        Ok(if lenient { answer.with_modules_times() } else { answer })
    }
    .await;
    let outcome = match outcome {
        Err(failure) => Err(unless_tenant_is_gone(&app.library, seen.get(), failure).await),
        done => done,
    };
    let answer = outcome.unwrap_or_else(|failure| {
        if let Failure::Internal { .. } = &failure {
            tracing::error!(
                request.id = request_id,
                method = route.method,
                path = route.path,
                "{} {} failed: {}",
                route.method,
                route.path,
                with_causes(&failure)
            );
        }
        Answer::of_failure(&failure)
    });
    (answer, Some(route), request_id)
}

/// A request of which something was cut off before it was read.
fn too_large(mark: &HeaderValue) -> Answer {
    match mark.as_bytes() {
        b"414" => Answer::text(
            StatusCode::URI_TOO_LONG,
            "The request's address is too long; POST …/retrieve takes long queries",
        ),
        _ => Answer::text(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "The request's headers are too many or too long",
        ),
    }
}

/// A tenant that another node has dropped is known here for some seconds; what fails for want of its tables is told
/// as any call to a tenant that does not exist.
async fn unless_tenant_is_gone(library: &Library, tenant: Option<&Arc<Tenant>>, failure: Failure) -> Failure {
    let Some(tenant) = tenant else { return failure };
    let gone = match failure {
        Failure::Internal { .. } => library.has_lost(&tenant.id).await,
        // Its connections were closed under the call.
        Failure::Unavailable(_) => library.tenant(&tenant.id).is_none(),
        _ => false,
    };
    if gone { no_such_tenant(&tenant.id) } else { failure }
}

fn no_such_tenant(id: &str) -> Failure {
    Failure::Invalid(format!("No such Tenant {id}"))
}

fn with_causes(failure: &Failure) -> String {
    let mut text = failure.to_string();
    if let Failure::Internal { cause: Some(cause), .. } = failure {
        let mut source = cause.source();
        while let Some(cause) = source {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            source = cause.source();
        }
    }
    text
}

fn first_level(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or("")
}

async fn read_body(body: Body, largest: usize) -> Result<Bytes, Failure> {
    match Limited::new(body, largest).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(Failure::TooLarge(format!("The body is larger than {largest} bytes")))
        }
        Err(error) => Err(Failure::Invalid(format!("The body could not be read: {error}"))),
    }
}

fn keep(seen: &OnceLock<Arc<Tenant>>, tenant: &Option<Arc<Tenant>>) {
    if let Some(tenant) = tenant {
        let _ = seen.set(Arc::clone(tenant));
    }
}

/// Finds tenant and caller, and refuses who may not pass.
async fn enter(
    app: &Arc<App>,
    peer: SocketAddr,
    route: &'static Route,
    headers: &HeaderMap,
    seen: &OnceLock<Arc<Tenant>>,
) -> Result<(Option<Arc<Tenant>>, Caller), Failure> {
    let library = &app.library;
    if library.manner.behind_gateway {
        return enter_behind_gateway(app, peer, route, headers, seen).await;
    }
    let named = header_text(headers, "x-okapi-tenant").filter(|tenant| !tenant.is_empty());
    let token = token_of(headers);
    let open = is_open(route);
    let claims = match &token {
        // A stale token in a cookie must not keep anybody from logging in anew.
        Some(_) if open => None,
        Some(token) => Some(library.keys.read(token, Timestamp::now())?),
        None => None,
    };
    // FOLIO tells nobody what is wrong with a token.
    if let (Some(claims), Some(named)) = (&claims, named)
        && claims.tenant != named
    {
        return Err(Failure::Forbidden("Invalid token".into()));
    }
    if let (Some(claims), Some(user)) = (&claims, header_text(headers, "x-okapi-user-id"))
        && claims.kind != TokenKind::DummyExpiring
        && Uuid::parse_str(user).ok() != Some(claims.user_id)
    {
        return Err(Failure::Forbidden("Invalid token".into()));
    }
    if claims.as_ref().is_some_and(|claims| claims.kind == TokenKind::Refresh) {
        return Err(Failure::Unauthenticated("Invalid token".into()));
    }
    let id = claims.as_ref().map(|claims| claims.tenant.as_str()).or(named);
    let tenant = match id {
        Some(id) => match library.find_tenant(id).await? {
            Some(tenant) => Some(tenant),
            None => return Err(no_such_tenant(id)),
        },
        None => None,
    };
    keep(seen, &tenant);
    if open {
        return Ok((tenant, Caller::default()));
    }
    let (Some(claims), Some(tenant)) = (claims, tenant) else {
        let first = needed(route).next().unwrap_or("any");
        return Err(Failure::Unauthenticated(format!("Token missing, access requires permission: {first}")));
    };
    if app.doorkeeper.is_revoked(&tenant, &claims).await? {
        return Err(Failure::Unauthenticated("Invalid token".into()));
    }
    let user_id = (claims.kind != TokenKind::DummyExpiring).then_some(claims.user_id);
    let permissions = match user_id {
        Some(user) => app.doorkeeper.permissions(&tenant, user).await?,
        None => Permissions::new(claims.extra_permissions.into_iter().map(Into::into).collect()),
    };
    for needed in needed(route) {
        if !permissions.holds(needed) {
            let (name, id) = (claims.sub, user_id.map_or("null".into(), |id| id.to_string()));
            let words = format!("Access for user '{name}' ({id}) requires permission: {needed}");
            return Err(Failure::Forbidden(words));
        }
    }
    let caller = Caller { user_id, username: Some(claims.sub), permissions, lenient: tenant.lenient };
    Ok((Some(tenant), caller))
}

/// As a module behind Okapi: the gateway has checked the token and tells who calls.
async fn enter_behind_gateway(
    app: &Arc<App>,
    peer: SocketAddr,
    route: &'static Route,
    headers: &HeaderMap,
    seen: &OnceLock<Arc<Tenant>>,
) -> Result<(Option<Arc<Tenant>>, Caller), Failure> {
    let library = &app.library;
    match &library.manner.gateway_secret {
        Some(secret) => {
            if header_text(headers, "x-carrel-gateway") != Some(secret) {
                return Err(Failure::Unauthenticated("The gateway's secret is missing or wrong".into()));
            }
        }
        None if peer.ip().is_loopback() => {}
        None => {
            return Err(Failure::Unauthenticated("Behind a gateway only loopback may call".into()));
        }
    }
    let tenant = match header_text(headers, "x-okapi-tenant").filter(|id| !id.is_empty()) {
        None => None,
        Some(id) => match library.find_tenant(id).await? {
            Some(tenant) => Some(tenant),
            None if library.manner.makes_tenants => Some(library.create_lenient_tenant(id).await?),
            None if route.path.starts_with("/_/tenant") => None,
            None => return Err(no_such_tenant(id)),
        },
    };
    keep(seen, &tenant);
    let names = header_text(headers, "x-okapi-permissions").unwrap_or("[]");
    let names: Vec<String> = serde_json::from_str(names)
        .unwrap_or_else(|_| names.split(',').map(|name| name.trim().to_owned()).collect());
    let user_id = header_text(headers, "x-okapi-user-id").and_then(|id| Uuid::parse_str(id).ok());
    let permissions = Permissions::new(names.into_iter().map(Into::into).collect());
    let lenient = tenant.as_ref().is_some_and(|tenant| tenant.lenient);
    Ok((tenant, Caller { user_id, username: None, permissions, lenient }))
}

/// Routes that need no token: those that make one, and what may be known about the server.
fn is_open(route: &Route) -> bool {
    const OPEN: [&str; 17] = [
        "/",
        "/metrics",
        "/admin/health",
        "/openapi.json",
        "/api-docs",
        "/consortia",
        "/saml/check",
        "/_/version",
        "/_/proxy/health",
        "/_/health",
        "/authn/login",
        "/authn/login-with-expiry",
        "/authn/refresh",
        "/bl-users/login",
        "/bl-users/login-with-expiry",
        "/bl-users/forgotten/password",
        "/bl-users/forgotten/username",
    ];
    OPEN.contains(&route.path.as_str())
}

/// The permissions of the route; a timer's route has none of its own and is for operators.
fn needed(route: &Route) -> impl Iterator<Item = &str> {
    let timer =
        (route.timer || route.path.starts_with("/_/tenant")).then_some("okapi.proxy.self.timers.patch");
    route.permissions.iter().map(String::as_str).chain(timer)
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The token from header, `Authorization`, or cookie, in this order.
pub fn token_of(headers: &HeaderMap) -> Option<String> {
    if let Some(token) = header_text(headers, "x-okapi-token").filter(|token| !token.is_empty()) {
        return Some(token.to_owned());
    }
    if let Some(token) = header_text(headers, "authorization").and_then(|value| value.strip_prefix("Bearer "))
    {
        return Some(token.trim().to_owned());
    }
    cookie(headers, "folioAccessToken")
}

/// A cookie's value.
pub fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, value)| *key == name && !value.is_empty())
        .map(|(_, value)| value.to_owned())
}
