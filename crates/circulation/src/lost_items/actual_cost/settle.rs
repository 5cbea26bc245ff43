//! Billing and cancelling an actual cost.

use crate::loans::find::{LOCK_ITEM_OF_LOAN, LOCK_LOAN};
use crate::lost_items::charge::of_loan;
use crate::lost_items::closing::{Settled, close_if_settled};
use crate::patron_notices::{self, About, NoticeEvent};
use crate::records::actual_cost::{BILL, CANCELLATION};
use crate::records::loans::ACTUAL_COST_RECORD;
use crate::settings::CirculationSettings;
use carrel_fees_fines::charge::{Charge, Charged, ChargedBy, ChargedItem, charge};
use carrel_fees_fines::events;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::{Failure, Money, RecordType};
use http::StatusCode;
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("POST", "/actual-cost-fee-fine/bill", |call| async move {
        let request = Request::read(&call, &BILL)?;
        let settings = CirculationSettings::of(call.tenant()?).await?;
        let locked = lock_record(&call, &request).await?;
        match locked {
            Ok(locked) => bill(&call, &request, locked, &settings).await,
            Err(why) => Ok(Answer::text(StatusCode::UNPROCESSABLE_ENTITY, why)),
        }
    });
    router.on("POST", "/actual-cost-fee-fine/cancel", |call| async move {
        let request = Request::read(&call, &CANCELLATION)?;
        let locked = lock_record(&call, &request).await?;
        match locked {
            Ok(locked) => cancel(&call, &request, locked).await,
            Err(why) => Ok(Answer::text(StatusCode::UNPROCESSABLE_ENTITY, why)),
        }
    });
}

/// The request of staff.
struct Request {
    record: Uuid,
    amount: Money,
    service_point: Option<Uuid>,
    for_staff: Option<String>,
    for_patron: Option<String>,
}

impl Request {
    fn read(call: &Call, shape: &'static RecordType) -> Result<Request, Failure> {
        let mut body = call.object()?;
        write::check(shape, &mut body, &call.caller)?;
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let id = |name: &str| text(name).and_then(|id| Uuid::parse_str(&id).ok());
        Ok(Request {
            record: id("actualCostRecordId")
                .ok_or_else(|| Failure::Invalid("actualCostRecordId must be a UUID".into()))?,
            amount: body.get("amount").and_then(Money::read).unwrap_or_default(),
            service_point: id("servicePointId"),
            for_staff: text("additionalInfoForStaff"),
            for_patron: text("additionalInfoForPatron"),
        })
    }

    /// The comments in the form in which fees/fines store them.
    fn comments(&self) -> Option<String> {
        let remark = |who: &str, text: &Option<String>| {
            let text = text.as_deref().filter(|text| !text.trim().is_empty())?;
            Some(format!("{who} : {text}"))
        };
        let remarks = [remark("STAFF", &self.for_staff), remark("PATRON", &self.for_patron)];
        let remarks: Vec<String> = remarks.into_iter().flatten().collect();
        (!remarks.is_empty()).then(|| remarks.join(" \n "))
    }
}

/// An open record, locked with its item and loan.
struct LockedRecord {
    tx: Tx,
    record: Map<String, Value>,
    loan_id: Option<Uuid>,
    loan: Option<Map<String, Value>>,
}

/// The record that is to be settled, or why it cannot be, with the texts of mod-feesfines.
async fn lock_record(call: &Call, request: &Request) -> Result<Result<LockedRecord, String>, Failure> {
    let mut tx = call.tenant()?.begin().await?;
    // The loan of a record never changes; the item is locked before both.
    let rows =
        tx.query("SELECT loan_id FROM actual_cost_record WHERE id = $1", vec![request.record.into()]).await?;
    let Some(row) = rows.first() else {
        return Ok(Err(format!("ActualCostRecord {} was not found", request.record)));
    };
    let loan_id: Option<Uuid> = row.get("loan_id");
    let mut pipeline = Pipeline::new();
    pipeline.add(LOCK_ITEM_OF_LOAN, vec![loan_id.into()]);
    pipeline.add(LOCK_LOAN, vec![loan_id.into()]);
    let record = pipeline.add(
        "SELECT doc FROM actual_cost_record WHERE id = $1 FOR NO KEY UPDATE",
        vec![request.record.into()],
    );
    let loan = pipeline.add("SELECT doc FROM loan WHERE id = $1", vec![loan_id.into()]);
    let results = tx.send(pipeline).await?;
    let object = |step: usize| match results.document(step).map(|document: Json| document.parse()) {
        Some(Value::Object(document)) => Some(document),
        _ => None,
    };
    let Some(record) = object(record) else {
        return Ok(Err(format!("ActualCostRecord {} was not found", request.record)));
    };
    let status = record.get("status").and_then(Value::as_str).unwrap_or_default();
    if status != "Open" {
        return Ok(Err(format!("Actual cost record {} is already {status}", request.record)));
    }
    let loan = object(loan);
    Ok(Ok(LockedRecord { tx, record, loan_id, loan }))
}

