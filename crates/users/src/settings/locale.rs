//! Language, currency and time zone of the tenant.

use super::single;
use crate::records::settings::LOCALE;
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use uuid::{Uuid, uuid};

const LOCALE_ID: Uuid = uuid!("d8e0939b-eee9-45e0-942f-b8354335724b");

pub(super) fn connect(router: &mut Router) {
    router.on("GET", "/locale", |call| async move {
        let stored = single::find(&call, &LOCALE).await?;
        let locale =
            stored.unwrap_or_else(|| json!({"locale": "en-US", "currency": "USD", "timezone": "UTC"}));
        Ok(Answer::json(&locale))
    });
    router.on("PUT", "/locale", replace);
    router.on_stand_in("POST", "/locale", |call| async move {
        let locale = call.object()?;
        single::store(&call, &LOCALE, LOCALE_ID, locale.clone()).await?;
        Ok(Answer::created(&locale))
    });
    router.on_stand_in("DELETE", "/locale", |call| routes::delete_many(&LOCALE, call));
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let locale = call.object()?;
    check(&locale)?;
    single::store(&call, &LOCALE, LOCALE_ID, locale).await?;
    Ok(Answer::text(StatusCode::CREATED, ""))
}

fn check(locale: &Document) -> Result<(), Failure> {
    for name in ["locale", "timezone", "currency"] {
        if locale.get(name).and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
            return Err(Failure::Invalid(format!("{name} missing")));
        }
    }
    match locale.get("numberingSystem") {
        None | Some(Value::Null) => Ok(()),
        Some(system) if system == "latn" || system == "arab" => Ok(()),
        Some(_) => Err(Failure::Invalid("numberingSystem must be latn or arab, or not defined".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(locale: Value) -> String {
        let checked = check(locale.as_object().expect("an object"));
        checked.err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_first_missing_property_is_named() {
        assert!(message(json!({"locale": "de-DE", "timezone": " "})).ends_with("timezone missing"));
        assert!(message(json!({})).ends_with("locale missing"));
    }

    #[test]
    fn latn_and_arab_are_the_numbering_systems() {
        let locale = |system: &str| json!({"locale": "ar", "currency": "EUR", "timezone": "UTC", "numberingSystem": system});
        assert_eq!(message(locale("arab")), "");
        assert!(message(locale("roman")).ends_with("numberingSystem must be latn or arab, or not defined"));
    }
}
