//! Handles one request: finds the route, authenticates the caller, runs the handler within the route's time-out, and
//! counts the costs.

use crate::http::authentication::{Authentication, is_open, no_such_tenant};
use crate::http::body::{self, BodyMemory};
use crate::http::client_address::client_address;
use crate::http::concurrency_limit::{Client, ConcurrencyLimit};
use crate::http::figures::ModuleFigures;
use crate::http::lenient_target::{is_misread, restore_headers, restored};
use crate::http::origin::Origin;
use crate::http::pages::protect;
use crate::http::response_body::{CallCount, ResponseBody};
use crate::http::timeout;
use crate::http::{Answer, Authorizer, Call, Query, Router};
use crate::meter::{Meter, metered};
use crate::node::{Node, Whereabouts};
use crate::surface::Route;
use crate::tenant::Tenant;
use carrel_records::Failure;
use futures_util::FutureExt;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::{Bytes, Incoming};
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The HTTP application of a node: its routes, options and counters.
pub struct App {
    pub node: Arc<Node>,
    pub router: Router,
    pub authorizer: Box<dyn Authorizer>,
    figures: HashMap<&'static str, Arc<ModuleFigures>>,
    requests: AtomicU64,
    concurrency_limit: ConcurrencyLimit,
    body_memory: BodyMemory,
}

impl App {
    pub fn new(node: Arc<Node>, router: Router, authorizer: Box<dyn Authorizer>) -> Arc<App> {
        let figures = router.entries().iter().map(|entry| (&*entry.route.module, Arc::default())).collect();
        let body_memory = BodyMemory::new(node.options.body_memory);
        let app = Arc::new(App {
            node,
            router,
            authorizer,
            figures,
            requests: AtomicU64::new(0),
            concurrency_limit: ConcurrencyLimit::default(),
            body_memory,
        });
        app.node.serve_as(&app);
        app
    }

    pub fn figures(&self) -> impl Iterator<Item = (&'static str, &ModuleFigures)> {
        self.figures.iter().map(|(module, figures)| (*module, &**figures))
    }
}

