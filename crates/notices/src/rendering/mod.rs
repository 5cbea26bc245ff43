//! Rendering a template: Mustache over a context whose dates are written in the tenant's locale, with barcodes as images.
//!
//! Routes: `POST /template-request`, `POST /template-request/preview` (mod-template-engine). Reads templates and the
//! tenant's locale; changes nothing.

pub mod barcode_image;
pub mod dates;
pub mod mustache;
mod route;

pub use route::{TemplateRequest, Templates, connect};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dates::DateStyle;
use serde_json::{Value, json};

/// A template in one language.
#[derive(Debug, Clone, Default)]
pub struct Localized {
    pub header: String,
    pub body: String,
}

/// A rendered template.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    pub header: String,
    pub body: String,
    /// Images in the body, in the form of FOLIO's e-mail attachments.
    pub attachments: Vec<Value>,
}

/// Renders the template with the values of `context`. The error is a sentence about the template.
pub fn render(template: &Localized, mut context: Value, style: &DateStyle) -> Result<Rendered, String> {
    style.apply(&mut context);
    let mut images = Images { template, attachments: Vec::new(), tokens: Vec::new() };
    images.add("", &mut context);
    let Images { attachments, tokens, .. } = images;
    let unescaped = |text: &str| {
        tokens.iter().fold(text.to_owned(), |text, token| {
            text.replace(&format!("{{{{{token}}}}}"), &format!("{{{{{{{token}}}}}}}"))
        })
    };
    Ok(Rendered {
        header: mustache::render(&unescaped(&template.header), &context)?,
        body: mustache::render(&unescaped(&template.body), &context)?,
        attachments,
    })
}

/// Images of barcodes and HRIDs, for the tokens in the template (`item.barcodeImage`).
struct Images<'a> {
    template: &'a Localized,
    attachments: Vec<Value>,
    /// Tokens whose value is HTML.
    tokens: Vec<String>,
}

impl Images<'_> {
    /// Adds images to the context below `path`. Within a list, names start again, as in a section of the template.
    fn add(&mut self, path: &str, value: &mut Value) {
        match value {
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.add("", element)),
            Value::Object(object) => {
                let mut tags = Vec::new();
                for (name, value) in object.iter_mut() {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
                    if let Some(text) = text.filter(|_| path.ends_with(".barcode") || path.ends_with("Hrid"))
                    {
                        tags.extend(self.image(&path, text).map(|tag| (format!("{name}Image"), tag)));
                    } else {
                        self.add(&path, value);
                    }
                }
                object.extend(tags.into_iter().map(|(name, tag)| (name, tag.into())));
            }
            _ => {}
        }
    }

    fn image(&mut self, path: &str, barcode: &str) -> Option<String> {
        let token = format!("{path}Image");
        let tag = format!("{{{{{token}}}}}");
        if !self.template.header.contains(&tag) && !self.template.body.contains(&tag) {
            return None;
        }
        let image = barcode_image::png(barcode)?;
        let name = format!("barcode_{barcode}");
        if !self.attachments.iter().any(|attachment| attachment["name"] == name.as_str()) {
            self.attachments.push(json!({
                "data": BASE64_STANDARD.encode(image),
                "contentType": "image/png",
                "disposition": "inline",
                "name": name,
                "contentId": format!("<{name}>"),
            }));
        }
        if !self.tokens.contains(&token) {
            self.tokens.push(token);
        }
        let quoted = name.replace('&', "&amp;").replace('\'', "&#39;").replace('<', "&lt;");
        Some(format!("<img src='cid:{quoted}' alt='{quoted}'>"))
    }
}

#[cfg(test)]
mod tests {
    use super::{DateStyle, Localized, Rendered, render};
    use serde_json::{Value, json};

    fn filled(body: &str, context: Value) -> Rendered {
        let template = Localized { header: "Due {{loan.dueDate}}".into(), body: body.into() };
        render(&template, context, &DateStyle::new("en-US", "UTC")).expect("the template is well-formed")
    }

    #[test]
    fn header_and_body_are_filled_with_values_and_local_dates() {
        let context = json!({"loan": {"dueDate": "2024-05-03T10:00:00Z"}, "item": {"title": "Emma"}});
        let notice = filled("<b>{{item.title}}</b> {{loan.dueDateTime}}", context);
        assert_eq!(notice.header, "Due 5/3/24");
        assert_eq!(notice.body, "<b>Emma</b> 5/3/24, 10:00 AM");
        assert!(notice.attachments.is_empty());
    }

    #[test]
    fn a_barcode_image_is_an_attachment_that_the_text_refers_to() {
        let notice = filled("{{item.barcodeImage}}", json!({"item": {"barcode": "10001"}}));
        assert_eq!(notice.body, "<img src='cid:barcode_10001' alt='barcode_10001'>");
        assert_eq!(notice.attachments[0]["contentId"], "<barcode_10001>");
        assert_eq!(notice.attachments[0]["contentType"], "image/png");
    }

    #[test]
    fn items_in_a_list_have_an_image_each_and_equal_barcodes_share_one() {
        let loan = |barcode: &str| json!({"item": {"barcode": barcode}});
        let context = json!({"loans": [loan("1"), loan("2"), loan("1")]});
        let notice = filled("{{#loans}}{{item.barcodeImage}}{{/loans}}", context);
        assert_eq!(notice.body.matches("<img").count(), 3);
        assert_eq!(notice.attachments.len(), 2);
    }

    #[test]
    fn a_template_that_shows_no_image_gets_none() {
        assert!(filled("{{item.barcode}}", json!({"item": {"barcode": "1"}})).attachments.is_empty());
    }
}
