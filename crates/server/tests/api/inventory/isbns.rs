//! Validation and conversion of ISBNs.

use carrel_testkit::TestServer;
use serde_json::json;

#[tokio::test]
async fn an_isbn_is_valid_in_each_length() {
    let server = TestServer::start().await;
    for (parameters, is_valid) in [
        ("isbn13=9781930110991", true),
        ("isbn13=1930110995", false),
        ("isbn10=1-930110-99-5", true),
        ("isbn10=0318Y40648", false),
        ("isbn=9781930110991", true),
        ("isbn=1930110995", true),
        ("isbn=1-930110-99--5", false),
    ] {
        let reported = server.get(&format!("/isbn/validator?{parameters}")).await.expect(200);
        assert_eq!(reported, json!({"isValid": is_valid}), "{parameters}");
    }
}

#[tokio::test]
async fn an_isbn_is_converted_to_its_other_length() {
    let server = TestServer::start().await;
    for (given, reported) in [
        ("convertTo10?isbn=9781930110991", "1930110995"),
        ("convertTo10?isbn=9781930110991&hyphens=true", "1-930110-99-5"),
        ("convertTo10?isbn=9999999999&hyphens=true", "999999999-9"),
        ("convertTo13?isbn=1930110995&hyphens=false", "9781930110991"),
        ("convertTo13?isbn=1930110995&hyphens=true", "978-1-930110-99-1"),
        ("convertTo13?isbn=978-1930110991&hyphens=true", ""),
        ("convertTo13?isbn=9781930110991&hyphens=TRUE", "978-1-930110-99-1"),
    ] {
        let reply = server.get(&format!("/isbn/{given}")).await;
        match reported {
            "" => reply.expect_status(400),
            reported => assert_eq!(reply.expect(200), json!({"isbn": reported}), "{given}"),
        }
    }
}

#[tokio::test]
async fn an_isbn_that_cannot_be_converted_is_refused_with_folios_text() {
    let server = TestServer::start().await;
    for (given, words) in [
        ("convertTo13?isbn=1930211099&hyphens=true", "ISBN value 1930211099 is invalid"),
        ("convertTo10?isbn=97819301109911", "ISBN value 97819301109911 is invalid"),
        ("convertTo10?isbn=9791090636071", "ISBN value 9791090636071 is invalid"),
        ("convertTo13?isbn=9781930110991&hyphens=123", "Hyphens must be true or false"),
        ("convertTo10", "Isbn must be specified"),
        ("validator", "Only one of following query params must be specified: isbn, isbn10, isbn13"),
        (
            "validator?isbn10=109310410&isbn13=07417041",
            "Only one of following query params must be specified: isbn, isbn10, isbn13",
        ),
    ] {
        let reply = server.get(&format!("/isbn/{given}")).await;
        assert_eq!((reply.status, reply.text().as_str()), (400, words), "{given}");
    }
}
