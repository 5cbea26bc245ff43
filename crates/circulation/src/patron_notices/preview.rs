//! A template as it would look for a real loan, request or fee/fine.
//!
//! Route: `POST /admin/patron-notices/preview` with `templateId`, or `header` and `body`, and one of `loanId`,
//! `requestId`, `feeFineActionId`. Nothing is sent or stored.

use super::facts::{self, Records, Wanted};
use super::{context, immediate};
use crate::settings::CirculationSettings;
use carrel_notices::rendering::{TemplateRequest, Templates};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/admin/patron-notices/preview", preview);
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreviewRequest {
    template_id: Option<Uuid>,
    #[serde(default)]
    header: String,
    #[serde(default)]
    body: String,
    loan_id: Option<Uuid>,
    request_id: Option<Uuid>,
    fee_fine_action_id: Option<Uuid>,
}

async fn preview(call: Call) -> Result<Answer, Failure> {
    let request: PreviewRequest = call.read_json()?;
    let tenant = call.tenant()?;
    let settings = CirculationSettings::of(tenant).await?;
    let connection = tenant.reader().await?;
    let wanted = Wanted {
        loans: request.loan_id.into_iter().collect(),
        requests: request.request_id.into_iter().collect(),
        fee_fine_actions: request.fee_fine_action_id.into_iter().collect(),
        sessions: Vec::new(),
    };
    let records = facts::records(&connection, wanted).await?;
    let context = context_of(&request, &records, &settings)?;
    let templates = Templates::read(&connection, request.template_id.into_iter().collect()).await?;
    let rendered = match request.template_id {
        Some(template) => templates.rendered(&TemplateRequest {
            template_id: template.to_string(),
            lang: "en".into(),
            output_format: "text/html".into(),
            context,
        })?,
        None => templates.rendered_text(request.header, request.body, context)?,
    };
    let shown =
        json!({"header": rendered.header, "body": rendered.body, "attachments": rendered.attachments});
    Ok(Answer::json(&shown))
}

/// What the record has notices show. Lists of several records have this one only.
fn context_of(
    request: &PreviewRequest,
    records: &Records,
    settings: &CirculationSettings,
) -> Result<Value, Failure> {
    let missing = |what: &str, id: Uuid| Failure::Invalid(format!("There is no {what} {id}"));
    match (request.loan_id, request.request_id, request.fee_fine_action_id) {
        (Some(id), None, None) => {
            let loan = records.loans.get(&id).ok_or_else(|| missing("loan", id))?;
            let mut context = context::of_loan(loan, settings);
            context["loans"] = json!([context::loan(loan, settings)]);
            Ok(context)
        }
        (None, Some(id), None) => {
            let request = records.requests.get(&id).ok_or_else(|| missing("request", id))?;
            let loan = request.item.as_ref().and_then(|item| records.loan_of_item.get(&item.id));
            Ok(context::of_request(request, loan.and_then(|loan| records.loans.get(loan)), settings))
        }
        (None, None, Some(id)) => {
            let fee = records.fees.get(&id).ok_or_else(|| missing("fee/fine action", id))?;
            let mut context = context::of_fee(fee, settings);
            let loan = immediate::id_at(&fee.account, "loanId").and_then(|loan| records.loans.get(&loan));
            if let Some(loan) = loan {
                context["loan"] = context::loan(loan, settings)["loan"].take();
            }
            context["feeCharges"] = json!([context.clone()]);
            Ok(context)
        }
        _ => Err(Failure::Invalid("Exactly one of loanId, requestId and feeFineActionId is required".into())),
    }
}
