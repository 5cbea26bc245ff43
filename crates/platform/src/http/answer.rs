//! Answers: status codes and FOLIO's bodies. Only this file turns a failure into HTTP.

use crate::database::Json;
use bytes::Bytes;
use carrel_records::{Failure, MAX_REFUSALS};
use futures_util::Stream;
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// The response to a request.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Vec<u8>,
    /// Chunks that follow the body, produced while they are sent.
    pub rest: Option<Rest>,
}

/// Chunks of a streamed answer; an error aborts it.
pub struct Rest(mpsc::Receiver<Result<Bytes, std::io::Error>>);

impl Rest {
    pub fn of(chunks: mpsc::Receiver<Result<Bytes, std::io::Error>>) -> Rest {
        Rest(chunks)
    }
}

impl Stream for Rest {
    type Item = Result<Bytes, std::io::Error>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rest")
    }
}

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";

impl Answer {
    /// 200 with JSON.
    pub fn json(value: &impl Serialize) -> Answer {
        Answer::json_bytes(serde_json::to_vec(value).expect("our own values are JSON"))
    }
    /// 200 with serialized JSON.
    pub fn json_bytes(body: Vec<u8>) -> Answer {
        Answer { status: StatusCode::OK, content_type: JSON, headers: Vec::new(), body, rest: None }
    }
    /// 200 with a stored document, compact.
    pub fn document(document: Json) -> Answer {
        Answer::json_bytes(document.into_compact())
    }
    /// The document with times ending in `Z`, as FOLIO's modules write them before their storage changes that to
    /// `+00:00`: a test suite whose simulated storage returns them unchanged expects `Z`.
    pub fn with_modules_times(mut self) -> Answer {
        if self.content_type == JSON
            && let Ok(text) = std::str::from_utf8(&self.body)
            && text.contains("+00:00\"")
        {
            self.body = text.replace("+00:00\"", "Z\"").into_bytes();
        }
        self
    }

    /// 201 with JSON.
    pub fn created(value: &impl Serialize) -> Answer {
        Answer::json(value).status(StatusCode::CREATED)
    }
    /// 204.
    pub fn no_content() -> Answer {
        Answer {
            status: StatusCode::NO_CONTENT,
            content_type: TEXT,
            headers: Vec::new(),
            body: Vec::new(),
            rest: None,
        }
    }
    /// Plain text with a status.
    pub fn text(status: StatusCode, text: impl Into<String>) -> Answer {
        Answer { status, content_type: TEXT, headers: Vec::new(), body: text.into().into_bytes(), rest: None }
    }
    pub fn html(text: impl Into<String>) -> Answer {
        Answer {
            status: StatusCode::OK,
            content_type: "text/html; charset=utf-8",
            headers: Vec::new(),
            body: text.into().into_bytes(),
            rest: None,
        }
    }
    /// Appends a stream to the body.
    pub fn followed_by(mut self, rest: Rest) -> Answer {
        self.rest = Some(rest);
        self
    }
    pub fn status(mut self, status: StatusCode) -> Answer {
        self.status = status;
        self
    }
    /// Adds a header; an invalid value is omitted.
    pub fn header(mut self, name: HeaderName, value: impl AsRef<str>) -> Answer {
        if let Ok(value) = HeaderValue::from_str(value.as_ref()) {
            self.headers.push((name, value));
        }
        self
    }
    pub fn location(self, path: impl AsRef<str>) -> Answer {
        self.header(http::header::LOCATION, path)
    }

    /// The answer for a failure of a route of a FOLIO module, in that module's shape.
    pub fn of_failure_in(failure: &Failure, module: &str) -> Answer {
        match failure {
            // FOLIO quirk: mod-circulation does not count its errors; errors of its storage module are counted.
            Failure::Refused(refusals)
                if module == "mod-circulation" && refusals.iter().all(|refusal| refusal.kind.is_none()) =>
            {
                let errors: Vec<Value> = refusals.iter().map(|refusal| refusal.to_json()).collect();
                Answer::json(&json!({"errors": errors})).status(StatusCode::UNPROCESSABLE_ENTITY)
            }
            _ => Answer::of_failure(failure),
        }
    }

    /// The answer for a failure, in FOLIO's usual shape.
    pub fn of_failure(failure: &Failure) -> Answer {
        let text = |status, text: &str| Answer::text(status, shortened_text(text));
        match failure {
            Failure::Refused(refusals) => {
                let errors: Vec<Value> =
                    refusals.iter().take(MAX_REFUSALS).map(|refusal| shortened(refusal.to_json())).collect();
                Answer::json(&json!({"errors": errors, "total_records": errors.len()}))
                    .status(StatusCode::UNPROCESSABLE_ENTITY)
            }
            // Texts quote input of the client, which may be long.
            Failure::NotFound(words) => text(StatusCode::NOT_FOUND, words),
            Failure::Invalid(words) | Failure::Conflict(words) => text(StatusCode::BAD_REQUEST, words),
            Failure::StaleVersion(words) => text(StatusCode::CONFLICT, words),
            Failure::Unauthenticated(words) => text(StatusCode::UNAUTHORIZED, words),
            Failure::Forbidden(words) => text(StatusCode::FORBIDDEN, words),
            Failure::TooLarge(words) => text(StatusCode::PAYLOAD_TOO_LARGE, words),
            Failure::TooMany(words) => {
                text(StatusCode::TOO_MANY_REQUESTS, words).header(http::header::RETRY_AFTER, "1")
            }
            Failure::Unavailable(words) => {
                text(StatusCode::SERVICE_UNAVAILABLE, words).header(http::header::RETRY_AFTER, "1")
            }
            Failure::NotBuilt(words) => text(StatusCode::NOT_IMPLEMENTED, words),
            // FOLIO's status for it. The text concerns the tenant's settings and is shown.
            Failure::Misconfigured(words) => text(StatusCode::INTERNAL_SERVER_ERROR, words),
            Failure::Internal { .. } => text(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
        }
    }
}

/// Characters of a text in an error answer; longer texts are cut.
const MAX_ERROR_CHARACTERS: usize = 2_000;

fn shortened_text(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_ERROR_CHARACTERS) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// The same JSON with every text cut to the bound.
fn shortened(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) => {
            if let Cow::Owned(short) = shortened_text(text) {
                *text = short;
            }
        }
        Value::Array(values) => {
            for value in values {
                *value = shortened(value.take());
            }
        }
        Value::Object(map) => {
            for value in map.values_mut() {
                *value = shortened(value.take());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_records::Refusal;

    #[test]
    fn an_error_answer_is_bounded_in_number_of_refusals() {
        let refusal = Refusal::new("unknown property").with("key", "value");
        let answer = Answer::of_failure(&Failure::Refused(vec![refusal; 10_000]));
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        assert_eq!(
            (body["errors"].as_array().map(Vec::len), &body["total_records"]),
            (Some(100), &json!(100))
        );
    }

    #[test]
    fn an_error_answer_is_bounded_in_length() {
        let long = "é".repeat(100_000);
        let refusal = Refusal::new(long.clone()).with("key", long.clone());
        let answer = Answer::of_failure(&Failure::Refused(vec![refusal; 20]));
        assert!(answer.body.len() < 200_000, "{}", answer.body.len());
        assert!(Answer::of_failure(&Failure::NotFound(long)).body.len() < 10_000);
    }
}
