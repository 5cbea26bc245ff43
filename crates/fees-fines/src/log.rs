//! Entries of the circulation log about fees/fines and manual blocks.
//!
//! `POST /feefineactions`, and POST, PUT and DELETE of `/manualblocks`, write an entry with the record; their answers
//! are in [`crate::storage_answers`].

use crate::charge::{Charge, ChargedBy};
use crate::patron_notified::PatronNotified;
use crate::records::accounts::FEEFINEACTION;
use crate::records::blocks::MANUALBLOCK;
use carrel_audit::circulation_log::{
    Action, Links, LogEntry, LogObject, LoggedItem, LoggedPatron, Source, description, write_looking_up,
};
use carrel_platform::record_store::{routes as plain, write};
use carrel_platform::{Answer, Call, Json, Pipeline};
use carrel_records::{Failure, Money};
use serde_json::{Map, Value};
use uuid::Uuid;

/// The entry about the record of an action of an account; `None` for an action that the log does not have.
pub fn action(account: &Value, record: &Map<String, Value>, is_automated: bool) -> Option<LogEntry> {
    let kind = record.get("typeAction").and_then(Value::as_str).unwrap_or_default();
    let action = match kind {
        "Staff info only" => Action::StaffInformationOnlyAdded,
        kind if kind.starts_with("Credited") => Action::named(kind)?,
        // The record of a charge has the name of its fee/fine type.
        kind => Action::named(kind).unwrap_or(Action::Billed),
    };
    let text = |key: &str| record.get(key).and_then(Value::as_str);
    let money = |key: &str| record.get(key).and_then(|amount| amount.to_string().parse::<Money>().ok());
    let what = description::FeeFineAction {
        kind: account["feeFineType"].as_str(),
        owner: account["feeFineOwner"].as_str(),
        amount: money("amountAction"),
        balance: money("balance"),
        payment_method: text("paymentMethod"),
        comments: text("comments"),
        is_automated,
    };
    let id = |value: &Value| value.as_str().and_then(|id| Uuid::parse_str(id).ok());
    Some(LogEntry {
        patron: LoggedPatron { id: id(&account["userId"]), barcode: None },
        items: vec![LoggedItem {
            id: id(&account["itemId"]),
            barcode: account["barcode"].as_str().map(str::to_owned),
            loan: id(&account["loanId"]),
            ..LoggedItem::default()
        }],
        source: text("source").map_or(Source::Unknown, |name| Source::Named(name.to_owned())),
        service_point: text("createdAt").and_then(|id| Uuid::parse_str(id).ok()),
        description: Some(description::fee_fine(action, &what)),
        links: Links { fee_fine: id(&account["id"]), ..Links::default() },
        ..LogEntry::new(LogObject::FeeFine, action)
    })
}

/// The entry about an automatic charge.
pub fn charged(charge: &Charge, account: &Value) -> Option<LogEntry> {
    let mut record = Map::new();
    record.insert("typeAction".into(), Action::Billed.name().into());
    record.insert("amountAction".into(), charge.amount.to_json());
    if let Some(comments) = &charge.comments {
        record.insert("comments".into(), comments.as_str().into());
    }
    if let Some(point) = charge.service_point {
        record.insert("createdAt".into(), point.to_string().into());
    }
    let source = match charge.charged_by {
        ChargedBy::Staff(id) => Source::User(id),
        ChargedBy::System => Source::System,
    };
    action(account, &record, true).map(|entry| LogEntry { source, ..entry })
}

/// The entry about a manual block.
fn block(block: &Value, action: Action, by: Option<Uuid>) -> LogEntry {
    LogEntry {
        patron: LoggedPatron {
            id: block["userId"].as_str().and_then(|id| Uuid::parse_str(id).ok()),
            barcode: None,
        },
        source: by.into(),
        description: Some(description::manual_block(block)),
        ..LogEntry::new(LogObject::ManualBlock, action)
    }
}

