//! Paths and shapes of logging in; cookies.

use crate::login::tokens::{self, Pair};
use crate::login::{Credentials, LoggedIn, check, password, tokens_for};
use carrel_platform::http::{cookie, token_of};
use carrel_platform::token::{Claims, TokenKind};
use carrel_platform::{Answer, Call, Flight, Router};
use carrel_records::{Failure, Refusal, time};
use http::header::SET_COOKIE;
use http::{HeaderName, StatusCode};
use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    for (path, composite) in [("/authn/login", false), ("/bl-users/login", true)] {
        router.on("POST", path, move |call| login(call, composite));
    }
    for (path, composite) in [("/authn/login-with-expiry", false), ("/bl-users/login-with-expiry", true)] {
        router.on("POST", path, move |call| login_with_expiry(call, composite));
    }
    router.on("POST", "/authn/refresh", refresh);
    router.on("POST", "/authn/logout", logout);
    router.on("POST", "/authn/logout-all", logout_all);
    router.on("POST", "/authn/credentials", create_credentials);
    router.on("DELETE", "/authn/credentials", delete_credentials);
    router.on("GET", "/authn/credentials-existence", credentials_exist);
    router.on("POST", "/authn/update", change_password);
}

/// The older login: a token without end, in header and body.
async fn login(call: Call, composite: bool) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let who = check(tenant, &call.read_json::<Credentials>()?, call.now).await?;
    let token = tokens::legacy(&call.library.keys, &tenant.id, &who, call.now);
    let answer = if composite {
        Answer::created(&crate::users_bl::self_of(&call, who.user_id).await?)
    } else {
        let pair = tokens_for(tenant, &call.library.keys, &who, call.now).await?;
        Answer::created(&json!({"okapiToken": token, "refreshToken": pair.refresh}))
    };
    Ok(answer.header(HeaderName::from_static("x-okapi-token"), &token))
}

async fn login_with_expiry(call: Call, composite: bool) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let who = check(tenant, &call.read_json::<Credentials>()?, call.now).await?;
    let pair = tokens_for(tenant, &call.library.keys, &who, call.now).await?;
    let mut body = expirations(&pair);
    if composite {
        let mut whole = crate::users_bl::self_of(&call, who.user_id).await?;
        whole["tokenExpiration"] = body;
        body = whole;
    }
    Ok(with_cookies(Answer::created(&body), &pair, &call))
}

/// A refresh token for a new pair; it is good once.
async fn refresh(call: Call) -> Result<Answer, Failure> {
    let refused =
        || Failure::Refused(vec![Refusal::new("Token refresh failed").code("token.refresh.unprocessable")]);
    let Some(claims) = refresh_claims(&call) else { return Err(refused()) };
    let tenant = call.library.find_tenant(&claims.tenant).await?.ok_or_else(refused)?;
    let id = claims.jti.ok_or_else(refused)?;
    if !tokens::use_up(tenant.begin().await?, id).await? {
        return Err(refused());
    }
    let who = LoggedIn { user_id: claims.user_id, username: claims.sub };
    let pair = tokens_for(&tenant, &call.library.keys, &who, call.now).await?;
    Ok(with_cookies(Answer::created(&expirations(&pair)), &pair, &call))
}

async fn logout(call: Call) -> Result<Answer, Failure> {
    if let Some(claims) = refresh_claims(&call)
        && let Some(id) = claims.jti
    {
        tokens::use_up(call.tenant()?.begin().await?, id).await?;
    }
    Ok(without_cookies(Answer::no_content(), &call))
}

async fn logout_all(call: Call) -> Result<Answer, Failure> {
    let user = call.caller.user_id.ok_or_else(|| Failure::Unauthenticated("No user".into()))?;
    let tenant = call.tenant()?;
    tokens::end_all(tenant.begin().await?, user, call.now).await?;
    tenant.stamp_is_stale();
    Ok(without_cookies(Answer::no_content(), &call))
}

/// A password for a user who has none yet.
async fn create_credentials(call: Call) -> Result<Answer, Failure> {
    let credentials = call.read_json::<Credentials>()?;
    if credentials.password.is_empty() {
        return Err(Refusal::new("Password must not be empty").code("password.empty").into());
    }
    let tenant = call.tenant()?;
    let user = user_of(&call, &credentials).await?;
    let hash = password::hash(&credentials.password).await?;
    let id = Uuid::new_v4();
    let mut flight = Flight::new();
    flight.add(
        "INSERT INTO auth_credentials (user_id, id, hash, changed) VALUES ($1, $2, $3, $4)
         ON CONFLICT (user_id) DO NOTHING RETURNING user_id",
        vec![user.into(), id.into(), hash.into(), call.now.into()],
    );
    let landed = tenant.begin().await?.fly_and_commit(flight).await?;
    if landed.first(0).is_none() {
        return Err(Refusal::new(format!("There already exists credentials for user id '{user}'")).into());
    }
    Ok(Answer::created(&json!({"id": id, "userId": user})))
}

