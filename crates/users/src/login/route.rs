//! Routes of logging in, renewing tokens and logging out.

use crate::extensions::Extensions;
use crate::login::cookies::{with_cookies, without_cookies};
use crate::login::tokens::{self, Pair};
use crate::login::{Credentials, LoggedIn, attempts, check, events, tokens_for};
use crate::users_bl::composite_of;
use carrel_platform::http::{cookie, token_of};
use carrel_platform::token::{Claims, TokenKind};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal, RefusalCode, time};
use http::{HeaderName, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Whether the answer to a login shows the user with all that belongs to them.
type Composite = Option<&'static Extensions>;

pub fn connect(router: &mut Router, extensions: &'static Extensions) {
    for (path, composite) in [("/authn/login", None), ("/bl-users/login", Some(extensions))] {
        router.on("POST", path, move |call| login(call, composite));
    }
    for (path, composite) in
        [("/authn/login-with-expiry", None), ("/bl-users/login-with-expiry", Some(extensions))]
    {
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

/// The older login: a token in header and body; the cookies come with it.
async fn login(call: Call, composite: Composite) -> Result<Answer, Failure> {
    let (user, pair) = log_in(&call).await?;
    let endless = call.node.options.endless_tokens;
    let token = tokens::legacy(&call.node.keys, &call.tenant()?.id, &user, endless, call.now);
    let body = match composite {
        Some(extensions) => composite_of(&call, user.user_id, extensions).await?,
        None => json!({"okapiToken": token, "refreshToken": pair.refresh}),
    };
    let answer = Answer::created(&body).header(HeaderName::from_static("x-okapi-token"), &token);
    Ok(with_cookies(answer, &pair, &call))
}

async fn login_with_expiry(call: Call, composite: Composite) -> Result<Answer, Failure> {
    let (user, pair) = log_in(&call).await?;
    let mut body = expirations(&pair);
    if let Some(extensions) = composite {
        let mut whole = composite_of(&call, user.user_id, extensions).await?;
        whole["tokenExpiration"] = body;
        whole["tenant"] = call.tenant()?.id.as_str().into();
        body = whole;
    }
    Ok(with_cookies(Answer::created(&body), &pair, &call))
}

async fn log_in(call: &Call) -> Result<(LoggedIn, Pair), Failure> {
    let (user, attempt) = check(call, &call.read_json::<Credentials>()?).await?;
    let pair = tokens_for(call, &user, &attempt).await?;
    events::log_event(call.tenant()?, events::SUCCESSFUL_LOGIN, user.user_id, call.now).await?;
    Ok((user, pair))
}

/// A refresh token for a new pair; it can be redeemed once. A second use may mean that it was stolen, so all refresh
/// tokens of its user are deleted.
async fn refresh(call: Call) -> Result<Answer, Failure> {
    let refused = || {
        Failure::from(
            Refusal::new("Authorization server unable to process token refresh request")
                .kind("error")
                .code(RefusalCode::TokenRefreshUnprocessable),
        )
    };
    let Some(token) = refresh_token(&call) else {
        let words = Refusal::new("Bad request").kind("error").code(RefusalCode::TokenParseFailure).to_json();
        return Ok(
            Answer::json(&json!({"errors": [words], "total_records": 1})).status(StatusCode::BAD_REQUEST)
        );
    };
    let claims = refresh_claims(&call, &token).ok_or_else(refused)?;
    let tenant = call.node.find_tenant(&claims.tenant).await?.ok_or_else(refused)?;
    let mut tx = tenant.begin().await?;
    let Some(generation) = tokens::redeem(&mut tx, &claims).await? else {
        tokens::forget_refresh_tokens(tx, claims.user_id).await?;
        return Err(refused());
    };
    let user = LoggedIn { user_id: claims.user_id, username: claims.sub, generation };
    let pair = tokens::pair(&call.node.keys, &tenant.id, &user, call.now);
    let mut pipeline = Pipeline::new();
    tokens::store(&mut pipeline, user.user_id, &pair);
    tx.send_and_commit(pipeline).await?;
    Ok(with_cookies(Answer::created(&expirations(&pair)), &pair, &call))
}

/// Revokes the refresh token of this session; without one, those of all sessions of the user.
async fn logout(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let sent = cookie(&call.headers, "folioRefreshToken").and_then(|token| refresh_claims(&call, &token));
    match (sent, call.caller.user_id) {
        (Some(claims), _) => {
            let mut tx = tenant.begin().await?;
            tokens::redeem(&mut tx, &claims).await?;
            tx.commit().await?;
        }
        (None, Some(user)) if call.headers.get(http::header::COOKIE).is_none() => {
            tokens::forget_refresh_tokens(tenant.begin().await?, user).await?;
        }
        (None, _) => {}
    }
    Ok(without_cookies(Answer::no_content(), &call))
}

async fn invalidate(call: Call) -> Result<Answer, Failure> {
    let token = refresh_token(&call).ok_or_else(|| Failure::Invalid("refreshToken is missing".into()))?;
    let claims = refresh_claims(&call, &token)
        .filter(|claims| Some(claims.user_id) == call.caller.user_id)
        .ok_or_else(|| Failure::Unauthenticated("Invalid token".into()))?;
    let mut tx = call.tenant()?.begin().await?;
    tokens::redeem(&mut tx, &claims).await?;
    tx.commit().await?;
    Ok(Answer::no_content())
}

/// Ends all sessions of the caller, this one included.
async fn end_all(call: Call) -> Result<Call, Failure> {
    let user = call.caller.user_id.ok_or_else(|| Failure::Unauthenticated("Invalid token".into()))?;
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    tokens::revoke_all(&mut pipeline, vec![user], call.now);
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(call)
}

async fn login_attempts(call: Call) -> Result<Answer, Failure> {
    let user = call.id(0)?;
    let (failures, last) = attempts::failures_of(call.tenant()?, user)
        .await?
        .ok_or_else(|| Failure::NotFound(format!("No user login attempts found for id {user}")))?;
    Ok(Answer::json(&json!({
        "id": user, "userId": user, "attemptCount": failures, "lastAttempt": time::format(last)
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
