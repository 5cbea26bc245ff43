//! Authentication and permission check of a request: tenant and caller come from the token, or behind a gateway from
//! the headers that the gateway sets.

use crate::http::{App, Caller, Permissions};
use crate::node::ServerOptions;
use crate::surface::Route;
use crate::tenant::Tenant;
use crate::token::{Claims, TokenKind, malformed};
use carrel_records::Failure;
use http::{HeaderMap, header};
use jiff::Timestamp;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use uuid::Uuid;

/// What a request is authenticated by.
pub(super) struct Authentication<'a> {
    pub app: &'a App,
    pub peer: SocketAddr,
    pub route: &'static Route,
    /// Values of the path's parameters.
    pub parameters: &'a [String],
    pub headers: &'a HeaderMap,
    /// Receives the tenant, even if the caller is refused afterwards.
    pub seen: &'a OnceLock<Arc<Tenant>>,
}

impl Authentication<'_> {
    /// Finds tenant and caller; refuses callers who lack a token or a permission.
    pub async fn enter(&self) -> Result<(Option<Arc<Tenant>>, Caller), Failure> {
        if self.app.node.options.behind_gateway { self.by_gateway().await } else { self.by_token().await }
    }

    async fn by_token(&self) -> Result<(Option<Arc<Tenant>>, Caller), Failure> {
        let (app, route) = (self.app, self.route);
        let open = is_open(route, &app.node.options);
        // An expired token in a cookie must not prevent a new login.
        let claims = if open { None } else { self.claims()? };
        let tenant = match claims.as_ref().map(|claims| claims.tenant.as_str()).or(self.named_tenant()) {
            None => None,
            Some(id) => Some(app.node.find_tenant(id).await?.ok_or_else(|| no_such_tenant(id))?),
        };
        self.keep(&tenant);
        if open {
            return Ok((tenant, Caller::default()));
        }
        if claims.is_none()
            && let Some(tenant) = &tenant
            && self.is_open_for_bootstrap(tenant).await?
        {
            let permissions = Permissions::all();
            return Ok((Some(Arc::clone(tenant)), Caller { permissions, ..Caller::default() }));
        }
        let (Some(claims), Some(tenant)) = (claims, tenant) else {
            let first = needed(route).next().unwrap_or("any");
            let words = format!("Token missing, access requires permission: {first}");
            return Err(Failure::Unauthenticated(words));
        };
        if app.authorizer.is_revoked(&tenant, &claims).await? {
            return Err(Failure::Unauthenticated("Invalid token".into()));
        }
        let user_id = (claims.kind != TokenKind::DummyExpiring).then_some(claims.user_id);
        let permissions = match user_id {
            Some(user) => app.authorizer.permissions(&tenant, user).await?,
            None => Permissions::new(claims.extra_permissions.into_iter().map(Into::into).collect()),
        };
        let own =
            route.own_tenant_permissions.as_deref().filter(|_| self.parameters.first() == Some(&tenant.id));
        for needed in own.map_or_else(
            || needed(route).collect(),
            |own| own.iter().map(String::as_str).collect::<Vec<&str>>(),
        ) {
            if !permissions.holds(needed) {
                let (name, id) = (claims.sub, user_id.map_or("null".into(), |id| id.to_string()));
                let words = format!("Access for user '{name}' ({id}) requires permission: {needed}");
                return Err(Failure::Forbidden(words));
            }
        }
        let caller = Caller { user_id, username: Some(claims.sub), permissions, profile: tenant.profile };
        Ok((Some(tenant), caller))
    }

    /// Whether the tenant accepts calls without a token, so that its first administrator can be created. The routes of
    /// the gateway and of operators never do.
    async fn is_open_for_bootstrap(&self, tenant: &Tenant) -> Result<bool, Failure> {
        let path = self.route.path.as_str();
        if !self.app.node.options.allows_bootstrap || path.starts_with("/_/") || path.starts_with("/admin/") {
            return Ok(false);
        }
        self.app.node.is_open_for_bootstrap(&tenant.id).await
    }

    /// The claims of the token, if there is one; refused if other headers contradict it.
    fn claims(&self) -> Result<Option<Claims>, Failure> {
        let okapi_token = header_text(self.headers, "x-okapi-token").filter(|token| !token.is_empty());
        if let (Some(token), Some(bearer)) = (okapi_token, bearer_of(self.headers))
            && token != bearer
        {
            return Err(Failure::Invalid("X-Okapi-Token is not equal to Authorization token".into()));
        }
        let Some(token) = token_of(self.headers) else { return Ok(None) };
        // FOLIO quirk: the gateway parses a token that must contain the tenant, and reports what is wrong with it.
        if self.named_tenant().is_none()
            && let Some(reason) = malformed(&token)
        {
            return Err(Failure::Invalid(format!("Invalid Token: {reason}")));
        }
        let claims = self.app.node.keys.read(&token, Timestamp::now())?;
        let other_tenant = self.named_tenant().is_some_and(|named| named != claims.tenant);
        let other_user = claims.kind != TokenKind::DummyExpiring
            && header_text(self.headers, "x-okapi-user-id")
                .is_some_and(|user| Uuid::parse_str(user).ok() != Some(claims.user_id));
        // FOLIO does not report what is wrong with a token.
        if other_tenant || other_user {
            return Err(Failure::Forbidden("Invalid token".into()));
        }
        let is_endless = claims.exp.is_none() && !self.app.node.options.endless_tokens;
        if claims.kind == TokenKind::Refresh || is_endless {
            return Err(Failure::Unauthenticated("Invalid token".into()));
        }
        Ok(Some(claims))
    }

    /// Authenticates like a module behind Okapi: the gateway has verified the token and sends tenant, user and
    /// permissions in headers.
    async fn by_gateway(&self) -> Result<(Option<Arc<Tenant>>, Caller), Failure> {
        let (node, headers) = (&self.app.node, self.headers);
        match &node.options.gateway_secret {
            Some(secret) => {
                if !header_text(headers, "x-carrel-gateway").is_some_and(|given| is_same(given, secret)) {
                    return Err(Failure::Unauthenticated("The gateway's secret is missing or wrong".into()));
                }
            }
            None if self.peer.ip().is_loopback() => {}
            None => {
                return Err(Failure::Unauthenticated("Behind a gateway only loopback may call".into()));
            }
        }
        let tenant = match self.named_tenant() {
            None => None,
            Some(id) => match node.find_tenant(id).await? {
                Some(tenant) => Some(tenant),
                None if node.options.makes_tenants => Some(node.create_lenient_tenant(id).await?),
                None if self.route.path.starts_with("/_/tenant") => None,
                None => return Err(no_such_tenant(id)),
            },
        };
        self.keep(&tenant);
        let names = header_text(headers, "x-okapi-permissions").unwrap_or("[]");
        let names: Vec<String> = serde_json::from_str(names)
            .unwrap_or_else(|_| names.split(',').map(|name| name.trim().to_owned()).collect());
        let user_id = header_text(headers, "x-okapi-user-id").and_then(|id| Uuid::parse_str(id).ok());
        let permissions = Permissions::new(names.into_iter().map(Into::into).collect());
        let profile = tenant.as_ref().map(|tenant| tenant.profile).unwrap_or_default();
        Ok((tenant, Caller { user_id, username: None, permissions, profile }))
    }

    fn named_tenant(&self) -> Option<&str> {
        header_text(self.headers, "x-okapi-tenant").filter(|tenant| !tenant.is_empty())
    }

    fn keep(&self, tenant: &Option<Arc<Tenant>>) {
        if let Some(tenant) = tenant {
            let _ = self.seen.set(Arc::clone(tenant));
        }
    }
}

