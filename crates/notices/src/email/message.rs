//! An e-mail as a MIME message. Pure.

use super::Email;
use super::configuration::Configuration;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lettre::Message;
use lettre::message::header::{ContentDisposition, ContentId, ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, Mailboxes, MultiPart, SinglePart};

/// The message of an e-mail. The error is a sentence about the e-mail or the configuration.
///
/// `Message-ID` is derived from the e-mail's id, so that a message that is sent again after a crash is recognized as
/// the same one.
pub fn message(email: &Email, configuration: &Configuration) -> Result<Message, String> {
    let from = Some(email.from.trim()).filter(|from| !from.is_empty());
    let from = from.or(configuration.from.as_deref()).unwrap_or(&configuration.username);
    let from = configuration.with_name(from);
    let mut builder = Message::builder()
        .message_id(Some(format!("<{}@carrel>", email.id)))
        .from(from.parse::<Mailbox>().map_err(|error| format!("sender '{from}': {error}"))?)
        .subject(email.header.replace(['\r', '\n'], " "));
    for mailbox in mailboxes(&email.to)? {
        builder = builder.to(mailbox);
    }
    for mailbox in mailboxes(&email.bcc)? {
        builder = builder.bcc(mailbox);
    }
    for header in &configuration.email_headers {
        let name = HeaderName::new_from_ascii(header.name.trim().to_owned())
            .map_err(|_| format!("'{}' is not the name of an e-mail header", header.name))?;
        builder = builder.raw_header(HeaderValue::new(name, header.value.replace(['\r', '\n'], " ")));
    }
    let body = match email.output_format.as_str() {
        "text/plain" => SinglePart::plain(email.body.clone()),
        _ => SinglePart::html(email.body.clone()),
    };
    let built = if email.attachments.is_empty() {
        builder.singlepart(body)
    } else {
        let parts = email.attachments.iter().map(part).collect::<Result<Vec<_>, _>>()?;
        builder
            .multipart(parts.into_iter().fold(MultiPart::related().singlepart(body), MultiPart::singlepart))
    };
    built.map_err(|error| error.to_string())
}

fn mailboxes(addresses: &str) -> Result<Mailboxes, String> {
    if addresses.trim().is_empty() {
        return Ok(Mailboxes::new());
    }
    addresses.parse().map_err(|error| format!("recipient '{addresses}': {error}"))
}

fn part(attachment: &super::EmailAttachment) -> Result<SinglePart, String> {
    let data = BASE64_STANDARD
        .decode(attachment.data.trim())
        .map_err(|_| format!("attachment '{}' is not Base64", attachment.name))?;
    let kind = ContentType::parse(&attachment.content_type)
        .map_err(|_| format!("'{}' is not a content type", attachment.content_type))?;
    Ok(match attachment.content_id.as_deref() {
        Some(id) if attachment.disposition.as_deref() == Some("inline") => SinglePart::builder()
            .header(kind)
            .header(ContentDisposition::inline_with_name(&attachment.name))
            .header(ContentId::from(format!("<{}>", id.trim_matches(['<', '>']))))
            .body(data),
        _ => Attachment::new(attachment.name.clone()).body(data, kind),
    })
}

#[cfg(test)]
mod tests {
    use super::message;
    use crate::email::configuration::Configuration;
    use crate::email::{Email, EmailAttachment};

    fn configuration() -> Configuration {
        serde_json::from_value(serde_json::json!({
            "host": "localhost", "port": 25, "username": "desk@example.org", "password": "secret",
            "from": "library@example.org", "identities": [{"address": "library@example.org", "name": "Harbor"}],
            "emailHeaders": [{"name": "Reply-To", "value": "ask@example.org"}],
        }))
        .expect("a configuration")
    }

    fn email() -> Email {
        Email {
            id: uuid::Uuid::nil(),
            to: "ada@example.org".into(),
            header: "Due\r\nBcc: x@example.org".into(),
            body: "<b>Emma</b>".into(),
            output_format: "text/html".into(),
            ..Email::default()
        }
    }

    fn text(email: &Email) -> String {
        let message = message(email, &configuration()).expect("the e-mail is complete");
        String::from_utf8(message.formatted()).expect("text")
    }

    #[test]
    fn the_sender_is_the_configured_one_with_its_name() {
        assert!(text(&email()).contains("From: Harbor <library@example.org>\r\n"));
        let own = Email { from: "other@example.org".into(), ..email() };
        assert!(text(&own).contains("From: other@example.org\r\n"));
    }

    #[test]
    fn the_message_id_follows_from_the_email() {
        assert!(text(&email()).contains("Message-ID: <00000000-0000-0000-0000-000000000000@carrel>"));
    }

    #[test]
    fn a_line_break_in_the_subject_adds_no_header() {
        assert!(!text(&email()).contains("\r\nBcc:"));
    }

    #[test]
    fn an_inline_image_is_related_to_the_text() {
        let image = EmailAttachment {
            data: "AAAA".into(),
            content_type: "image/png".into(),
            name: "barcode_1".into(),
            disposition: Some("inline".into()),
            content_id: Some("<barcode_1>".into()),
        };
        let text = text(&Email { attachments: vec![image], ..email() });
        assert!(text.contains("multipart/related") && text.contains("Content-ID: <barcode_1>"), "{text}");
    }

    #[test]
    fn an_email_that_cannot_be_addressed_is_refused_with_the_reason() {
        let nowhere = Email { to: "nobody at all".into(), ..email() };
        assert!(message(&nowhere, &configuration()).is_err_and(|reason| reason.contains("nobody at all")));
    }
}
