//! Staff slips: templates of slips that staff print, such as for the hold shelf.
//!
//! Routes: POST and PUT of `/staff-slips-storage/staff-slips`; the others are those of plain records.

use crate::records::STAFF_SLIP;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::record_store::{read, routes};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use serde_json::Value;

pub fn connect(router: &mut Router) {
    router.on("POST", STAFF_SLIP.path, create);
    router.on("PUT", "/staff-slips-storage/staff-slips/{id}", replace);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let slip = call.object()?;
    check(&slip)?;
    store(&call, slip).await
}

/// FOLIO quirk: PUT of an unknown id creates the slip and answers 201.
async fn replace(call: Call) -> Result<Answer, Failure> {
    let mut slip = call.object()?;
    check(&slip)?;
    let id = call.id(0)?;
    let connection = call.tenant()?.writer().await?;
    if read::find(&connection, &STAFF_SLIP, id).await?.is_some() {
        drop(connection);
        return routes::replace(&STAFF_SLIP, call).await;
    }
    drop(connection);
    slip.insert("id".into(), id.to_string().into());
    store(&call, slip).await
}

async fn store(call: &Call, mut slip: Document) -> Result<Answer, Failure> {
    if slip.get("active").is_none_or(Value::is_null) {
        slip.insert("active".into(), true.into());
    }
    let tenant = call.tenant()?;
    let ready =
        write::create(tenant.begin().await?, tenant, &STAFF_SLIP, slip, &call.caller, call.now).await?;
    Ok(routes::created(&STAFF_SLIP, &ready))
}

/// Name and template must not be blank; the shape refuses absent ones.
fn check(slip: &Document) -> Result<(), Failure> {
    let missing: Vec<&str> =
        [("name", "Name is a required property"), ("template", "Template is a required property")]
            .into_iter()
            .filter(|(property, _)| slip.get(*property).and_then(Value::as_str) == Some(""))
            .map(|(_, message)| message)
            .collect();
    if missing.is_empty() { Ok(()) } else { Err(Failure::Invalid(missing.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_name_and_template_are_both_reported() {
        let slip = json!({"name": "", "template": ""});
        let failure = check(slip.as_object().expect("an object")).expect_err("refused");
        assert!(
            failure.to_string().ends_with("Name is a required property\nTemplate is a required property")
        );
    }
}
