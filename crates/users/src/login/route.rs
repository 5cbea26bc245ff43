//! Paths and shapes of logging in, renewing and logging out.

use crate::login::cookies::{with_cookies, without_cookies};
use crate::login::tokens::{self, Pair};
use crate::login::{Credentials, LoggedIn, check, events, tokens_for};
use carrel_platform::http::{cookie, token_of};
use carrel_platform::token::{Claims, TokenKind};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal, time};
use http::{HeaderName, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

pub fn connect(router: &mut Router) {
    for (path, composite) in [("/authn/login", false), ("/bl-users/login", true)] {
        router.on("POST", path, move |call| login(call, composite));
    }
    for (path, composite) in [("/authn/login-with-expiry", false), ("/bl-users/login-with-expiry", true)] {
        router.on("POST", path, move |call| login_with_expiry(call, composite));
    }
    router.on("POST", "/authn/refresh", refresh);
    router.on("POST", "/authn/logout", logout);
    router.on("POST", "/authn/logout-all", |call| async {
        let call = end_all(call).await?;
        Ok(without_cookies(Answer::no_content(), &call))
    });
    router.on("GET", "/authn/loginAttempts/{id}", login_attempts);
    router.on("POST", "/token/invalidate", invalidate);
    router.on("POST", "/token/invalidate-all", |call| async {
        end_all(call).await?;
        Ok(Answer::no_content())
    });
}

/// The older login: a token without end, in header and body; the cookies come with it.
async fn login(call: Call, composite: bool) -> Result<Answer, Failure> {
    let (who, pair) = log_in(&call).await?;
    let token = tokens::legacy(&call.node.keys, &call.tenant()?.id, &who, call.now);
    let body = if composite {
        crate::users_bl::composite_of(&call, who.user_id).await?
    } else {
        json!({"okapiToken": token, "refreshToken": pair.refresh})
    };
    let answer = Answer::created(&body).header(HeaderName::from_static("x-okapi-token"), &token);
    Ok(with_cookies(answer, &pair, &call))
}

async fn login_with_expiry(call: Call, composite: bool) -> Result<Answer, Failure> {
    let (who, pair) = log_in(&call).await?;
    let mut body = expirations(&pair);
    if composite {
        let mut whole = crate::users_bl::composite_of(&call, who.user_id).await?;
        whole["tokenExpiration"] = body;
        whole["tenant"] = call.tenant()?.id.as_str().into();
        body = whole;
    }
    Ok(with_cookies(Answer::created(&body), &pair, &call))
}

async fn log_in(call: &Call) -> Result<(LoggedIn, Pair), Failure> {
    let tenant = call.tenant()?;
    let who = check(tenant, &call.read_json::<Credentials>()?, call.now).await?;
    let pair = tokens_for(tenant, &call.node.keys, &who, call.now).await?;
    events::note(tenant, events::SUCCESSFUL_LOGIN, who.user_id, call.now).await?;
    Ok((who, pair))
}

/// A refresh token for a new pair; it is good once. One that comes again may have been stolen, so every refresh
/// token of its user is forgotten.
async fn refresh(call: Call) -> Result<Answer, Failure> {
    let refused = || {
        Failure::from(
            Refusal::new("Authorization server unable to process token refresh request")
                .kind("error")
                .code("token.refresh.unprocessable"),
        )
    };
    let Some(token) = refresh_token(&call) else {
        let words = Refusal::new("Bad request").kind("error").code("token.parse.failure").to_json();
        return Ok(
            Answer::json(&json!({"errors": [words], "total_records": 1})).status(StatusCode::BAD_REQUEST)
        );
    };
    let claims = refresh_claims(&call, &token).ok_or_else(refused)?;
    let tenant = call.node.find_tenant(&claims.tenant).await?.ok_or_else(refused)?;
    let id = claims.jti.ok_or_else(refused)?;
    if !tokens::redeem(tenant.begin().await?, id).await? {
        tokens::forget_all(tenant.begin().await?, claims.user_id).await?;
        return Err(refused());
    }
    let who = LoggedIn { user_id: claims.user_id, username: claims.sub };
    let pair = tokens::pair(&call.node.keys, &tenant.id, &who, call.now);
    let mut pipeline = Pipeline::new();
    tokens::remember(&mut pipeline, who.user_id, &pair, call.now);
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(with_cookies(Answer::created(&expirations(&pair)), &pair, &call))
}

/// Takes back the refresh token of this session; without one, those of all sessions of the user.
async fn logout(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let sent = cookie(&call.headers, "folioRefreshToken").and_then(|token| refresh_claims(&call, &token));
    match (sent.and_then(|claims| claims.jti), call.caller.user_id) {
        (Some(id), _) => {
            tokens::redeem(tenant.begin().await?, id).await?;
        }
        (None, Some(user)) if call.headers.get(http::header::COOKIE).is_none() => {
            tokens::forget_all(tenant.begin().await?, user).await?;
        }
        (None, _) => {}
    }
    Ok(without_cookies(Answer::no_content(), &call))
}

async fn invalidate(call: Call) -> Result<Answer, Failure> {
    let token = refresh_token(&call).ok_or_else(|| Failure::Invalid("refreshToken is missing".into()))?;
    let claims = refresh_claims(&call, &token).filter(|claims| Some(claims.user_id) == call.caller.user_id);
    let id = claims
        .and_then(|claims| claims.jti)
        .ok_or_else(|| Failure::Unauthenticated("Invalid token".into()))?;
    tokens::redeem(call.tenant()?.begin().await?, id).await?;
    Ok(Answer::no_content())
}

/// Ends all sessions of the caller.
async fn end_all(call: Call) -> Result<Call, Failure> {
    let user = call.caller.user_id.ok_or_else(|| Failure::Unauthenticated("Invalid token".into()))?;
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    // This very token ends with the others.
    tokens::end_all(&mut pipeline, vec![user], call.now);
    tenant.begin().await?.send_and_commit(pipeline).await?;
    tenant.settings_version_is_stale();
    Ok(call)
}

async fn login_attempts(call: Call) -> Result<Answer, Failure> {
    let user = call.id(0)?;
    let connection = call.tenant()?.reader().await?;
    let rows = connection
        .query("SELECT failed, last_failed FROM auth_attempts WHERE user_id = $1", vec![user.into()])
        .await?;
    let row = rows
        .first()
        .ok_or_else(|| Failure::NotFound(format!("No user login attempts found for id {user}")))?;
    let (failed, last): (i32, Timestamp) = (row.get(0), row.get(1));
    Ok(Answer::json(&json!({
        "id": user, "userId": user, "attemptCount": failed, "lastAttempt": time::format(last)
    })))
}

/// From the cookie, or from the body of a client without cookies.
fn refresh_token(call: &Call) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Sent {
        refresh_token: String,
    }
    cookie(&call.headers, "folioRefreshToken")
        .or_else(|| call.read_json::<Sent>().ok().map(|sent| sent.refresh_token))
        .or_else(|| token_of(&call.headers).filter(|token| refresh_claims(call, token).is_some()))
}

fn refresh_claims(call: &Call, token: &str) -> Option<Claims> {
    let claims = call.node.keys.read(token, call.now).ok()?;
    (claims.kind == TokenKind::Refresh).then_some(claims)
}

fn expirations(pair: &Pair) -> Value {
    let text = |at: Timestamp| time::format(at).replace("+00:00", "Z");
    json!({"accessTokenExpiration": text(pair.access_ends), "refreshTokenExpiration": text(pair.refresh_ends)})
}
