//! One call of a subscriber.

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::time::Duration;
use uuid::Uuid;

/// A subscriber must answer within this time.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of its answer that are read, so that the connection can be reused.
const MAX_ANSWER: usize = 64 * 1024;

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Delivered,
    /// The subscriber refuses this event.
    Refused(String),
    /// No answer, or a status that suggests a retry.
    Unavailable(String),
}

/// A client with connections to subscribers.
pub struct Caller(Client<HttpConnector, Full<Bytes>>);

impl Default for Caller {
    fn default() -> Caller {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(Duration::from_secs(3)));
        connector.set_nodelay(true);
        let mut client = Client::builder(TokioExecutor::new());
        Caller(client.pool_idle_timeout(Duration::from_secs(30)).pool_max_idle_per_host(4).build(connector))
    }
}

impl Caller {
    /// Sends an event; redirects are not followed.
    pub async fn call(&self, url: &str, tenant: &str, event: Uuid, body: String) -> Outcome {
        let request = Request::post(url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/plain")
            .header("x-okapi-tenant", tenant)
            .header("x-pubsub-event-id", event.to_string())
            .body(Full::new(Bytes::from(body)));
        let request = match request {
            Ok(request) => request,
            Err(error) => return Outcome::Refused(format!("{url} cannot be called: {error}")),
        };
        let answered = async {
            let response = self.0.request(request).await?;
            let status = response.status();
            // The body of the answer is ignored.
            let _ = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
            Ok::<_, hyper_util::client::legacy::Error>(status)
        };
        match tokio::time::timeout(TIMEOUT, answered).await {
            Ok(Ok(status)) => outcome(status, url),
            Ok(Err(error)) => Outcome::Unavailable(format!("{url} does not answer: {error}")),
            Err(_) => Outcome::Unavailable(format!("{url} did not answer in {} seconds", TIMEOUT.as_secs())),
        }
    }
}

fn outcome(status: StatusCode, url: &str) -> Outcome {
    let message = format!("{url} answered {status}");
    match status {
        status if status.is_success() => Outcome::Delivered,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Outcome::Unavailable(message),
        status if status.is_server_error() => Outcome::Unavailable(message),
        _ => Outcome::Refused(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_whether_to_try_again() {
        let of = |code: u16| outcome(StatusCode::from_u16(code).expect("a status"), "u");
        assert!(matches!((of(200), of(204)), (Outcome::Delivered, Outcome::Delivered)));
        assert!(matches!(
            (of(500), of(503), of(429)),
            (Outcome::Unavailable(_), Outcome::Unavailable(_), Outcome::Unavailable(_))
        ));
        assert!(matches!(
            (of(302), of(404), of(422)),
            (Outcome::Refused(_), Outcome::Refused(_), Outcome::Refused(_))
        ));
    }
}