pub(super) async fn answer(
    app: Arc<App>,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Response<ResponseBody> {
    let started = Instant::now();
    let (mut head, body) = request.into_parts();
    if is_misread(&head) {
        return misread();
    }
    restore_headers(&mut head.headers);
    let origin = Origin::of(&head.headers, &app.node.options);
    if head.method == Method::OPTIONS {
        let mut response = Response::new(ResponseBody::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        *response.headers_mut() = origin.preflight(&head.headers);
        return response;
    }
    let requested = head.headers.clone();
    let meter = Arc::new(Meter::default());
    let number = app.requests.fetch_add(1, Relaxed);
    let (answer, route, request_id) =
        metered(Arc::clone(&meter), route(&app, peer, &origin, head, body, number)).await;
    let count = route.and_then(|route| app.figures.get(&*route.module)).map(|figures| CallCount {
        figures: Arc::clone(figures),
        status: answer.status,
        started,
        meter: Arc::clone(&meter),
        bytes: 0,
    });
    let pipelines = app.node.options.counts_round_trips.then(|| meter.pipelines.load(Relaxed));
    let mut response = Response::new(ResponseBody::new(Bytes::from(answer.body), answer.rest, count));
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
    protect(answer.content_type, headers);
    origin.allow_reading(&requested, headers);
    response
}

/// The answer to a method or header name that the client sent in another form.
fn misread() -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

async fn route(
    app: &Arc<App>,
    peer: SocketAddr,
    origin: &Origin,
    head: Parts,
    body: Incoming,
    number: u64,
) -> (Answer, Option<&'static Route>, String) {
    let path = restored(head.uri.path());
    let request_id = head
        .headers
        .get("x-okapi-request-id")
        .and_then(|value| value.to_str().ok())
        .filter(|id| id.len() <= 200)
        .map_or_else(|| format!("{number:06}/{}", first_level(&path)), str::to_owned);
    let method = if head.method == Method::HEAD { "GET" } else { head.method.as_str() };
    let stand_in = || app.router.find_stand_in(method, &path).filter(|_| app.node.options.makes_tenants);
    let Some((entry, parameters)) = app.router.find(method, &path).or_else(stand_in) else {
        let tenant =
            head.headers.get("x-okapi-tenant").and_then(|t| t.to_str().ok()).unwrap_or("supertenant");
        let words = format!("No suitable module found for path {path} for tenant {tenant}");
        return (Answer::of_failure(&Failure::NotFound(words)), None, request_id);
    };
    let route = entry.route;
    if let Err(refused) = origin.refuse_forgery(&head.method, &head.headers) {
        return (refused, Some(route), request_id);
    }
    let seen = OnceLock::new();
    let outcome = async {
        let options = &app.node.options;
        let time = timeout::of(route, options);
        let authentication =
            Authentication { app, peer, route, parameters: &parameters, headers: &head.headers, seen: &seen };
        let (tenant, caller) = within(time, authentication.enter()).await?;
        let handler = entry.handler.as_ref().ok_or_else(|| {
            Failure::NotBuilt(format!("{} {} is known but not built yet", route.method, route.path))
        })?;
        let address = client_address(peer.ip(), &head.headers, &app.node.options.trusted_proxies);
        let client = match (&tenant, caller.user_id) {
            (Some(tenant), Some(id)) => Client::User { tenant: tenant.id.clone(), id },
            _ => Client::Address(address),
        };
        let _permit = app.concurrency_limit.enter(client, options.most_calls_at_once)?;
        let max_bytes = body::max_bytes(route, is_open(route, options), options);
        let body = body::read(body, max_bytes, &app.body_memory).await?;
        let call = Call {
            app: Arc::clone(app),
            node: Arc::clone(&app.node),
            tenant,
            caller,
            route,
            parameters,
            query: Query::read(&restored(head.uri.query().unwrap_or_default())),
            headers: head.headers,
            body: body.bytes,
            request_id: request_id.clone(),
            address,
            now: Timestamp::now(),
        };
        let has_module_formats = call.caller.profile.module_formats;
        // A panic ends only this call: the connection serves the next one.
        let answer = within(time, async {
            AssertUnwindSafe(handler(call))
                .catch_unwind()
                .await
                .unwrap_or_else(|_| Err(Failure::internal("the handler panicked; its message is in the log")))
        })
        .await?;
        drop(body.memory);
        Ok(if has_module_formats { answer.with_modules_times() } else { answer })
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

/// Abandons the work after this time: a database that hangs sends no error.
async fn within<T>(time: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(time, work).await.unwrap_or_else(|_| {
        Err(Failure::Unavailable(format!(
            "There was no answer within {} seconds. Whether a change was made is not known.",
            time.as_secs()
        )))
    })
}

/// For some seconds this node still knows a tenant that another node has dropped or moved; what fails because its tables
/// are missing, or may not be written, is reported as such.
async fn unless_tenant_is_gone(node: &Arc<Node>, tenant: Option<&Arc<Tenant>>, failure: Failure) -> Failure {
    let Some(tenant) = tenant else { return failure };
    let whereabouts = match failure {
        Failure::Internal { .. } => node.whereabouts(tenant).await,
        // Its connections were closed during the call.
        Failure::Unavailable(_) if node.tenant(&tenant.id).is_none() => Whereabouts::Dropped,
        _ => Whereabouts::Here,
    };
    match whereabouts {
        Whereabouts::Here => failure,
        Whereabouts::Dropped => no_such_tenant(&tenant.id),
        Whereabouts::Moving => {
            tracing::debug!(tenant = tenant.id, "refused during a move: {failure}");
            Failure::Unavailable("The tenant is being moved to another database. Try again.".into())
        }
    }
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
