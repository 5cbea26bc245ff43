//! Calls a route from within the program, for timers.

use super::authentication::needed;
use super::{Answer, App, Call, Caller, Permissions, Query};
use crate::tenant::Tenant;
use carrel_records::Failure;
use futures_util::FutureExt;
use http::HeaderMap;
use jiff::Timestamp;
use std::net::{IpAddr, Ipv4Addr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use uuid::Uuid;

/// Calls a route without a body, with the user's current permissions, or without a user with all permissions. `target`
/// is a path with its query. A status of 400 or above is a failure with its text.
pub async fn call_route(
    app: &Arc<App>,
    tenant: &Arc<Tenant>,
    method: &str,
    target: &str,
    user: Option<Uuid>,
) -> Result<Answer, Failure> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let not_found = || Failure::NotFound(format!("No suitable module found for path {path}"));
    let (place, parameters) = app.router.find(method, path).ok_or_else(not_found)?;
    let route = place.route;
    let permissions = match user {
        Some(user) => app.authorizer.permissions(tenant, user).await?,
        None => Permissions::all(),
    };
    if let Some(lacking) = needed(route).find(|name| !permissions.holds(name)) {
        return Err(Failure::Forbidden(format!("Access requires permission: {lacking}")));
    }
    // Routes of the platform act on the tenant in their path.
    let is_of_another =
        route.path.starts_with("/_/") && parameters.first().is_some_and(|id| *id != tenant.id);
    if user.is_some() && is_of_another {
        return Err(Failure::Forbidden("A timer calls routes of its own tenant only".into()));
    }
    let handler = place.handler.as_ref().ok_or_else(|| {
        Failure::NotBuilt(format!("{} {} is known but not built yet", route.method, route.path))
    })?;
    let call = Call {
        app: Arc::clone(app),
        node: Arc::clone(&app.node),
        tenant: Some(Arc::clone(tenant)),
        caller: Caller { user_id: user, username: None, permissions, profile: tenant.profile },
        route,
        parameters,
        query: Query::read(query),
        headers: HeaderMap::new(),
        body: Vec::new(),
        request_id: format!("timer/{}", Uuid::new_v4().simple()),
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        now: Timestamp::now(),
    };
    let answered = AssertUnwindSafe(handler(call)).catch_unwind().await;
    let answer = answered.unwrap_or_else(|_| Err(Failure::internal("the handler panicked")))?;
    if answer.status.is_client_error() || answer.status.is_server_error() {
        let text: String = String::from_utf8_lossy(&answer.body).chars().take(300).collect();
        return Err(Failure::Invalid(format!("{}: {text}", answer.status)));
    }
    Ok(answer)
}
