//! Policies of overdue fines and lost item fees: validation and duplicate names.
//!
//! Routes: POST and PUT of `/overdue-fines-policies` and `/lost-item-fees-policies`; the others are those of plain
//! records. Every change increments the settings version.

use crate::records::policies::{LOST_ITEM_FEE_POLICY, OVERDUE_FINE_POLICY};
use carrel_platform::record_store::{routes, write::Document};
use carrel_platform::{Answer, Call, Router, Tenant};
use carrel_records::{Failure, RecordType, Refusal, RefusalCode};
use serde_json::Value;
use std::sync::Arc;

/// One of the two kinds of policies.
struct Kind {
    record: &'static RecordType,
    check: fn(&Document) -> Option<Refusal>,
    taken_name: (&'static str, RefusalCode),
}

static OVERDUE: Kind = Kind {
    record: &OVERDUE_FINE_POLICY,
    check: refuse_if_quantity_is_negative,
    taken_name: (
        "The Overdue fine policy name entered already exists. Please enter a different name.",
        RefusalCode::FeesfinesPolicyOverdueDuplicate,
    ),
};

static LOST: Kind = Kind {
    record: &LOST_ITEM_FEE_POLICY,
    check: refuse_if_processing_fee_is_negative,
    taken_name: (
        "The Lost item fee policy name entered already exists. Please enter a different name.",
        RefusalCode::FeesfinesPolicyLostDuplicate,
    ),
};

pub fn connect(router: &mut Router) {
    for kind in [&OVERDUE, &LOST] {
        router.on("POST", kind.record.path, move |call| create(call, kind));
        let item = router.item_path("PUT", kind.record.path).expect("policies are replaced by id");
        router.on("PUT", item, move |call| replace(call, kind));
    }
}

async fn create(call: Call, kind: &'static Kind) -> Result<Answer, Failure> {
    let policy = call.object()?;
    refuse(&call, kind, &policy)?;
    let tenant = Arc::clone(call.tenant()?);
    let written = routes::create(kind.record, call).await;
    // FOLIO quirk: only a new policy with a duplicate name has a specific refusal.
    let Err(Failure::Refused(refusals)) = written else { return written };
    // The id is checked before the name.
    let is_of_id = refusals.iter().any(|refusal| refusal.parameters.iter().any(|(key, _)| key == "id"));
    if !is_of_id && name_is_taken(&tenant, kind, &policy).await? {
        let (message, code) = kind.taken_name;
        return Err(Refusal::new(message).code(code).into());
    }
    Err(Failure::Refused(refusals))
}

async fn replace(call: Call, kind: &'static Kind) -> Result<Answer, Failure> {
    let policy = call.object()?;
    refuse(&call, kind, &policy)?;
    routes::replace(kind.record, call).await
}

/// Lenient tenants store policies unvalidated.
fn refuse(call: &Call, kind: &Kind, policy: &Document) -> Result<(), Failure> {
    match (kind.check)(policy) {
        Some(refusal) if !call.caller.profile.unchecked_records => Err(refusal.into()),
        _ => Ok(()),
    }
}

/// Whether a constraint violation was caused by a duplicate name.
async fn name_is_taken(tenant: &Tenant, kind: &Kind, policy: &Document) -> Result<bool, Failure> {
    let name = policy.get("name").and_then(Value::as_str).unwrap_or_default();
    let sql = format!(
        "SELECT 1 FROM {} WHERE lower(carrel.f_unaccent(doc->>'name')) = lower(carrel.f_unaccent($1)) LIMIT 1",
        kind.record.table
    );
    let rows = tenant.writer().await?.query(sql, vec![name.into()]).await?;
    Ok(!rows.is_empty())
}

fn refuse_if_quantity_is_negative(policy: &Document) -> Option<Refusal> {
    ["overdueFine", "overdueRecallFine"].into_iter().find_map(|fine| {
        let quantity = policy.get(fine)?.get("quantity")?;
        is_negative(quantity).then(|| {
            Refusal::new("Quantity must not be negative.")
                .with(format!("{fine}.quantity"), quantity.to_string())
        })
    })
}

fn refuse_if_processing_fee_is_negative(policy: &Document) -> Option<Refusal> {
    let fee = policy.get("lostItemProcessingFee")?;
    is_negative(fee).then(|| {
        Refusal::new("The value must greater than or equal to 0")
            .with("lostItemProcessingFee", fee.to_string())
    })
}

fn is_negative(number: &Value) -> bool {
    number.as_f64().is_some_and(|number| number < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal_of(check: fn(&Document) -> Option<Refusal>, policy: Value) -> Option<String> {
        check(policy.as_object().expect("an object")).map(|refusal| refusal.parameters[0].0.clone())
    }

    #[test]
    fn a_fine_is_not_negative() {
        let check = refuse_if_quantity_is_negative;
        assert_eq!(refusal_of(check, json!({"overdueFine": {"quantity": 0}})), None);
        assert_eq!(
            refusal_of(
                check,
                json!({"overdueFine": {"quantity": -1}, "overdueRecallFine": {"quantity": -1}})
            ),
            Some("overdueFine.quantity".into())
        );
        assert_eq!(
            refusal_of(check, json!({"overdueRecallFine": {"quantity": -0.5}})),
            Some("overdueRecallFine.quantity".into())
        );
    }

    #[test]
    fn a_processing_fee_is_not_negative() {
        let check = refuse_if_processing_fee_is_negative;
        assert_eq!(refusal_of(check, json!({"name": "Lost"})), None);
        assert_eq!(
            refusal_of(check, json!({"lostItemProcessingFee": -1})),
            Some("lostItemProcessingFee".into())
        );
    }
}
