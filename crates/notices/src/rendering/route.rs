//! Paths and shapes of rendering.

use super::dates::DateStyle;
use super::{Localized, Rendered, render};
use crate::records::TEMPLATE;
use carrel_platform::record_store::read;
use carrel_platform::{Answer, Connection, Router};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/template-request", |call| async move {
        let request: TemplateRequest = call.read_json()?;
        let connection = call.tenant()?.reader().await?;
        let rendered = request.rendered(&connection).await?;
        Ok(Answer::json(&request.result(&rendered, call.now)))
    });
    router.on("POST", "/template-request/preview", |call| async move {
        let request: PreviewRequest = call.read_json()?;
        let connection = call.tenant()?.reader().await?;
        let style = date_style(&connection).await?;
        let template = Localized { header: request.header, body: request.body };
        let rendered = render(&template, object(request.context), &style)
            .map_err(|reason| Failure::Invalid(format!("Template could not be rendered: {reason}")))?;
        Ok(Answer::json(&json!({"header": rendered.header, "body": rendered.body})))
    });
}

/// Which template to render, and with what.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateRequest {
    pub template_id: String,
    pub lang: String,
    pub output_format: String,
    #[serde(default)]
    pub context: Value,
}

#[derive(Deserialize)]
struct PreviewRequest {
    #[serde(default)]
    header: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    context: Value,
}

/// What is used of a stored template.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Template {
    #[serde(default)]
    output_formats: Vec<String>,
    #[serde(default)]
    localized_templates: std::collections::HashMap<String, LocalizedTemplate>,
}

#[derive(Deserialize, Clone)]
struct LocalizedTemplate {
    #[serde(default)]
    header: String,
    #[serde(default)]
    body: String,
}

impl TemplateRequest {
    /// The template with its values. Refusals have mod-template-engine's texts.
    pub async fn rendered(&self, connection: &Connection) -> Result<Rendered, Failure> {
        let unknown = || Failure::Invalid(format!("Template with id {} does not exist", self.template_id));
        let id = Uuid::parse_str(&self.template_id).map_err(|_| unknown())?;
        let document = read::find(connection, &TEMPLATE, id).await?.ok_or_else(unknown)?;
        let template: Template = serde_json::from_slice(document.0.as_bytes())
            .map_err(|error| Failure::internal(format!("reading template {id}: {error}")))?;
        if !template.output_formats.contains(&self.output_format) {
            return Err(Failure::Invalid(format!(
                "Requested template does not support '{}' output format",
                self.output_format
            )));
        }
        let localized = template.localized_templates.get(&self.lang).cloned().ok_or_else(|| {
            Failure::Invalid(format!(
                "Requested template does not have localized template for language '{}'",
                self.lang
            ))
        })?;
        let template = Localized { header: localized.header, body: localized.body };
        let style = date_style(connection).await?;
        render(&template, object(self.context.clone()), &style)
            .map_err(|reason| Failure::Invalid(format!("Template {id} could not be rendered: {reason}")))
    }

    fn result(&self, rendered: &Rendered, now: Timestamp) -> Value {
        json!({
            "templateId": self.template_id,
            "result": {"header": rendered.header, "body": rendered.body, "attachments": rendered.attachments},
            "meta": {
                "size": rendered.body.chars().count(),
                "dateCreate": time::format(now),
                "lang": self.lang,
                "outputFormat": self.output_format,
            },
        })
    }
}

/// The tenant's locale and time zone, as `/locale` has them.
pub async fn date_style(connection: &Connection) -> Result<DateStyle, Failure> {
    let rows = connection
        .query("SELECT doc->>'locale' AS locale, doc->>'timezone' AS zone FROM locale", vec![])
        .await?;
    let text = |column: &str| rows.first().and_then(|row| row.get::<_, Option<String>>(column));
    Ok(DateStyle::new(text("locale").as_deref().unwrap_or("en-US"), text("zone").as_deref().unwrap_or("UTC")))
}

/// A context that is absent has no values.
fn object(context: Value) -> Value {
    if context.is_object() { context } else { json!({}) }
}
