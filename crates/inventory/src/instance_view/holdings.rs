//! Changes of holdings records by cataloguers: properties that come from a MARC record stay.

use crate::holdings;
use crate::records::holdings::HOLDINGS_RECORD;
use carrel_platform::record_store::read;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Answer, Call, Router};
use carrel_records::{Failure, Refusal};
use serde_json::{Value, json};

/// FOLIO's id of the holdings source MARC.
const MARC: &str = "036ee84a-6afd-4c3c-9ad3-4a12ab875f59";

const RULED_BY_MARC: [&str; 14] = [
    "formerIds",
    "holdingsTypeId",
    "permanentLocationId",
    "shelvingTitle",
    "copyNumber",
    "callNumberTypeId",
    "callNumberPrefix",
    "callNumber",
    "callNumberSuffix",
    "holdingsStatements",
    "holdingsStatementsForIndexes",
    "holdingsStatementsForSupplements",
    "notes",
    "electronicAccess",
];

/// Connects the routes.
pub fn routes(router: &mut Router) {
    router.on("PUT", "/inventory/holdings/{id}", replace);
    router.on("GET", "/inventory/config/holdings/blocked-fields", |_: Call| async {
        Ok(Answer::json(&json!({"blockedFields": RULED_BY_MARC})))
    });
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let new = call.object()?;
    let connection = call.tenant()?.writer().await?;
    let old = read::find(&connection, &HOLDINGS_RECORD, call.id(0)?).await?;
    drop(connection);
    let Some(old) = old.map(|old| old.parse()) else {
        return Err(Failure::NotFound("Holdings not found".into()));
    };
    refuse_replacement(&old, &new)?;
    holdings::replace(call).await
}

fn refuse_replacement(old: &Value, new: &Document) -> Result<(), Failure> {
    let nothing = |value: &&Value| !(value.is_null() || value.as_array().is_some_and(Vec::is_empty));
    let same = |name: &str| old.get(name).filter(nothing) == new.get(name).filter(nothing);
    if old.get("sourceId") == Some(&MARC.into()) && !RULED_BY_MARC.iter().all(|name| same(name)) {
        return Err(Refusal::new(format!(
            "Holdings is controlled by MARC record, these fields are blocked and can not be updated: {}",
            RULED_BY_MARC.join(",")
        ))
        .into());
    }
    if !same("hrid") {
        let sent = new.get("hrid").and_then(Value::as_str);
        let refusal = Refusal::new("HRID can not be updated");
        return Err(match sent {
            Some(hrid) => refusal.with("hrid", hrid).into(),
            None => refusal.with_null("hrid").into(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_of_a_marc_record_are_not_changed_by_hand() {
        let refused =
            |old: Value, new: Value| refuse_replacement(&old, new.as_object().expect("an object")).is_err();
        assert!(refused(json!({"sourceId": MARC, "callNumber": "a"}), json!({"callNumber": "b"})));
        assert!(!refused(
            json!({"sourceId": MARC, "callNumber": "a"}),
            json!({"callNumber": "a", "notes": []})
        ));
        assert!(!refused(json!({"sourceId": "other", "callNumber": "a"}), json!({"callNumber": "b"})));
        assert!(refused(json!({"hrid": "ho1"}), json!({})));
    }
}
