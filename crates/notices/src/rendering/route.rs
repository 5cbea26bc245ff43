//! Paths and shapes of rendering.

use super::dates::DateStyle;
use super::{Localized, Rendered, render};
use carrel_platform::{Answer, Connection, Json, Pipeline, Router};
use carrel_records::shape::Shape;
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::LazyLock;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/template-request", |call| async move {
        let request: TemplateRequest = call.read_checked(&REQUEST)?;
        let connection = call.tenant()?.reader().await?;
        let rendered = request.rendered(&connection).await?;
        Ok(Answer::json(&request.result(&rendered, call.now)))
    });
    router.on("POST", "/template-request/preview", |call| async move {
        let request: PreviewRequest = call.read_json()?;
        let connection = call.tenant()?.reader().await?;
        let templates = Templates::read(&connection, Vec::new()).await?;
        let rendered = templates.rendered_text(request.header, request.body, request.context)?;
        Ok(Answer::json(&json!({"header": rendered.header, "body": rendered.body})))
    });
}

static REQUEST: LazyLock<Shape> = LazyLock::new(|| {
    Shape::parse("templateId:string*; lang:string*; outputFormat:string*; context:object(open)", true)
});

/// A request to render a template.
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

/// The used properties of a stored template.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Template {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    output_formats: Vec<String>,
    #[serde(default)]
    localized_templates: HashMap<String, LocalizedTemplate>,
}

#[derive(Deserialize, Clone)]
struct LocalizedTemplate {
    #[serde(default)]
    header: String,
    #[serde(default)]
    body: String,
}

/// Templates and the tenant's date format, read together.
pub struct Templates {
    by_id: HashMap<Uuid, Template>,
    style: DateStyle,
}

impl Templates {
    /// Reads the templates with these ids; an unknown one is reported when it is rendered.
    pub async fn read(connection: &Connection, ids: Vec<Uuid>) -> Result<Templates, Failure> {
        let mut pipeline = Pipeline::new();
        let templates =
            pipeline.add("SELECT id, doc FROM template WHERE id = ANY ($1::uuid[])", vec![ids.into()]);
        let locale = pipeline.add(LOCALE, vec![]);
        let results = connection.send(pipeline).await?;
        let mut by_id = HashMap::new();
        for row in results.rows(templates) {
            let (id, document): (Uuid, Json) = (row.get("id"), row.get("doc"));
            let template = serde_json::from_slice(document.0.as_bytes())
                .map_err(|error| Failure::internal(format!("reading template {id}: {error}")))?;
            by_id.insert(id, template);
        }
        let locale = results.first(locale);
        let text = |column: &str| locale.and_then(|row| row.get::<_, Option<String>>(column));
        let (language, zone) = (text("locale"), text("zone"));
        let style = DateStyle::new(language.as_deref().unwrap_or("en-US"), zone.as_deref().unwrap_or("UTC"));
        Ok(Templates { by_id, style })
    }

    /// The name of a template.
    pub fn name(&self, id: Uuid) -> Option<&str> {
        self.by_id.get(&id)?.name.as_deref()
    }

    /// A template that is not stored, with its values.
    pub fn rendered_text(&self, header: String, body: String, context: Value) -> Result<Rendered, Failure> {
        render(&Localized { header, body }, object(context), &self.style)
            .map_err(|reason| Failure::Invalid(format!("Template could not be rendered: {reason}")))
    }

    /// The rendered template. Refusals have mod-template-engine's texts.
    pub fn rendered(&self, request: &TemplateRequest) -> Result<Rendered, Failure> {
        let id = Uuid::parse_str(&request.template_id).unwrap_or_default();
        let template = self.by_id.get(&id).ok_or_else(|| {
            Failure::Invalid(format!("Template with id {} does not exist", request.template_id))
        })?;
        if !template.output_formats.contains(&request.output_format) {
            return Err(Failure::Invalid(format!(
                "Requested template does not support '{}' output format",
                request.output_format
            )));
        }
        let localized = template.localized_templates.get(&request.lang).cloned().ok_or_else(|| {
            Failure::Invalid(format!(
                "Requested template does not have localized template for language '{}'",
                request.lang
            ))
        })?;
        let template = Localized { header: localized.header, body: localized.body };
        render(&template, object(request.context.clone()), &self.style)
            .map_err(|reason| Failure::Invalid(format!("Template {id} could not be rendered: {reason}")))
    }
}

impl TemplateRequest {
    /// The rendered template. Refusals have mod-template-engine's texts.
    pub async fn rendered(&self, connection: &Connection) -> Result<Rendered, Failure> {
        let ids = Uuid::parse_str(&self.template_id).into_iter().collect();
        Templates::read(connection, ids).await?.rendered(self)
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

const LOCALE: &str = "SELECT doc->>'locale' AS locale, doc->>'timezone' AS zone FROM locale";

/// An absent context has no values.
fn object(context: Value) -> Value {
    if context.is_object() { context } else { json!({}) }
}