/// Stores an action that staff send.
pub async fn create_action(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&FEEFINEACTION, call.object()?, &call.caller, call.now)?;
    let account = ready.document.get("accountId").and_then(Value::as_str);
    let account = account.and_then(|id| Uuid::parse_str(id).ok());
    let mut tx = tenant.begin().await?;
    let rows = tx
        .query(
            "SELECT accounts.doc, coalesce(feefines.doc->'automatic' = 'true', false) AS is_automated FROM accounts
             LEFT JOIN feefines ON feefines.id::text = accounts.doc->>'feeFineId' WHERE accounts.id = $1",
            vec![account.into()],
        )
        .await?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &FEEFINEACTION, &ready, call.now);
    if let Some(row) = rows.first() {
        let account = row.get::<_, Json>("doc").parse();
        if let Some(entry) = action(&account, &ready.document, row.get("is_automated")) {
            write_looking_up(&mut pipeline, &entry, call.now);
        }
    }
    let record = Value::Object(ready.document.clone());
    let mut notified = PatronNotified::of(Some(&record).filter(|record| record["notify"] == true));
    notified.announce(tenant, (&mut tx, &mut pipeline), &call.caller, call.now).await?;
    let stored = tx.send_and_commit(pipeline).await;
    stored.map_err(|error| write::constraint_failure(&FEEFINEACTION, error, &ready.document))?;
    notified.committed(tenant);
    Ok(plain::created(&FEEFINEACTION, &ready))
}

/// Stores a manual block.
pub async fn create_block(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&MANUALBLOCK, call.object()?, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &MANUALBLOCK, &ready, call.now);
    let stored = Value::Object(ready.document.clone());
    write_looking_up(&mut pipeline, &block(&stored, Action::Created, call.caller.user_id), call.now);
    let stored = tenant.begin().await?.send_and_commit(pipeline).await;
    stored.map_err(|error| write::constraint_failure(&MANUALBLOCK, error, &ready.document))?;
    Ok(plain::created(&MANUALBLOCK, &ready))
}

/// Replaces a manual block.
pub async fn replace_block(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let document = call.object()?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &MANUALBLOCK, id).await? else {
        // As for every plain record: the tenant's profile may let PUT create it.
        drop(tx);
        return plain::replace(&MANUALBLOCK, call).await;
    };
    let stored = stored.parse();
    let ready = write::prepare_replacement(&MANUALBLOCK, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &MANUALBLOCK, &ready, &stored, call.now);
    let replaced = Value::Object(ready.document.clone());
    write_looking_up(&mut pipeline, &block(&replaced, Action::Modified, call.caller.user_id), call.now);
    let written = tx.send_and_commit(pipeline).await;
    written.map_err(|error| write::constraint_failure(&MANUALBLOCK, error, &ready.document))?;
    Ok(Answer::no_content())
}

/// Deletes a manual block.
pub async fn delete_block(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut tx = call.tenant()?.begin().await?;
    let Some(stored) = write::lock(&mut tx, &MANUALBLOCK, id).await? else {
        return Err(Failure::NotFound("Not found".into()));
    };
    let mut pipeline = Pipeline::new();
    pipeline.add("DELETE FROM manualblocks WHERE id = $1", vec![id.into()]);
    write_looking_up(&mut pipeline, &block(&stored.parse(), Action::Deleted, call.caller.user_id), call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn action_and_description(record: Value) -> Option<(&'static str, String)> {
        let account = json!({"id": Uuid::nil(), "feeFineType": "Fine", "feeFineOwner": "Main"});
        let entry = action(&account, record.as_object().expect("an object"), false)?;
        Some((entry.action.name(), entry.description.unwrap_or_default()))
    }

    #[test]
    fn the_record_of_a_charge_is_a_bill() {
        assert_eq!(
            action_and_description(json!({"typeAction": "Fine", "amountAction": 3.5})),
            Some((
                "Billed",
                "Fee/Fine type: Fine. Fee/Fine owner: Main. Amount: 3.50. manual. Additional information to staff: null"
                    .into()
            ))
        );
    }

    #[test]
    fn a_remark_is_shown_and_a_partial_credit_left_out() {
        let remark = json!({"typeAction": "Staff info only", "comments": "STAFF : called"});
        assert_eq!(action_and_description(remark), Some(("Staff information only added", "called".into())));
        assert_eq!(action_and_description(json!({"typeAction": "Credited partially"})), None);
        assert_eq!(
            action_and_description(json!({"typeAction": "Credited fully"})),
            Some(("Credited fully", String::new()))
        );
    }
}
