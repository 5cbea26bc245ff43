//! The address of the library's user interface.

use super::single;
use crate::records::settings::BASE_URL;
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use uuid::{Uuid, uuid};

const BASE_URL_ID: Uuid = uuid!("fb8f6019-af40-4654-9b91-58c9d1b80151");

pub(super) fn connect(router: &mut Router) {
    router.on("GET", "/base-url", |call| async move {
        let stored = single::find(&call, &BASE_URL).await?;
        Ok(Answer::json(&stored.unwrap_or_else(|| json!({"baseUrl": "http://localhost:3000"}))))
    });
    router.on("PUT", "/base-url", replace);
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    check(document.get("baseUrl").and_then(Value::as_str).unwrap_or_default())?;
    single::store(&call, &BASE_URL, BASE_URL_ID, document).await?;
    Ok(Answer::text(StatusCode::CREATED, ""))
}

fn check(base_url: &str) -> Result<(), Failure> {
    if base_url.trim().is_empty() {
        return Err(Failure::Invalid("baseUrl is missing".into()));
    }
    if base_url.ends_with('/') {
        return Err(Failure::Invalid("baseUrl must not end with a slash".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_does_not_end_with_a_slash() {
        assert!(check("https://library.example").is_ok());
        assert!(check("https://library.example/").is_err());
        assert!(check(" ").is_err());
    }
}
