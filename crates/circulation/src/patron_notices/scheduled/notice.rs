//! A scheduled notice, in FOLIO's form (`/scheduled-notice-storage/scheduled-notices`).

use crate::settings::{Format, NoticeConfig, NoticeEvent, Timing};
use carrel_loan_rules::loan_policy::Period;
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// A scheduled notice.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduledNotice {
    pub id: Uuid,
    pub event: NoticeEvent,
    pub loan: Option<Uuid>,
    pub request: Option<Uuid>,
    pub fee_fine_action: Option<Uuid>,
    pub recipient: Option<Uuid>,
    /// The check-in session whose end the notice waits for.
    pub session: Option<Uuid>,
    pub next_run: Timestamp,
    pub template: Uuid,
    pub format: Format,
    pub timing: Timing,
    pub recurring: Option<Period>,
    pub real_time: bool,
}

impl ScheduledNotice {
    /// From a policy's notice, without a record so far.
    pub fn of(config: &NoticeConfig, id: Uuid, next_run: Timestamp) -> ScheduledNotice {
        ScheduledNotice {
            id,
            event: config.event,
            loan: None,
            request: None,
            fee_fine_action: None,
            recipient: None,
            session: None,
            next_run,
            template: config.template,
            format: config.format,
            timing: config.timing,
            recurring: config.recurring.clone(),
            real_time: config.real_time,
        }
    }

    /// Parses a stored record; `None` if its event, format or template is unknown.
    pub fn read(id: Uuid, document: &Value) -> Option<ScheduledNotice> {
        let config = &document["noticeConfig"];
        let uuid = |value: &Value| Uuid::parse_str(value.as_str()?).ok();
        Some(ScheduledNotice {
            id,
            event: NoticeEvent::parse(document["triggeringEvent"].as_str()?)?,
            loan: uuid(&document["loanId"]),
            request: uuid(&document["requestId"]),
            fee_fine_action: uuid(&document["feeFineActionId"]),
            recipient: uuid(&document["recipientUserId"]),
            session: uuid(&document["sessionId"]),
            next_run: time::parse(document["nextRunTime"].as_str()?)?,
            template: uuid(&config["templateId"])?,
            format: Format::parse(config["format"].as_str()?)?,
            timing: Timing::parse(config["timing"].as_str().unwrap_or_default()),
            recurring: serde_json::from_value(config["recurringPeriod"].clone()).ok(),
            real_time: config["sendInRealTime"] == true,
        })
    }

    /// The record to store.
    pub fn document(&self) -> Value {
        let mut document = Map::new();
        let mut put = |key: &str, id: Option<Uuid>| {
            if let Some(id) = id {
                document.insert(key.to_owned(), id.to_string().into());
            }
        };
        put("id", Some(self.id));
        put("loanId", self.loan);
        put("requestId", self.request);
        put("feeFineActionId", self.fee_fine_action);
        put("recipientUserId", self.recipient);
        put("sessionId", self.session);
        document.insert("nextRunTime".into(), time::format(self.next_run).into());
        document.insert("triggeringEvent".into(), self.event.text().into());
        let mut config = json!({
            "timing": self.timing.text(),
            "templateId": self.template,
            "format": self.format.text(),
            "sendInRealTime": self.real_time,
        });
        if let Some(every) = &self.recurring {
            config["recurringPeriod"] = json!(every);
        }
        document.insert("noticeConfig".into(), config);
        Value::Object(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_notice_is_read_as_it_was_planned() {
        let planned = ScheduledNotice {
            id: Uuid::from_u128(1),
            event: NoticeEvent::DueDate,
            loan: Some(Uuid::from_u128(2)),
            request: None,
            fee_fine_action: None,
            recipient: Some(Uuid::from_u128(3)),
            session: None,
            next_run: time::parse("2024-05-01T10:00:00Z").expect("a time"),
            template: Uuid::from_u128(4),
            format: Format::Email,
            timing: Timing::After,
            recurring: Some(Period { duration: Some(2), interval_id: Some("Days".into()) }),
            real_time: true,
        };
        assert_eq!(ScheduledNotice::read(planned.id, &planned.document()), Some(planned));
    }
}
