//! Users: patrons, staff and other accounts.
//!
//! Routes: `/users…` except profile pictures; deleting (`deletion`) and expiry (`expiry`) have their own files. Reads
//! patron groups, address types, departments and custom fields; changes users, and revokes the tokens of users who are
//! no longer active. Publishes `users.users`.

mod decide;
pub mod deletion;
mod expiry;
pub mod lookup;
mod outbox;

use crate::login::tokens;
use crate::records::people::USER;
use crate::user::decide::{Facts, Operation};
use carrel_platform::database::DatabaseError;
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::{self, Document, Ready};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::shape::lenient_uuid;
use carrel_records::{Failure, Refusal, time};
use serde_json::{Value, json};
use uuid::Uuid;

pub use expiry::deactivate_expired;

pub fn connect(router: &mut Router) {
    router.on("POST", "/users", create);
    router.on("PUT", "/users/{id}", replace);
    expiry::connect(router);
    outbox::connect(router);
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    let tx = call.tenant()?.begin().await?;
    let ready = create_user(&call, tx, document).await?;
    Ok(routes::created(&USER, &ready))
}

/// Validates and stores a new user.
async fn create_user(call: &Call, mut tx: Tx, mut document: Document) -> Result<Ready, Failure> {
    decide::normalize(&mut document, Operation::Create);
    let now: Value = time::format(call.now).into();
    document.insert("createdDate".into(), now.clone());
    document.insert("updatedDate".into(), now);
    let ready = write::prepare_new(&USER, document, &call.caller, call.now)?;
    if !call.caller.profile.unchecked_records {
        let facts = load_facts(&mut tx, &ready.document).await?;
        decide::refuse(&ready.document, &facts, Operation::Create)?;
    }
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, call.tenant()?, &USER, &ready, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| storage_failure(error, &ready.document, Operation::Create))?;
    Ok(ready)
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut document = call.object()?;
    let named = decide::text(&document, "id").and_then(lenient_uuid);
    if named != Some(id) && !call.caller.profile.unchecked_records {
        return Err(Failure::Invalid("You cannot change the value of the id field".into()));
    }
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let Some(stored) = write::lock(&mut tx, &USER, id).await? else {
        if !call.caller.profile.put_creates {
            return Err(Failure::NotFound(id.to_string()));
        }
        document.insert("id".into(), id.to_string().into());
        create_user(&call, tx, document).await?;
        return Ok(Answer::no_content());
    };
    let stored = stored.parse();
    decide::normalize(&mut document, Operation::Replace);
    document.insert("updatedDate".into(), time::format(call.now).into());
    match stored.get("createdDate") {
        Some(created) => document.insert("createdDate".into(), created.clone()),
        None => document.remove("createdDate"),
    };
    let ready = write::prepare_replacement(&USER, id, document, &stored, &call.caller, call.now)?;
    if !call.caller.profile.unchecked_records {
        let facts = load_facts(&mut tx, &ready.document).await?;
        decide::refuse(&ready.document, &facts, Operation::Replace)?;
    }
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &USER, &ready, &stored, call.now);
    let is_deactivated =
        stored["active"] == json!(true) && ready.document.get("active") != Some(&json!(true));
    if is_deactivated {
        tokens::revoke_all(&mut pipeline, vec![id], call.now);
    }
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| storage_failure(error, &ready.document, Operation::Replace))?;
    Ok(Answer::no_content())
}

/// Reads what the record refers to, locked until the record is stored.
async fn load_facts(tx: &mut Tx, document: &Document) -> Result<Facts, Failure> {
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
        step.map(|step| results.rows(step).iter().map(|row| row.get::<_, Uuid>("id")).collect())
            .unwrap_or_default()
    };
    Ok(Facts {
        group_found: group.is_some_and(|step| results.first(step).is_some()),
        address_types: found(types),
        departments: found(departments),
        custom_fields: fields
            .map(|step| results.rows(step).iter().map(|row| row.get::<_, Json>("doc").parse()).collect())
            .unwrap_or_default(),
    })
}

/// FOLIO quirk: a name that is taken is 422 for a new user and plain text for a replaced one.
fn storage_failure(error: DatabaseError, document: &Document, operation: Operation) -> Failure {
    let constraint = error.constraint.clone().unwrap_or_default();
    if !error.is_unique_violation() {
        return write::constraint_failure(&USER, error, document);
    }
    let known = [
        ("users_pkey", "id", "User with this id already exists"),
        ("users_username_key", "username", "User with this username already exists"),
        ("users_barcode_key", "barcode", "This barcode has already been taken"),
    ];
    let known = known.into_iter().find(|(name, ..)| constraint.starts_with(name));
    match (known, operation) {
        (Some((_, key, message)), Operation::Create) => {
            let value = decide::text(document, key).unwrap_or_default();
            Refusal::new(message).with(key, value).of_storage().into()
        }
        (Some((.., message)), Operation::Replace) => Failure::Conflict(message.into()),
        (None, Operation::Create) => write::constraint_failure(&USER, error, document),
        (None, Operation::Replace) => Failure::Conflict(format!(
            "Key (lower(f_unaccent(jsonb ->> 'externalSystemId'::text)))=({}) already exists.",
            decide::text(document, "externalSystemId").unwrap_or_default().to_lowercase()
        )),
    }
}