/// The failure for a tenant id that does not exist.
pub(super) fn no_such_tenant(id: &str) -> Failure {
    Failure::Invalid(format!("No such Tenant {id}"))
}

/// Routes that need no token: those that issue one, and public information about the server.
pub(super) fn is_open(route: &Route, options: &ServerOptions) -> bool {
    const OPEN: [&str; 19] = [
        "/",
        "/desk",
        "/desk/{file}",
        "/desk/assets/{file}",
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
    OPEN.contains(&route.path.as_str()) || options.open_metrics && route.path == "/metrics"
}

/// The permissions of the route; a timer's route has none and is for operators.
pub(super) fn needed(route: &Route) -> impl Iterator<Item = &str> {
    let timer =
        (route.is_timer() || route.path.starts_with("/_/tenant")).then_some("okapi.proxy.self.timers.patch");
    route.permissions.iter().map(String::as_str).chain(timer)
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The token from header, `Authorization`, or cookie, in this order.
pub fn token_of(headers: &HeaderMap) -> Option<String> {
    header_token(headers).map(str::to_owned).or_else(|| cookie(headers, "folioAccessToken"))
}

/// Whether the caller has sent a token in a header, which a browser does not add by itself.
pub(super) fn has_token_header(headers: &HeaderMap) -> bool {
    header_token(headers).is_some()
}

fn header_token(headers: &HeaderMap) -> Option<&str> {
    let of_okapi = header_text(headers, "x-okapi-token").filter(|token| !token.is_empty());
    of_okapi.or_else(|| bearer_of(headers))
}

fn bearer_of(headers: &HeaderMap) -> Option<&str> {
    header_text(headers, "authorization").and_then(|value| value.strip_prefix("Bearer ")).map(str::trim)
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

/// Compares in constant time texts of the same length.
fn is_same(given: &str, secret: &str) -> bool {
    let pairs = given.bytes().zip(secret.bytes());
    given.len() == secret.len() && pairs.fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}
