//! Sends notices and records their outcomes: an e-mail is added to the delivery queue, a printed notice is stored, and
//! every notice gets a row in `patron_notice` with whether it was sent, and why not.

use super::facts::People;
use super::log;
use crate::settings::{Format, NoticeEvent};
use carrel_audit::circulation_log::write_looking_up;
use carrel_notices::delivery::{self, Message};
use carrel_notices::rendering::TemplateRequest;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Bind, Pipeline, RowChange};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// The records that a notice is about, for its row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Subject {
    pub loan: Option<Uuid>,
    pub request: Option<Uuid>,
    pub account: Option<Uuid>,
    pub fee_fine_action: Option<Uuid>,
    pub policy: Option<Uuid>,
}

/// A notice to one patron about one or several records.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    pub event: NoticeEvent,
    pub recipient: Uuid,
    pub template: Uuid,
    pub format: Format,
    pub context: Value,
    pub subjects: Vec<Subject>,
}

impl Notice {
    /// What it is about, in FOLIO's words; for a fee/fine the type of the action or charge.
    pub fn triggering_event(&self) -> &str {
        let kind = |of: &str| self.context[of]["type"].as_str();
        let of_fee = kind("feeAction").or_else(|| kind("feeCharge"));
        of_fee.filter(|_| self.event == NoticeEvent::FeeFine).unwrap_or(self.event.text())
    }
}

/// Why a notice is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It does not apply, or no longer applies.
    Skipped(String),
    /// It should have been sent, but something is missing.
    Failed(String),
}

/// A notice that is not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsent {
    pub event: NoticeEvent,
    pub subject: Subject,
    pub recipient: Option<Uuid>,
    pub template: Option<Uuid>,
    pub format: Option<Format>,
    pub reason: Reason,
}

/// How many notices were sent, failed and skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    pub sent: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.sent += other.sent;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} notices sent, {} failed, {} skipped", self.sent, self.failed, self.skipped)
    }
}

/// The language of templates; FOLIO has no other for patrons.
const LANGUAGE: &str = "en";

/// Adds the statements that send notices and record them, in the caller's transaction.
pub fn write(
    pipeline: &mut Pipeline,
    notices: &[Notice],
    unsent: &[Unsent],
    people: &People,
    now: Timestamp,
) -> Count {
    let mut count = Count::default();
    for notice in notices {
        let sent = send(pipeline, notice, people, now);
        match &sent {
            Ok(_) => count.sent += 1,
            Err(Reason::Failed(_)) => count.failed += 1,
            Err(Reason::Skipped(_)) => count.skipped += 1,
        }
        for subject in &notice.subjects {
            let record = Record {
                event: notice.triggering_event(),
                subject,
                recipient: Some(notice.recipient),
                template: Some(notice.template),
                format: Some(notice.format),
                sent: &sent,
            };
            record.write(pipeline, now);
        }
        if let Some(entry) = log::of_notice(notice, people.templates.name(notice.template), &sent) {
            write_looking_up(pipeline, &entry, now);
        }
    }
    for unsent in unsent {
        match &unsent.reason {
            Reason::Failed(_) => count.failed += 1,
            Reason::Skipped(_) => count.skipped += 1,
        }
        let record = Record {
            event: unsent.event.text(),
            subject: &unsent.subject,
            recipient: unsent.recipient,
            template: unsent.template,
            format: unsent.format,
            sent: &Err(unsent.reason.clone()),
        };
        record.write(pipeline, now);
        if let Some(entry) = log::of_unsent(unsent) {
            write_looking_up(pipeline, &entry, now);
        }
    }
    count
}

/// Renders a notice and adds it to the e-mails or the printed notices; returns the id of the message.
fn send(pipeline: &mut Pipeline, notice: &Notice, people: &People, now: Timestamp) -> Result<Uuid, Reason> {
    let Some(contact) = people.contacts.get(&notice.recipient) else {
        return Err(Reason::Failed(format!("user {} does not exist", notice.recipient)));
    };
    let address = match notice.format {
        Format::Email => Some(
            contact
                .email
                .as_deref()
                .ok_or_else(|| Reason::Skipped("the user has no e-mail address".into()))?,
        ),
        Format::Print => None,
        Format::Sms => return Err(Reason::Skipped("there is no gateway for text messages".into())),
    };
    let request = TemplateRequest {
        template_id: notice.template.to_string(),
        lang: LANGUAGE.into(),
        output_format: notice.format.output_format().into(),
        context: notice.context.clone(),
    };
    let rendered =
        people.templates.rendered(&request).map_err(|failure| Reason::Failed(failure.to_string()))?;
    let id = Uuid::new_v7(uuid_time(now));
    match address {
        Some(address) => {
            let message = Message {
                delivery_channel: "email".into(),
                from: None,
                output_format: Some(request.output_format),
                header: rendered.header,
                body: rendered.body,
                attachments: rendered.attachments,
            };
            delivery::queue_email(pipeline, id, &id.to_string(), address, &message, now);
        }
        None => {
            let text = json!({"header": rendered.header, "body": rendered.body,
                "attachments": rendered.attachments});
            pipeline.add(
                "INSERT INTO printed_notice (id, user_id, doc, planned) VALUES ($1, $2, $3, $4)",
                vec![id.into(), notice.recipient.into(), (&text).into(), now.into()],
            );
        }
    }
    Ok(id)
}

/// The outcome of a notice about one record.
struct Record<'a> {
    event: &'a str,
    subject: &'a Subject,
    recipient: Option<Uuid>,
    template: Option<Uuid>,
    format: Option<Format>,
    sent: &'a Result<Uuid, Reason>,
}

impl Record<'_> {
    fn write(&self, pipeline: &mut Pipeline, now: Timestamp) {
        let id = Uuid::new_v7(uuid_time(now));
        let mut document = Map::new();
        let mut put = |key: &str, text: Option<String>| {
            if let Some(text) = text {
                document.insert(key.to_owned(), text.into());
            }
        };
        let subject = self.subject;
        put("id", Some(id.to_string()));
        put("triggeringEvent", Some(self.event.into()));
        for (key, id) in [
            ("loanId", subject.loan),
            ("requestId", subject.request),
            ("accountId", subject.account),
            ("feeFineActionId", subject.fee_fine_action),
            ("noticePolicyId", subject.policy),
            ("recipientUserId", self.recipient),
            ("templateId", self.template),
            ("messageId", self.sent.as_ref().ok().copied()),
        ] {
            put(key, id.map(|id| id.to_string()));
        }
        put("format", self.format.map(|format| format.text().into()));
        let (outcome, reason) = match self.sent {
            Ok(_) => ("sent", None),
            Err(Reason::Failed(reason)) => ("failed", Some(reason)),
            Err(Reason::Skipped(reason)) => ("skipped", Some(reason)),
        };
        put("outcome", Some(outcome.into()));
        put("reason", reason.cloned());
        put("date", Some(time::format(now)));
        let document = Value::Object(document);
        pipeline.change_row(&NOTICE, vec![id.into(), Bind::from(&document), now.into()]);
    }
}

static NOTICE: RowChange = RowChange {
    one: "INSERT INTO patron_notice (id, doc, created) VALUES ($1, $2, $3)",
    several: "INSERT INTO patron_notice (id, doc, created) SELECT * FROM unnest($1::uuid[], $2::jsonb[], $3::timestamptz[])",
};