async fn delete_credentials(call: Call) -> Result<Answer, Failure> {
    let user = asked_user(&call)?;
    let mut flight = Flight::new();
    flight.add("DELETE FROM auth_credentials WHERE user_id = $1 RETURNING user_id", vec![user.into()]);
    let landed = call.tenant()?.begin().await?.fly_and_commit(flight).await?;
    match landed.first(0) {
        Some(_) => Ok(Answer::no_content()),
        None => Err(Failure::NotFound("No credentials for userId".to_owned() + &format!(" {user} found"))),
    }
}

async fn credentials_exist(call: Call) -> Result<Answer, Failure> {
    let user = asked_user(&call)?;
    let connection = call.tenant()?.reader().await?;
    let rows =
        connection.query("SELECT 1 FROM auth_credentials WHERE user_id = $1", vec![user.into()]).await?;
    Ok(Answer::json(&json!({"credentialsExist": !rows.is_empty()})))
}

/// One changes one's own password by giving the old one.
async fn change_password(call: Call) -> Result<Answer, Failure> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Change {
        username: Option<String>,
        user_id: Option<Uuid>,
        password: String,
        new_password: String,
    }
    let change: Change = call.read_json()?;
    let tenant = call.tenant()?;
    let old = Credentials { username: change.username, user_id: change.user_id, password: change.password };
    let who = check(tenant, &old, call.now).await?;
    if change.new_password.is_empty() {
        return Err(Refusal::new("Password must not be empty").code("password.empty").into());
    }
    let hash = password::hash(&change.new_password).await?;
    let mut flight = Flight::new();
    flight.add(
        "UPDATE auth_credentials SET hash = $2, changed = $3 WHERE user_id = $1",
        vec![who.user_id.into(), hash.into(), call.now.into()],
    );
    tenant.begin().await?.fly_and_commit(flight).await?;
    Ok(Answer::no_content())
}

fn asked_user(call: &Call) -> Result<Uuid, Failure> {
    let text = call.query.get("userId").unwrap_or_default();
    Uuid::parse_str(text).map_err(|_| Failure::Invalid(format!("userId '{text}' is not a UUID")))
}

async fn user_of(call: &Call, credentials: &Credentials) -> Result<Uuid, Failure> {
    if let Some(id) = credentials.user_id {
        return Ok(id);
    }
    let name = credentials.username.clone().unwrap_or_default();
    let connection = call.tenant()?.reader().await?;
    let rows = connection
        .query(
            "SELECT id FROM users WHERE lower(carrel.f_unaccent(doc->>'username')) = lower(carrel.f_unaccent($1))",
            vec![name.as_str().into()],
        )
        .await?;
    rows.first().map(|row| row.get(0)).ok_or_else(|| {
        Failure::from(Refusal::new(format!("No user found by username {name}")).with("username", name))
    })
}

fn refresh_claims(call: &Call) -> Option<Claims> {
    let token = cookie(&call.headers, "folioRefreshToken").or_else(|| {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Sent {
            refresh_token: String,
        }
        call.read_json::<Sent>().ok().map(|sent| sent.refresh_token)
    });
    let claims = call.library.keys.read(&token.or_else(|| token_of(&call.headers))?, call.now).ok()?;
    (claims.kind == TokenKind::Refresh).then_some(claims)
}

fn expirations(pair: &Pair) -> serde_json::Value {
    let text = |at: Timestamp| time::format(at).replace("+00:00", "Z");
    json!({"accessTokenExpiration": text(pair.access_ends), "refreshTokenExpiration": text(pair.refresh_ends)})
}

fn with_cookies(answer: Answer, pair: &Pair, call: &Call) -> Answer {
    answer
        .header(SET_COOKIE, set_cookie("folioAccessToken", &pair.access, "/", pair.access_ends, call))
        .header(SET_COOKIE, set_cookie("folioRefreshToken", &pair.refresh, "/authn", pair.refresh_ends, call))
}

fn without_cookies(answer: Answer, call: &Call) -> Answer {
    let epoch = Timestamp::UNIX_EPOCH;
    answer
        .header(SET_COOKIE, set_cookie("folioAccessToken", "", "/", epoch, call))
        .header(SET_COOKIE, set_cookie("folioRefreshToken", "", "/authn", epoch, call))
        .status(StatusCode::NO_CONTENT)
}

/// A cookie for browsers and scripts. `Secure` would keep it from being sent back over plain HTTP, and
/// `SameSite=None` is only allowed together with it.
fn set_cookie(name: &str, value: &str, path: &str, ends: Timestamp, call: &Call) -> String {
    let age = (ends.as_second() - call.now.as_second()).max(0);
    let expires = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&ends)
        .unwrap_or_else(|_| "Thu, 01 Jan 1970 00:00:00 GMT".into());
    let site = if call.library.manner.secure_cookies { "Secure; SameSite=None" } else { "SameSite=Lax" };
    format!("{name}={value}; Max-Age={age}; Expires={expires}; Path={path}; HttpOnly; {site}")
}
