//! Explains why a patron got a notice or none: the planned notices and the outcomes of the notices of a loan, request
//! or fee/fine.
//!
//! Routes: `GET /admin/patron-notices?loanId=…` (or `requestId`, `accountId`), `GET /admin/printed-notices`, and `POST
//! /admin/printed-notices/{id}/mark-printed`. The last changes `printed_notice`.

use super::facts::{self, Wanted};
use super::immediate::{PlanningFacts, policy_of_loan, policy_of_request};
use super::users_of;
use crate::settings::{CirculationSettings, NoticeEvent};
use carrel_platform::database::Results;
use carrel_platform::{Answer, Call, Connection, Json, Pipeline, Router};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_postgres::Row;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/admin/patron-notices", |call| async move {
        let of = Of::read(&call)?;
        let tenant = call.tenant()?;
        let settings = CirculationSettings::of(tenant).await?;
        let connection = tenant.writer().await?;
        let mut explained = explained(&connection, &of, &settings).await?;
        explained["noticePolicyId"] = policy(&connection, &of, &settings, call.now).await?;
        Ok(Answer::json(&explained))
    });
    router.on("GET", "/admin/printed-notices", |call| async move {
        let printed = call.query.get("printed") == Some("true");
        let limit = call.query.number("limit", 100, 0, 1_000)?;
        let rows = call
            .tenant()?
            .reader()
            .await?
            .query(
                "SELECT id, user_id, doc, planned, printed FROM printed_notice
                 WHERE (printed IS NOT NULL) = $1 ORDER BY planned, id LIMIT $2",
                vec![printed.into(), limit.into()],
            )
            .await?;
        let notices: Vec<Value> = rows
            .iter()
            .map(|row| {
                let mut notice = row.get::<_, Json>("doc").parse();
                notice["id"] = json!(row.get::<_, Uuid>("id"));
                notice["recipientUserId"] = json!(row.get::<_, Uuid>("user_id"));
                notice["date"] = time::format(row.get("planned")).into();
                notice["printedDate"] = row.get::<_, Option<Timestamp>>("printed").map(time::format).into();
                notice
            })
            .collect();
        Ok(Answer::json(&json!({"printedNotices": notices})))
    });
    router.on("POST", "/admin/printed-notices/{id}/mark-printed", |call| async move {
        let (id, tenant) = (call.id(0)?, call.tenant()?);
        let marked = tenant
            .writer()
            .await?
            .query(
                "UPDATE printed_notice SET printed = coalesce(printed, $2) WHERE id = $1 RETURNING id",
                vec![id.into(), call.now.into()],
            )
            .await?;
        match marked.first() {
            Some(_) => Ok(Answer::no_content()),
            None => Err(Failure::NotFound(format!("There is no printed notice {id}"))),
        }
    });
}

/// The record whose notices are explained.
enum Of {
    Loan(Uuid),
    Request(Uuid),
    Account(Uuid),
}

impl Of {
    fn read(call: &Call) -> Result<Of, Failure> {
        let id = |name: &str| -> Result<Option<Uuid>, Failure> {
            let invalid = |text: &str| Failure::Invalid(format!("{name} '{text}' is not a UUID"));
            call.query.get(name).map(|text| Uuid::parse_str(text).map_err(|_| invalid(text))).transpose()
        };
        match (id("loanId")?, id("requestId")?, id("accountId")?) {
            (Some(loan), None, None) => Ok(Of::Loan(loan)),
            (None, Some(request), None) => Ok(Of::Request(request)),
            (None, None, Some(account)) => Ok(Of::Account(account)),
            _ => Err(Failure::Invalid("Exactly one of loanId, requestId and accountId is required".into())),
        }
    }

    /// The column with the record's id, and the id.
    fn column(&self) -> (&'static str, Uuid) {
        match self {
            Of::Loan(id) => ("loan_id", *id),
            Of::Request(id) => ("request_id", *id),
            Of::Account(id) => ("account_id", *id),
        }
    }
}

