//! Templates filled with values.

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

/// Stores a template; returns its id.
pub async fn template(server: &TestServer, header: &str, body: &str) -> String {
    let id = Uuid::new_v4().to_string();
    let record = json!({"id": id, "outputFormats": ["text/html"], "templateResolver": "mustache",
        "localizedTemplates": {"en": {"header": header, "body": body}}});
    server.post("/templates", &record).await.expect(201);
    id
}

fn request(template: &str, context: Value) -> Value {
    json!({"templateId": template, "lang": "en", "outputFormat": "text/html", "context": context})
}

#[tokio::test]
async fn a_template_is_filled_in_the_tenants_locale() {
    let server = TestServer::start().await;
    let locale =
        json!({"locale": "de-DE", "timezone": "Europe/Berlin", "currency": "EUR", "numberingSystem": "latn"});
    let stored = server.put("/locale", &locale).await;
    assert!(stored.status < 300, "{}", stored.text());
    let id = template(
        &server,
        "Due {{loan.dueDate}}",
        "{{#loans}}{{item.title}}, {{loan.dueDateTime}};{{/loans}}",
    )
    .await;
    let loan = json!({"item": {"title": "Emma & Co"}, "loan": {"dueDate": "2024-05-03T23:30:00.000+00:00"}});
    let context = json!({"loan": {"dueDate": "2024-05-03T23:30:00.000+00:00"}, "loans": [loan]});
    let result = server.post("/template-request", &request(&id, context)).await.expect(200);
    assert_eq!(result["templateId"], id.as_str());
    assert_eq!(result["result"]["header"], "Due 04.05.24");
    assert_eq!(result["result"]["body"], "Emma &amp; Co, 04.05.24, 01:30;");
    assert_eq!((&result["meta"]["lang"], &result["meta"]["size"]), (&json!("en"), &json!(31)));
}

#[tokio::test]
async fn a_barcode_is_shown_as_an_attached_image() {
    let server = TestServer::start().await;
    let id = template(&server, "Hold", "{{item.barcodeImage}}").await;
    let result = server
        .post("/template-request", &request(&id, json!({"item": {"barcode": "10001"}})))
        .await
        .expect(200);
    assert_eq!(result["result"]["body"], "<img src='cid:barcode_10001' alt='barcode_10001'>");
    assert_eq!(result["result"]["attachments"][0]["contentId"], "<barcode_10001>");
}

#[tokio::test]
async fn missing_formats_and_languages_are_refused_with_folios_texts() {
    let server = TestServer::start().await;
    let id = template(&server, "Due", "{{#open}}").await;
    let unknown = Uuid::new_v4().to_string();
    for (template, lang, format, message) in [
        (&unknown, "en", "text/html", format!("Template with id {unknown} does not exist")),
        (
            &id,
            "en",
            "text/plain",
            "Requested template does not support 'text/plain' output format".to_owned(),
        ),
        (
            &id,
            "de",
            "text/html",
            "Requested template does not have localized template for language 'de'".to_owned(),
        ),
        (
            &id,
            "en",
            "text/html",
            format!("Template {id} could not be rendered: section 'open' is not closed"),
        ),
    ] {
        let request = json!({"templateId": template, "lang": lang, "outputFormat": format, "context": {}});
        assert_eq!(server.post("/template-request", &request).await.expect(400), message);
    }
}

#[tokio::test]
async fn a_template_is_previewed_without_being_stored() {
    let server = TestServer::start().await;
    let request =
        json!({"header": "Hello {{name}}", "body": "{{{html}}}", "context": {"name": "Ada", "html": "<b>"}});
    let preview = server.post("/template-request/preview", &request).await.expect(200);
    assert_eq!(preview, json!({"header": "Hello Ada", "body": "<b>"}));
}

#[tokio::test]
async fn a_rendering_needs_its_template() {
    let server = TestServer::start().await;
    let request = json!({"templateId": null, "lang": "en", "outputFormat": "text/html", "context": {}});
    let refused = server.post("/template-request", &request).await;
    assert_eq!(refused.refusals(), ["must not be null"]);
    assert_eq!(refused.json()["errors"][0]["parameters"][0]["key"], "templateId");
}