/// Charges the patron with the amount that staff have determined.
async fn bill(
    call: &Call,
    request: &Request,
    locked: LockedRecord,
    settings: &CirculationSettings,
) -> Result<Answer, Failure> {
    let Some(loan) = &locked.loan else {
        let id = locked.loan_id.unwrap_or_default();
        return Ok(Answer::text(StatusCode::UNPROCESSABLE_ENTITY, format!("Loan {id} was not found")));
    };
    let by = call.caller.user_id;
    let charged = charge_of(request, &locked, loan, by.map_or(ChargedBy::System, ChargedBy::Staff))?;
    let mut pipeline = Pipeline::new();
    let Charged { account, action } = charge(&mut pipeline, &charged, by, call.now);
    let about = About::FeeFineAction { action, loan: locked.loan_id.unwrap_or_default(), session: None };
    let notices = settings.notice_causes(&[NoticeEvent::AgedToLostFineCharged], about);
    patron_notices::record(&mut pipeline, &notices, call.now);
    let mut changed = settled(&locked.record, request, "Billed");
    if let Some(fee) = changed.get_mut("feeFine").and_then(Value::as_object_mut) {
        fee.insert("accountId".into(), json!(account));
        fee.insert("billedAmount".into(), request.amount.to_json());
    }
    let changed = store(call, &mut pipeline, request.record, &locked.record, changed)?;
    locked.tx.send_and_commit(pipeline).await?;
    if !notices.is_empty() {
        patron_notices::process_soon(call.tenant()?);
    }
    Ok(Answer::created(&changed))
}

/// Ends the record without a charge; the loan closes as lost and paid if nothing else is owed.
async fn cancel(call: &Call, request: &Request, mut locked: LockedRecord) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    let changed = settled(&locked.record, request, "Cancelled");
    let changed = store(call, &mut pipeline, request.record, &locked.record, changed)?;
    if let Some(loan) = locked.loan_id {
        events::loan_related_fee_fine_closed(&mut pipeline, loan, call.now);
        let settled = Settled { loan, accounts: &[], record: Some((request.record, "Cancelled")) };
        let by = call.caller.user_id;
        close_if_settled(&mut locked.tx, &mut pipeline, tenant, &settled, by, call.now).await?;
    }
    locked.tx.send_and_commit(pipeline).await?;
    Ok(Answer::created(&changed))
}

/// The record with its new status and only the comments of this request.
fn settled(record: &Map<String, Value>, request: &Request, status: &str) -> Map<String, Value> {
    let mut changed = record.clone();
    changed.insert("status".into(), status.into());
    for (name, text) in
        [("additionalInfoForStaff", &request.for_staff), ("additionalInfoForPatron", &request.for_patron)]
    {
        match text {
            Some(text) => changed.insert(name.into(), text.as_str().into()),
            None => changed.remove(name),
        };
    }
    changed
}

fn store(
    call: &Call,
    pipeline: &mut Pipeline,
    id: Uuid,
    record: &Map<String, Value>,
    changed: Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let stored = Value::Object(record.clone());
    let ready =
        write::complete_replacement(&ACTUAL_COST_RECORD, id, changed, &stored, &call.caller, call.now)?;
    write::update(pipeline, call.tenant()?, &ACTUAL_COST_RECORD, &ready, &stored, call.now);
    Ok(ready.document)
}

/// The charge of a record, from the record and the loan.
fn charge_of(
    request: &Request,
    locked: &LockedRecord,
    loan: &Map<String, Value>,
    charged_by: ChargedBy,
) -> Result<Charge, Failure> {
    let record = Value::Object(locked.record.clone());
    let text = |pointer: &str| record.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let id = |pointer: &str| text(pointer).and_then(|id| Uuid::parse_str(&id).ok());
    let needed = |pointer: &str| {
        id(pointer).ok_or_else(|| {
            Failure::Invalid(format!("Actual cost record {} has no {}", request.record, &pointer[1..]))
        })
    };
    let named = |id: Uuid, name: &str| (id, text(name).unwrap_or_default());
    let contributors = record.pointer("/instance/contributors").and_then(Value::as_array);
    let names = contributors.into_iter().flatten().filter_map(|one| one["name"].as_str().map(str::to_owned));
    Ok(Charge {
        user: needed("/user/id")?,
        amount: request.amount,
        fee_fine_type: named(needed("/feeFine/typeId")?, "/feeFine/type"),
        owner: named(needed("/feeFine/ownerId")?, "/feeFine/owner"),
        loan: locked.loan_id,
        item: Some(ChargedItem {
            id: needed("/item/id")?,
            title: text("/instance/title").unwrap_or_default(),
            barcode: text("/item/barcode"),
            call_number: text("/item/effectiveCallNumberComponents/callNumber"),
            location: text("/item/effectiveLocation"),
            material_type: id("/item/materialTypeId").map(|id| named(id, "/item/materialType")),
            contributors: names.collect(),
        }),
        service_point: request.service_point,
        charged_by,
        comments: request.comments(),
        notifies_patron: false,
        more: of_loan(loan),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(for_staff: Option<&str>, for_patron: Option<&str>) -> Request {
        Request {
            record: Uuid::nil(),
            amount: Money::of_cents(999),
            service_point: None,
            for_staff: for_staff.map(str::to_owned),
            for_patron: for_patron.map(str::to_owned),
        }
    }

    #[test]
    fn remarks_are_written_as_comments_of_fees() {
        assert_eq!(request(None, Some(" ")).comments(), None);
        assert_eq!(request(Some("worn"), None).comments().as_deref(), Some("STAFF : worn"));
        let both = request(Some("worn"), Some("sorry")).comments();
        assert_eq!(both.as_deref(), Some("STAFF : worn \n PATRON : sorry"));
    }

    #[test]
    fn a_settled_record_has_the_remarks_of_whoever_settled_it() {
        let record = json!({"status": "Open", "additionalInfoForPatron": "before", "own": 1});
        let changed =
            settled(record.as_object().expect("an object"), &request(Some("worn"), None), "Cancelled");
        let expected = json!({"status": "Cancelled", "own": 1, "additionalInfoForStaff": "worn"});
        assert_eq!(Value::Object(changed), expected);
    }
}