async fn explained(
    connection: &Connection,
    of: &Of,
    settings: &CirculationSettings,
) -> Result<Value, Failure> {
    let (column, id) = of.column();
    let mut pipeline = Pipeline::new();
    let planned = Planned::add_to(&mut pipeline, of);
    let notices = pipeline.add(
        format!(
            "SELECT patron_notice.doc, email.doc AS email, delivery.next_attempt
             FROM patron_notice
             LEFT JOIN email_statistics email ON email.id = (patron_notice.doc->>'messageId')::uuid
             LEFT JOIN email_delivery delivery ON delivery.id = email.id
             WHERE {column} = $1 ORDER BY patron_notice.created, patron_notice.id LIMIT 1000"
        ),
        vec![id.into()],
    );
    let results = connection.send(pipeline).await?;
    let notices: Vec<Value> = results.rows(notices).iter().map(notice_with_email).collect();
    Ok(json!({"planned": planned.read(&results, settings), "notices": notices}))
}

/// A notice that was sent, failed or skipped, with the state of its e-mail.
fn notice_with_email(row: &Row) -> Value {
    let mut notice = row.get::<_, Json>("doc").parse();
    if let Some(email) = row.get::<_, Option<Json>>("email").map(|email| email.parse()) {
        let next = row.get::<_, Option<Timestamp>>("next_attempt").map(time::format);
        notice["email"] = json!({"status": email["status"], "message": email["message"],
            "attemptCount": email["attemptCount"], "nextAttempt": next});
    }
    notice
}

/// The steps that read what is still to be sent.
struct Planned {
    scheduled: usize,
    events: usize,
    sessions: usize,
}

impl Planned {
    fn add_to(pipeline: &mut Pipeline, of: &Of) -> Planned {
        let (column, id) = of.column();
        let (scheduled, events) = match of {
            Of::Account(_) => (
                "doc->>'feeFineActionId' IN (SELECT id::text FROM feefineactions WHERE account_id = $1)"
                    .to_owned(),
                "fee_fine_action_id IN (SELECT id FROM feefineactions WHERE account_id = $1)".to_owned(),
            ),
            Of::Loan(_) | Of::Request(_) => (format!("{column} = $1"), format!("{column} = $1")),
        };
        Planned {
            scheduled: pipeline.add(
                format!("SELECT doc FROM scheduled_notice WHERE {scheduled} ORDER BY doc->>'nextRunTime', id"),
                vec![id.into()],
            ),
            events: pipeline.add(
                format!("SELECT event, happened FROM notice_event WHERE {events} ORDER BY happened, id"),
                vec![id.into()],
            ),
            sessions: pipeline.add(
                "SELECT DISTINCT doc->>'actionType' AS action FROM patron_action_session WHERE doc->>'loanId' = $1",
                vec![id.to_string().into()],
            ),
        }
    }

    /// Scheduled notices, events whose notices are not planned yet, and sessions at a desk that have not ended.
    fn read(&self, results: &Results, settings: &CirculationSettings) -> Vec<Value> {
        let mut planned: Vec<Value> = results.documents(self.scheduled).iter().map(Json::parse).collect();
        planned.extend(results.rows(self.events).iter().map(|row| {
            json!({"triggeringEvent": row.get::<_, String>("event"),
                "nextRunTime": time::format(row.get("happened"))})
        }));
        let in_session =
            results.rows(self.sessions).iter().map(|row| match row.get::<_, Option<&str>>("action") {
                Some("Check-in") => NoticeEvent::CheckIn,
                _ => NoticeEvent::CheckOut,
            });
        planned.extend(in_session.filter(|event| settings.wants_notices_of(*event)).map(|event| {
            json!({"triggeringEvent": event.text(), "waitsFor": "the end of the patron's session at the desk"})
        }));
        planned
    }
}

/// The notice policy that applies now; null if none does, for instance because a record is missing.
async fn policy(
    connection: &Connection,
    of: &Of,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Result<Value, Failure> {
    let mut wanted = Wanted::default();
    match of {
        Of::Loan(id) => wanted.loans.push(*id),
        Of::Request(id) => wanted.requests.push(*id),
        Of::Account(_) => return Ok(Value::Null),
    }
    let records = facts::records(connection, wanted).await?;
    let people = facts::people(connection, users_of(&records), Vec::new(), now).await?;
    let known = PlanningFacts { records: &records, people: &people, settings, keeps_late: false };
    let policy = match of {
        Of::Loan(id) => policy_of_loan(&known, *id).ok().map(|(_, policy)| policy),
        Of::Request(id) => {
            records.requests.get(id).and_then(|request| policy_of_request(&known, request).ok().flatten())
        }
        Of::Account(_) => None,
    };
    Ok(json!(policy))
}
