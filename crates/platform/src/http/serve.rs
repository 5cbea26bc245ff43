//! The gateway: finds the route, lets the caller in or not, runs the handler, and counts what it cost.

use crate::http::authentication::{Authentication, no_such_tenant};
use crate::http::client_address::client_address;
use crate::http::concurrency_limit::{Client, ConcurrencyLimit};
use crate::http::figures::ModuleFigures;
use crate::http::origin::{allow_origin, preflight};
use crate::http::request_line::{CUT, Escaping, LONGEST_TARGET, REST};
use crate::http::tls::{Certificate, TlsListener};
use crate::http::{Answer, Authorizer, Call, Query, Router};
use crate::meter::{Meter, metered};
use crate::node::Node;
use crate::surface::Route;
use crate::tenant::Tenant;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use axum::serve::ListenerExt;
use carrel_records::Failure;
use futures_util::{FutureExt, StreamExt};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use jiff::Timestamp;
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// The program as the network sees it.
pub struct App {
    pub node: Arc<Node>,
    pub router: Router,
    pub authorizer: Box<dyn Authorizer>,
    figures: HashMap<&'static str, ModuleFigures>,
    requests: AtomicU64,
    concurrency_limit: ConcurrencyLimit,
}

impl App {
    pub fn new(node: Arc<Node>, router: Router, authorizer: Box<dyn Authorizer>) -> Arc<App> {
        let figures =
            router.places().iter().map(|place| (&*place.route.module, ModuleFigures::default())).collect();
        Arc::new(App {
            node,
            router,
            authorizer,
            figures,
            requests: AtomicU64::new(0),
            concurrency_limit: ConcurrencyLimit::default(),
        })
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
        figures.count(&answer, started.elapsed(), &meter);
    }
    let pipelines = app.node.options.counts_round_trips.then(|| meter.pipelines.load(Relaxed));
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
    if let Some(pipelines) = pipelines {
        headers.insert("x-carrel-round-trips", HeaderValue::from(pipelines));
    }
    allow_origin(headers, origin);
    response
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
    let stand_in = || app.router.find_stand_in(method, path).filter(|_| app.node.options.makes_tenants);
    let Some((place, parameters)) = app.router.find(method, path).or_else(stand_in) else {
        let tenant =
            head.headers.get("x-okapi-tenant").and_then(|t| t.to_str().ok()).unwrap_or("supertenant");
        let words = format!("No suitable module found for path {} for tenant {tenant}", head.uri.path());
        return (Answer::of_failure(&Failure::NotFound(words)), None, request_id);
    };
    let route = place.route;
    let seen = OnceLock::new();
    let outcome = async {
        let authentication = Authentication { app, peer, route, headers: &head.headers, seen: &seen };
        let (tenant, caller) = authentication.enter().await?;
        let handler = place.handler.as_ref().ok_or_else(|| {
            Failure::NotBuilt(format!("{} {} is known but not built yet", route.method, route.path))
        })?;
        let address = client_address(peer.ip(), &head.headers, &app.node.options.trusted_proxies);
        let client = match (&tenant, caller.user_id) {
            (Some(tenant), Some(id)) => Client::User { tenant: tenant.id.clone(), id },
            _ => Client::Address(address),
        };
        let _place = app.concurrency_limit.enter(client, app.node.options.most_calls_at_once)?;
        let body = read_body(body, app.node.options.largest_body).await?;
        let call = Call {
            node: Arc::clone(&app.node),
            tenant,
            caller,
            route,
            parameters,
            query: Query::read(&whole_query(&head.uri, &head.headers)),
            headers: head.headers,
            body,
            request_id: request_id.clone(),
            address,
            now: Timestamp::now(),
        };
        let lenient = call.caller.lenient;
        // A mistake of ours in one call is reported to this caller, and the connection lives on.
        let answer = AssertUnwindSafe(handler(call)).catch_unwind().await.unwrap_or_else(|_| {
            Err(Failure::internal("the handler panicked; the panic's own message stands in the log"))
        })?;
        Ok(if lenient { answer.with_modules_times() } else { answer })
    }
    .await;
    let outcome = match outcome {
        Err(failure) => Err(unless_tenant_is_gone(&app.node, seen.get(), failure).await),
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
        Answer::of_failure_in(&failure, &route.module)
    });
    (answer, Some(route), request_id)
}

/// The query, the end of which stands in a header where it is long.
fn whole_query<'a>(uri: &'a Uri, headers: &HeaderMap) -> Cow<'a, str> {
    let query = uri.query().unwrap_or_default();
    match headers.get(REST).and_then(|rest| rest.to_str().ok()) {
        // Nobody else has a use for it: what is short stands whole in its place.
        Some(rest) if query.len() > LONGEST_TARGET / 2 => format!("{query}{rest}").into(),
        _ => query.into(),
    }
}

/// A request of which something was cut off before it was read.
fn too_large(mark: &HeaderValue) -> Answer {
    match mark.as_bytes() {
        b"414" => Answer::text(
            StatusCode::URI_TOO_LONG,
            "The request's address is too long; where there is a POST to /retrieve, it takes long queries",
        ),
        _ => Answer::text(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "The request's headers are too many or too long",
        ),
    }
}

/// A tenant that another node has dropped is known here for some seconds; what fails for want of its tables is reported
/// as any call to a tenant that does not exist.
async fn unless_tenant_is_gone(node: &Node, tenant: Option<&Arc<Tenant>>, failure: Failure) -> Failure {
    let Some(tenant) = tenant else { return failure };
    let gone = match failure {
        Failure::Internal { .. } => node.has_lost(&tenant.id).await,
        // Its connections were closed under the call.
        Failure::Unavailable(_) => node.tenant(&tenant.id).is_none(),
        _ => false,
    };
    if gone { no_such_tenant(&tenant.id) } else { failure }
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

/// Nobody is waited for longer who sends nothing more of a body.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

async fn read_body(body: Body, largest: usize) -> Result<Vec<u8>, Failure> {
    let mut body = Limited::new(body, largest);
    let mut whole = Vec::new();
    loop {
        let silence = || Failure::Invalid(format!("No more of the body came in {LONGEST_SILENCE:?}"));
        match tokio::time::timeout(LONGEST_SILENCE, body.frame()).await.map_err(|_| silence())? {
            None => return Ok(whole),
            Some(Ok(frame)) => whole.extend_from_slice(&frame.into_data().unwrap_or_default()),
            Some(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => {
                return Err(Failure::TooLarge(format!("The body is larger than {largest} bytes")));
            }
            Some(Err(error)) => return Err(Failure::Invalid(format!("The body could not be read: {error}"))),
        }
    }
}
