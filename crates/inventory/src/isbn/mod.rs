//! ISBNs: validation, and conversion between ten and thirteen digits.
//!
//! Routes: `/isbn/validator`, `/isbn/convertTo10`, `/isbn/convertTo13`. Reads and changes nothing.

mod hyphens;
mod number;

use carrel_platform::http::Query;
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use number::{isbn_10, isbn_13, to_10, to_13};
use serde_json::json;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("GET", "/isbn/validator", |call: Call| async move { validate(&call.query) });
    router.on("GET", "/isbn/convertTo10", |call: Call| async move {
        convert(&call.query, |text| isbn_10(text).map(|_| text.to_owned()).or_else(|| to_10(&isbn_13(text)?)))
    });
    router.on("GET", "/isbn/convertTo13", |call: Call| async move {
        convert(&call.query, |text| {
            isbn_13(text).map(|_| text.to_owned()).or_else(|| Some(to_13(&isbn_10(text)?)))
        })
    });
}

fn validate(query: &Query) -> Result<Answer, Failure> {
    let is_valid = match query.pairs() {
        [(name, text)] if name == "isbn10" => isbn_10(text).is_some(),
        [(name, text)] if name == "isbn13" => isbn_13(text).is_some(),
        [(name, text)] if name == "isbn" => isbn_10(text).or_else(|| isbn_13(text)).is_some(),
        _ => {
            return Err(Failure::Invalid(
                "Only one of following query params must be specified: isbn, isbn10, isbn13".into(),
            ));
        }
    };
    Ok(Answer::json(&json!({"isValid": is_valid})))
}

/// A number that already has the length is returned unchanged unless hyphens are requested.
fn convert(query: &Query, converted: fn(&str) -> Option<String>) -> Result<Answer, Failure> {
    let text = query.get("isbn").ok_or_else(|| Failure::Invalid("Isbn must be specified".into()))?;
    let with_hyphens = match query.get("hyphens").map(str::to_ascii_lowercase).as_deref() {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(Failure::Invalid("Hyphens must be true or false".into())),
    };
    let number = converted(text).ok_or_else(|| Failure::Invalid(format!("ISBN value {text} is invalid")))?;
    let number = match isbn_10(&number).or_else(|| isbn_13(&number)) {
        Some(digits) if with_hyphens => hyphens::inserted(&digits),
        _ => number,
    };
    Ok(Answer::json(&json!({"isbn": number})))
}
