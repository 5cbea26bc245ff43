//! Public information about the server: metrics, the API document, a start page. Health is in `health.rs`.

use carrel_platform::http::{App, BOUNDS, content_security_policy};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use http::header::CONTENT_SECURITY_POLICY;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

pub fn connect(router: &mut Router) {
    router.on("GET", "/", start_page);
    router.on("GET", "/metrics", metrics);
    router.on("GET", "/openapi.json", |call| async move {
        Ok(Answer::json(&crate::openapi::document(&call.app.router, &call.node.records)))
    });
    router.on("GET", "/api-docs", api_page);
    router.on("GET", "/admin/missing-indexes", missing_indexes);
    // There is no consortium; clients request one and interpret 404 as none.
    router.on("GET", "/consortia", |_| async { Err(Failure::NotFound("No consortium".into())) });
    router.on("GET", "/saml/check", |_| async { Ok(Answer::json(&json!({"active": false}))) });
}

async fn missing_indexes(call: Call) -> Result<Answer, Failure> {
    let seen = call.node.records.missing_indexes.all();
    let all: Vec<Value> = seen
        .into_iter()
        .map(|(missing, count)| {
            json!({"record": missing.table, "field": missing.field, "relation": missing.relation, "queries": count})
        })
        .collect();
    let total = all.len();
    Ok(Answer::json(&json!({"missingIndexes": all, "totalRecords": total})))
}

async fn metrics(call: Call) -> Result<Answer, Failure> {
    let app: &App = &call.app;
    let mut text = String::with_capacity(16 * 1024);
    text.push_str("# HELP carrel_requests_total Answers by FOLIO module and status class.\n# TYPE carrel_requests_total counter\n");
    let modules: Vec<_> = app.figures().collect();
    for (module, figures) in &modules {
        for (class, count) in figures.by_class.iter().enumerate() {
            let count = count.load(Relaxed);
            if count > 0 {
                let _ = writeln!(
                    text,
                    "carrel_requests_total{{module=\"{module}\",class=\"{}xx\"}} {count}",
                    class + 1
                );
            }
        }
    }
    text.push_str("# HELP carrel_request_seconds Time from a request's arrival to its answer.\n# TYPE carrel_request_seconds histogram\n");
    for (module, figures) in &modules {
        let mut sum = 0;
        for (place, bucket) in figures.histogram.iter().enumerate() {
            sum += bucket.load(Relaxed);
            if sum == 0 {
                continue;
            }
            let bound =
                BOUNDS.get(place).map_or("+Inf".to_owned(), |micros| (*micros as f64 / 1e6).to_string());
            let _ =
                writeln!(text, "carrel_request_seconds_bucket{{module=\"{module}\",le=\"{bound}\"}} {sum}");
        }
        if sum > 0 {
            let seconds = figures.micros.load(Relaxed) as f64 / 1e6;
            let _ = writeln!(
                text,
                "carrel_request_seconds_sum{{module=\"{module}\"}} {seconds}\ncarrel_request_seconds_count{{module=\"{module}\"}} {sum}"
            );
        }
    }
    for (name, help, value) in [
        ("carrel_busy_seconds_total", "Time in which a module's work was polled.", 0),
        ("carrel_database_round_trips_total", "Round trips to the database.", 1),
        ("carrel_database_seconds_total", "Time between sending statements and receiving their results.", 2),
        ("carrel_answer_bytes_total", "Bytes of answers.", 3),
    ] {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
        for (module, figures) in &modules {
            let value = match value {
                0 => figures.busy_nanos.load(Relaxed) as f64 / 1e9,
                1 => figures.pipelines.load(Relaxed) as f64,
                2 => figures.database_nanos.load(Relaxed) as f64 / 1e9,
                _ => figures.bytes.load(Relaxed) as f64,
            };
            if value > 0.0 {
                let _ = writeln!(text, "{name}{{module=\"{module}\"}} {value}");
            }
        }
    }
    text.push_str(&crate::tenant_metrics::text(&call.node).await);
    if let Some(bytes) = resident_bytes() {
        let _ = writeln!(
            text,
            "# HELP process_resident_memory_bytes Resident memory of the server.\n# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes {bytes}"
        );
    }
    let mut answer = Answer::text(http::StatusCode::OK, text);
    answer.content_type = "text/plain; version=0.0.4";
    Ok(answer)
}

/// Resident memory of this process.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

async fn api_page(call: Call) -> Result<Answer, Failure> {
    let app: &App = &call.app;
    let mut rows = String::new();
    for entry in app.router.entries() {
        let route = entry.route;
        let _ = write!(
            rows,
            "<tr class=\"{}\"><td>{}</td><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            if entry.handler.is_some() { "built" } else { "missing" },
            route.method,
            route.path,
            route.module,
            route.permissions.join("<br>")
        );
    }
    let style = "body{font:15px/1.5 system-ui;margin:2rem;max-width:72rem}table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ddd;padding:.25rem .5rem;text-align:left;vertical-align:top}.missing{color:#767676}.missing td:first-child:after{content:' (501)'}input{font:inherit;padding:.4rem;width:24rem}";
    let script = "const f=document.querySelector('input');f.oninput=()=>document.querySelectorAll('tbody tr').forEach(r=>r.hidden=!r.textContent.toLowerCase().includes(f.value.toLowerCase()))";
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Carrel: API</title><style>{style}</style><h1>API</h1><p>Every route of FOLIO's surface; those in grey answer 501. <a href=\"/openapi.json\">OpenAPI document</a></p><label>Find <input type=\"search\" autofocus></label><table><thead><tr><th>Method</th><th>Path</th><th>Module</th><th>Permissions</th></tr></thead><tbody>{rows}</tbody></table><script>{script}</script></html>"
    );
    Ok(page_with_inline_code(page))
}

async fn start_page(_: Call) -> Result<Answer, Failure> {
    Ok(page_with_inline_code(include_str!("start-page.html")))
}

/// A page with a security policy that permits its one inline style and one inline script.
fn page_with_inline_code(page: impl Into<String>) -> Answer {
    let page = page.into();
    let within = |tag: &str| {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        let (_, rest) = page.split_once(&open)?;
        rest.split_once(&close).map(|(text, _)| text.to_owned())
    };
    let (style, script) = (within("style").unwrap_or_default(), within("script").unwrap_or_default());
    Answer::html(page).header(CONTENT_SECURITY_POLICY, content_security_policy(&style, &script))
}

/// `carrel routes`: the list as text.
pub fn routes_as_text(missing: bool) -> String {
    let router = crate::modules::router();
    let mut text = String::new();
    let (mut built, mut open) = (0, 0);
    for entry in router.entries() {
        let done = entry.handler.is_some();
        if done {
            built += 1;
        } else {
            open += 1;
        }
        if !missing || !done {
            let _ = writeln!(
                text,
                "{:9} {:7} {:80} {}",
                if done { "answers" } else { "501" },
                entry.route.method,
                entry.route.path,
                entry.route.module
            );
        }
    }
    let _ = writeln!(text, "{built} routes answer, {open} give 501");
    text
}
