//! The notice of a reminder, in the transaction of the reminder: what its template shows, the e-mail or the printed
//! notice, and the row that says what became of it.

use super::EVENT;
use super::decide::Reminded;
use crate::desk::slip;
use crate::loans::find::{LoanAtDesk, text_at};
use crate::settings::CirculationSettings;
use carrel_fees_fines::charge::{Charge, Charged};
use carrel_notices::delivery::{self, Message};
use carrel_notices::rendering::TemplateRequest;
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Bind, Connection, Pipeline};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// A reminder whose notice is sent.
pub struct SentReminder<'a> {
    pub loan: &'a LoanAtDesk,
    pub reminded: &'a Reminded,
    pub charged: Option<Charged>,
    /// The patron's e-mail address.
    pub address: Option<String>,
}

/// Adds the e-mail or the printed notice. A notice that cannot be sent is recorded with its reason; the reminder counts
/// all the same.
pub async fn send(
    pipeline: &mut Pipeline,
    connection: &Connection,
    of: SentReminder<'_>,
    settings: &CirculationSettings,
    now: Timestamp,
) {
    let reminder = &of.reminded.reminder;
    let (format, Some(template)) = (reminder.notice_format.as_deref(), &reminder.notice_template_id) else {
        return;
    };
    let address = of.address.as_deref().filter(|address| !address.trim().is_empty());
    let outcome = match (format, address) {
        (Some("Email"), None) => Err("the user has no e-mail address".to_owned()),
        (Some("Email" | "Print"), _) => {
            let request = TemplateRequest {
                template_id: template.clone(),
                lang: "en".into(),
                output_format: "text/html".into(),
                context: context(of.loan, of.reminded.charge.as_ref(), settings, now),
            };
            delivery::message(&request, "email", connection).await.map_err(|failure| failure.to_string())
        }
        _ => return,
    };
    let id = Uuid::new_v7(uuid_time(now));
    let recipient = of.loan.patron.as_ref().map(|patron| patron.id);
    if let Ok(message) = &outcome {
        match address.filter(|_| format == Some("Email")) {
            Some(address) => delivery::queue_email(pipeline, id, &id.to_string(), address, message, now),
            None => print(pipeline, id, recipient, message, now),
        }
    }
    let mut record = json!({
        "id": id, "triggeringEvent": EVENT, "loanId": of.loan.id, "recipientUserId": recipient,
        "templateId": template, "format": format, "date": time::format(now),
        "outcome": if outcome.is_ok() { "sent" } else { "failed" },
    });
    match &outcome {
        Ok(_) => record["messageId"] = json!(id),
        Err(reason) => record["reason"] = json!(reason),
    }
    if let Some(charged) = of.charged {
        record["accountId"] = json!(charged.account);
        record["feeFineActionId"] = json!(charged.action);
    }
    pipeline.add(
        "INSERT INTO patron_notice (id, doc, created) VALUES ($1, $2, $3)",
        vec![id.into(), Bind::from(&record), now.into()],
    );
}

fn print(pipeline: &mut Pipeline, id: Uuid, recipient: Option<Uuid>, message: &Message, now: Timestamp) {
    let text = json!({"header": message.header, "body": message.body, "attachments": message.attachments});
    pipeline.add(
        "INSERT INTO printed_notice (id, user_id, doc, planned) VALUES ($1, $2, $3, $4)",
        vec![id.into(), recipient.into(), Bind::from(&text), now.into()],
    );
}

/// `user`, `item` and `loan`, and `feeCharge` if the reminder costs something.
fn context(
    loan: &LoanAtDesk,
    charge: Option<&Charge>,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Value {
    let mut context = json!({
        "user": loan.patron.as_ref().map(|patron| slip::requester(patron, None, settings)),
        "item": loan.item.as_ref().map(|item| slip::item(item, settings)),
        "loan": loan_values(&loan.document, settings),
    });
    if let Some(charge) = charge {
        let amount = charge.amount.to_string();
        context["feeCharge"] = json!({
            "owner": charge.owner.1, "type": charge.fee_fine_type.1, "paymentStatus": "Outstanding",
            "amount": amount, "remainingAmount": amount,
            "chargeDate": slip::instant(now), "chargeDateTime": slip::instant(now),
        });
    }
    context
}

fn loan_values(loan: &Map<String, Value>, settings: &CirculationSettings) -> Value {
    let date = |key: &str| time::parse(text_at(loan, key)).map(slip::instant);
    let taken = loan.get("renewalCount").and_then(Value::as_i64).unwrap_or(0);
    let mut values = json!({"initialBorrowDate": date("loanDate"), "dueDate": date("dueDate"),
        "numberOfRenewalsTaken": taken.to_string()});
    let policy = Uuid::parse_str(text_at(loan, "loanPolicyId")).ok();
    if let Some(policy) = policy.and_then(|id| settings.loan_policies.get(&id)) {
        let renewals = policy.renewals_policy.as_ref();
        let (allowed, remaining) = if renewals.is_some_and(|renewals| renewals.unlimited == Some(true)) {
            ("unlimited".to_owned(), "unlimited".to_owned())
        } else {
            let allowed = renewals.and_then(|renewals| renewals.number_allowed).unwrap_or(0.0) as i64;
            (allowed.to_string(), (allowed - taken).max(0).to_string())
        };
        values["numberOfRenewalsAllowed"] = allowed.into();
        values["numberOfRenewalsRemaining"] = remaining.into();
    }
    values
}
