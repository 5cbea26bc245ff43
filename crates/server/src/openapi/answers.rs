//! The responses of an operation.

use carrel_platform::http::RouteEntry;
use carrel_records::RecordType;
use serde_json::{Value, json};

/// Operations on records whose success has an unusual status.
const SUCCESSES: &[(&str, &str, &[&str])] = &[
    ("POST", "/settings/entries", &["204"]),
    ("POST", "/authn/log/events", &["201", "204"]),
    ("GET", "/authn/log/events", &["200", "204"]),
    ("PUT", "/perms/users/{id}", &["200"]),
    ("PUT", "/perms/permissions/{id}", &["200"]),
    ("PUT", "/calendar/calendars/{calendarId}", &["200"]),
    ("PUT", "/locale", &["201", "204"]),
    ("PUT", "/base-url", &["201", "204"]),
];

/// Reads and deletions that may be refused with reasons.
const REFUSED: &[(&str, &str)] = &[
    ("GET", "/check-out-lock-storage"),
    ("GET", "/custom-fields/{id}/options/{optId}/stats"),
    ("GET", "/patron-action-session-storage/expired-session-patron-ids"),
];

/// Pages and other answers that are not JSON.
const NO_JSON: &[(&str, &str)] = &[
    ("/", "text/html; charset=utf-8"),
    ("/api-docs", "text/html; charset=utf-8"),
    ("/_/version", "text/plain"),
    ("/metrics", "text/plain; version=0.0.4"),
];

/// The responses of one operation; a named operation declares the status of its success.
pub fn responses(
    entry: &RouteEntry,
    answered: Option<Value>,
    record: Option<&'static RecordType>,
    named_status: Option<&'static str>,
) -> Value {
    let route = entry.route;
    let (method, path) = (route.method.as_str(), route.path.as_str());
    let mut answers = json!({
        "400": failure("The request is malformed; the text says where"),
        "401": failure("The token is missing or invalid"),
        "403": failure("A permission is lacking"),
        "503": failure("The database or a lock is not available at the moment; a retry is safe"),
    });
    if entry.handler.is_none() {
        answers["501"] = failure("Known, but not built yet");
        return answers;
    }
    let done = match (answered, NO_JSON.iter().find(|(known, _)| *known == path)) {
        (_, Some((_, kind))) => {
            json!({"description": "Done", "content": {*kind: {"schema": {"type": "string"}}}})
        }
        (Some(schema), None) if record.is_some() || named_status.is_some() => {
            json!({"description": "Done", "content": {"application/json": {"schema": schema}}})
        }
        // Some use cases answer in plain text.
        (Some(schema), None) => json!({"description": "Done", "content": {
            "application/json": {"schema": schema}, "text/plain": {"schema": {"type": "string"}},
        }}),
        (None, None) => json!({"description": "Done"}),
    };
    let named_statuses = named_status.map(|status| [status]);
    let statuses = named_statuses.as_ref().map_or_else(|| successes(method, path, record), |one| &one[..]);
    for status in statuses {
        answers[status] = if *status == "204" { json!({"description": "Done"}) } else { done.clone() };
    }
    if path.contains('{') || path == "/consortia" {
        answers["404"] = failure("There is no such record");
    }
    if (method, path) == ("GET", "/patron/account") {
        answers["405"] = failure("FOLIO declares this route but does not implement it");
    }
    let takes_a_body = matches!(method, "POST" | "PUT" | "PATCH");
    if takes_a_body {
        answers["413"] = failure("The body is too large");
    }
    if takes_a_body || REFUSED.contains(&(method, path)) {
        answers["422"] = json!({"description": "Refused; with all reasons found", "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/errors"}},
            "text/plain": {"schema": {"type": "string"}},
        }});
    }
    if method == "PUT"
        && (record.is_some_and(|record| record.optimistic_locking) || path.contains("calendars"))
    {
        answers["409"] = failure("The record was changed since it was read, or another record conflicts");
    }
    answers
}

/// Statuses of success: those of the table, otherwise FOLIO's usual ones for records.
fn successes(method: &str, path: &str, record: Option<&RecordType>) -> &'static [&'static str] {
    if let Some((.., statuses)) = SUCCESSES.iter().find(|(m, p, _)| (*m, *p) == (method, path)) {
        return statuses;
    }
    match (method, record) {
        ("GET", _) => &["200"],
        ("POST", Some(_)) => &["201"],
        ("PUT" | "DELETE", Some(_)) => &["204"],
        _ => &["2XX", "204"],
    }
}

/// An error as text; a few of FOLIO's modules answer in JSON.
fn failure(description: &str) -> Value {
    json!({"description": description, "content": {
        "text/plain": {"schema": {"type": "string"}},
        "application/json": {"schema": {"type": "object"}},
    }})
}
