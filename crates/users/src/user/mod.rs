//! Users: patrons, staff and other accounts.
//!
//! Routes: `/users…` but for portraits, and the timer that ends expired accounts (`expiry`). Reads groups, address
//! types, departments and added fields; changes users, and ends the tokens of those who are no longer active.
//! Announces `users.users`.

mod decide;
pub mod deletion;
mod expiry;
pub mod lookup;

use crate::login::tokens;
use crate::records::people::USER;
use crate::user::decide::{Doing, Facts};
use carrel_platform::database::DatabaseError;
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::{self, Document, Ready};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::{Failure, Refusal, time};
use serde_json::{Value, json};
use uuid::Uuid;

pub use expiry::end_expired;

pub fn connect(router: &mut Router) {
    router.on("POST", "/users", create);
    router.on("PUT", "/users/{id}", replace);
    expiry::connect(router);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    let tx = call.tenant()?.begin().await?;
    let ready = store_new(&call, tx, document).await?;
    Ok(routes::created(&USER, &ready))
}

/// Checks and stores a new user.
async fn store_new(call: &Call, mut tx: Tx, mut document: Document) -> Result<Ready, Failure> {
    decide::tidy(&mut document, Doing::Creating);
    let now: Value = time::format(call.now).into();
    document.insert("createdDate".into(), now.clone());
    document.insert("updatedDate".into(), now);
    let ready = write::prepare_new(&USER, document, &call.caller, call.now)?;
    if !call.caller.lenient {
        let facts = gather(&mut tx, &ready.document).await?;
        decide::refuse(&ready.document, &facts, Doing::Creating)?;
    }
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, &call.tenant()?.id, &USER, &ready, call.now);
    tx.send_and_commit(pipeline).await.map_err(|error| reported(error, &ready.document, Doing::Creating))?;
    Ok(ready)
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut document = call.object()?;
    let named = decide::text(&document, "id").and_then(|text| Uuid::parse_str(text).ok());
    if named != Some(id) && !call.caller.lenient {
        return Err(Failure::Invalid("You cannot change the value of the id field".into()));
    }
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &USER, id).await? else {
        if !call.caller.lenient {
            return Err(Failure::NotFound(id.to_string()));
        }
        document.insert("id".into(), id.to_string().into());
        store_new(&call, tx, document).await?;
        return Ok(Answer::no_content());
    };
    let stored = stored.parse();
    decide::tidy(&mut document, Doing::Replacing);
    document.insert("updatedDate".into(), time::format(call.now).into());
    match stored.get("createdDate") {
        Some(created) => document.insert("createdDate".into(), created.clone()),
        None => document.remove("createdDate"),
    };
    let ready = write::prepare_replacement(&USER, id, document, &stored, &call.caller, call.now)?;
    if !call.caller.lenient {
        let facts = gather(&mut tx, &ready.document).await?;
        decide::refuse(&ready.document, &facts, Doing::Replacing)?;
    }
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, &tenant.id, &USER, &ready, &stored, call.now);
    let ends = stored["active"] == json!(true) && ready.document.get("active") != Some(&json!(true));
    if ends {
        tokens::revoke_all(&mut pipeline, vec![id], call.now);
    }
    tx.send_and_commit(pipeline).await.map_err(|error| reported(error, &ready.document, Doing::Replacing))?;
    Ok(Answer::no_content())
}

/// What the record names, held so that it stands when the record does.
async fn gather(tx: &mut Tx, document: &Document) -> Result<Facts, Failure> {
    let group = decide::text(document, "patronGroup").and_then(|id| Uuid::parse_str(id).ok());
    let (types, departments) = (decide::address_types(document), decide::departments(document));
    let has_fields =
        document.get("customFields").and_then(Value::as_object).is_some_and(|values| !values.is_empty());
    let mut pipeline = Pipeline::new();
    let group = group.map(|id| pipeline.add("SELECT 1 FROM groups WHERE id = $1", vec![id.into()]));
    let ids = |table| format!("SELECT id FROM {table} WHERE id = ANY($1) FOR KEY SHARE");
    let types = (!types.is_empty()).then(|| pipeline.add(ids("addresstype"), vec![types.into()]));
    let departments =
        (!departments.is_empty()).then(|| pipeline.add(ids("departments"), vec![departments.into()]));
    let fields = has_fields.then(|| pipeline.add("SELECT doc FROM custom_fields", vec![]));
    if pipeline.is_empty() {
        return Ok(Facts::default());
    }
    let results = tx.send(pipeline).await?;
    let found = |step: Option<usize>| {
        step.map(|step| results.rows(step).iter().map(|row| row.get::<_, Uuid>(0)).collect())
            .unwrap_or_default()
    };
    Ok(Facts {
        group_found: group.is_some_and(|step| results.first(step).is_some()),
        address_types: found(types),
        departments: found(departments),
        custom_fields: fields
            .map(|step| results.rows(step).iter().map(|row| row.get::<_, Json>(0).parse()).collect())
            .unwrap_or_default(),
    })
}

/// FOLIO quirk: a name that is taken is refused with 422 to a new user and with plain text to another.
fn reported(error: DatabaseError, document: &Document, doing: Doing) -> Failure {
    let constraint = error.constraint.clone().unwrap_or_default();
    if !error.is_unique_violation() {
        return write::reported(&USER, error, document);
    }
    let known = [
        ("users_pkey", "id", "User with this id already exists"),
        ("users_username_key", "username", "User with this username already exists"),
        ("users_barcode_key", "barcode", "This barcode has already been taken"),
    ];
    let known = known.into_iter().find(|(name, ..)| constraint.starts_with(name));
    match (known, doing) {
        (Some((_, key, words)), Doing::Creating) => {
            let value = decide::text(document, key).unwrap_or_default();
            Refusal::new(words).with(key, value).of_storage().into()
        }
        (Some((.., words)), Doing::Replacing) => Failure::Conflict(words.into()),
        (None, Doing::Creating) => write::reported(&USER, error, document),
        (None, Doing::Replacing) => Failure::Conflict(format!(
            "Key (lower(f_unaccent(jsonb ->> 'externalSystemId'::text)))=({}) already exists.",
            decide::text(document, "externalSystemId").unwrap_or_default().to_lowercase()
        )),
    }
}
