//! Custom entity types: a user combines other types, for themselves or for all users.
//!
//! Routes: `/entity-types/custom…`. A deleted type is kept, because lists may show it.

mod definition;
mod joins;

pub use definition::{Document, declared};

use super::catalog;
use super::declaration::DECLARATIONS;
use super::entity_type::EntityType;
use super::route::users_of;
use crate::answers::{Outcome, answered, fqm};
use crate::query::migrate::VERSION;
use carrel_platform::{Answer, Bind, Call, Connection, Json, Router, Tenant};
use carrel_records::{Failure, time};
use definition::Refusal;
use http::header::LOCATION;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

const UNKNOWN: &str = "unknown.error";
/// Maximum number of custom types of a tenant.
const MAX_TYPES: i64 = 1_000;

pub fn connect(router: &mut Router) {
    router.on("POST", "/entity-types/custom", |call| answered(UNKNOWN, create(call)));
    router.on("GET", "/entity-types/custom/{entity-type-id}", |call| answered(UNKNOWN, find(call)));
    router.on("PUT", "/entity-types/custom/{entity-type-id}", |call| answered(UNKNOWN, replace(call)));
    router.on("DELETE", "/entity-types/custom/{entity-type-id}", |call| answered(UNKNOWN, delete(call)));
    router
        .on("POST", "/entity-types/custom/available-joins", |call| answered(UNKNOWN, joins::available(call)));
}

/// Definitions by id.
pub type Definitions = BTreeMap<Uuid, Document>;

/// Whether the user may use the type: it is shared, or they own it.
pub fn is_accessible_to(definition: &Document, user: Option<Uuid>) -> bool {
    let is_shared = definition.get("shared").and_then(Value::as_bool) == Some(true);
    is_shared || (user.is_some() && owner(definition) == user)
}

fn owner(definition: &Document) -> Option<Uuid> {
    definition.get("owner")?.as_str()?.parse().ok()
}

fn is_deleted(definition: &Document) -> bool {
    definition.get("deleted").and_then(Value::as_bool) == Some(true)
}

/// The custom type with this id.
pub async fn entity_type(tenant: &Tenant, id: Uuid) -> Result<Option<Arc<EntityType>>, Failure> {
    let definitions = {
        let connection = tenant.reader().await?;
        if read(&connection, Some(id)).await?.is_empty() {
            return Ok(None);
        }
        read(&connection, None).await?
    };
    build(tenant, id, &definitions).await.map(Some)
}

/// The custom types that the user may use, without those that cannot be built any more.
pub async fn accessible(tenant: &Tenant, user: Option<Uuid>) -> Result<Vec<Arc<EntityType>>, Failure> {
    let definitions = read(&tenant.reader().await?, None).await?;
    let mut all = Vec::new();
    for (id, definition) in &definitions {
        if is_deleted(definition) || !is_accessible_to(definition, user) {
            continue;
        }
        match build(tenant, *id, &definitions).await {
            Ok(entity_type) => all.push(entity_type),
            Err(Failure::Invalid(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(all)
}

async fn build(tenant: &Tenant, id: Uuid, definitions: &Definitions) -> Result<Arc<EntityType>, Failure> {
    let others = |id: Uuid| definitions.get(&id);
    let Some(own) = others(id) else {
        return Err(Failure::Invalid(format!("Entity type {id} cannot be found")));
    };
    // All custom types that it contains, directly or indirectly.
    let mut used = vec![id];
    let mut index = 0;
    while let Some(next) = used.get(index).copied() {
        index += 1;
        for target in others(next).map(definition::targets).unwrap_or_default() {
            if others(target).is_some() && !used.contains(&target) {
                used.push(target);
            }
        }
    }
    let contained = used.iter().filter_map(|id| others(*id)).cloned().map(Value::Object).collect();
    catalog::of_definitions(tenant, id, contained, || {
        definition::declaration(own, &others).map_err(Failure::Invalid)
    })
    .await
}

async fn read(connection: &Connection, id: Option<Uuid>) -> Result<Definitions, Failure> {
    let rows = connection
        .query(
            format!(
                "SELECT id, definition FROM custom_entity_type WHERE $1::uuid IS NULL OR id = $1 ORDER BY id LIMIT {MAX_TYPES}"
            ),
            vec![Bind::from(id)],
        )
        .await?;
    let definition = |row: &tokio_postgres::Row| match row.get::<_, Json>("definition").parse() {
        Value::Object(definition) => Some((row.get("id"), definition)),
        _ => None,
    };
    Ok(rows.iter().filter_map(definition).collect())
}

/// The definition of a custom type, including a deleted one, if the caller may use it.
async fn accessible_definition(call: &Call, id: Uuid) -> Outcome<Document> {
    let connection = call.tenant()?.writer().await?;
    let found = read(&connection, Some(id)).await?.remove(&id);
    let found = found.ok_or_else(|| {
        let message = format!("Entity type {id} could not be found or is not a custom entity type.");
        fqm::not_custom(id, message)
    })?;
    match is_accessible_to(&found, call.caller.user_id) {
        true => Ok(found),
        false => Err(fqm::access_denied(id)),
    }
}

async fn find(call: Call) -> Outcome<Answer> {
    let found = accessible_definition(&call, call.id(0)?).await?;
    Ok(Answer::json(&Value::Object(found)))
}

/// The definition with the properties that the server sets, if it is valid.
async fn checked(call: &Call, id: Uuid, mut definition: Document, created: Value) -> Outcome<Document> {
    let own = definition.get("id").and_then(Value::as_str).map(str::to_owned);
    let own = own.as_deref();
    let stored = read(&call.tenant()?.writer().await?, None).await?;
    let others = |id: Uuid| stored.get(&id);
    match definition::refuse(id, &definition, &others) {
        Ok(()) => {}
        Err(Refusal::Invalid(message)) => return Err(fqm::entity_type_invalid(own, &message)),
        Err(Refusal::NotCustom) => {
            return Err(fqm::not_custom(id, format!("Entity type {id} is not a custom entity type")));
        }
    }
    let now = Value::from(time::format(call.now));
    definition.insert("_version".into(), VERSION.into());
    definition.insert("createdAt".into(), if created.is_null() { now.clone() } else { created });
    definition.insert("updatedAt".into(), now);
    if !definition.get("deleted").is_some_and(Value::is_boolean) {
        definition.insert("deleted".into(), false.into());
    }
    // The type is built from the new definition, not from the stored one.
    let others = |other: Uuid| if other == id { Some(&definition) } else { stored.get(&other) };
    if let Err(message) = definition::declaration(&definition, &others) {
        return Err(fqm::entity_type_invalid(own, &message));
    }
    Ok(definition)
}

async fn create(call: Call) -> Outcome<Answer> {
    let mut definition = call.object()?;
    let own = definition.get("id").and_then(Value::as_str).map(str::to_owned);
    let Some(id) = own.as_deref().and_then(|id| id.parse::<Uuid>().ok()) else {
        return Err(fqm::entity_type_invalid(own.as_deref(), "Invalid string provided for entity type ID"));
    };
    let user = call.caller.user_id;
    match definition.get("owner") {
        None | Some(Value::Null) => {}
        Some(_) if owner(&definition).is_some() && owner(&definition) == user => {}
        Some(_) => {
            let message = "owner ID mismatch: the provided owner ID does not match the current user's ID. This field \
                           should be omitted or match the authenticated user.";
            return Err(fqm::entity_type_invalid(own.as_deref(), message));
        }
    }
    let Some(user) = user else {
        return Err(fqm::entity_type_invalid(own.as_deref(), "Custom entity type must have an owner"));
    };
    definition.insert("owner".into(), user.to_string().into());
    let definition = checked(&call, id, definition, Value::Null).await?;
    let is_taken = || {
        fqm::entity_type_invalid(own.as_deref(), &format!("There is an entity type with the ID {id} already"))
    };
    if declared(id).is_some() {
        return Err(is_taken());
    }
    let connection = call.tenant()?.writer().await?;
    let stored = connection
        .query(
            format!(
                "INSERT INTO custom_entity_type (id, definition) SELECT $1, $2::jsonb
                 WHERE (SELECT count(*) FROM custom_entity_type) < {MAX_TYPES} ON CONFLICT DO NOTHING RETURNING id"
            ),
            vec![id.into(), Bind::from(&Value::Object(definition.clone()))],
        )
        .await?;
    if stored.is_empty() {
        return Err(is_taken());
    }
    Ok(Answer::created(&Value::Object(definition)).header(LOCATION, format!("/entity-types/custom/{id}")))
}

async fn replace(call: Call) -> Outcome<Answer> {
    let id = call.id(0)?;
    let before = accessible_definition(&call, id).await?;
    let mut definition = call.object()?;
    match definition.get("owner") {
        None | Some(Value::Null) => {
            definition.insert("owner".into(), before.get("owner").cloned().unwrap_or_default());
        }
        Some(_) if owner(&definition).is_some() => {}
        Some(_) => return Err(fqm::entity_type_invalid(Some(&id.to_string()), "owner: must be a UUID")),
    }
    let created = before.get("createdAt").cloned().unwrap_or_default();
    let definition = checked(&call, id, definition, created).await?;
    store(&call, id, &definition).await?;
    Ok(Answer::json(&Value::Object(definition)))
}

async fn store(call: &Call, id: Uuid, definition: &Document) -> Result<(), Failure> {
    let connection = call.tenant()?.writer().await?;
    connection
        .query(
            "UPDATE custom_entity_type SET definition = $2::jsonb WHERE id = $1",
            vec![id.into(), Bind::from(&Value::Object(definition.clone()))],
        )
        .await?;
    Ok(())
}

async fn delete(call: Call) -> Outcome<Answer> {
    let id = call.id(0)?;
    let mut definition = accessible_definition(&call, id).await?;
    let stored = read(&call.tenant()?.writer().await?, None).await?;
    let dependents: Vec<String> = stored
        .iter()
        .filter(|(other, one)| **other != id && !is_deleted(one) && definition::targets(one).contains(&id))
        .map(|(other, one)| format!("{} (id {other})", one.get("name").and_then(Value::as_str).unwrap_or("")))
        .collect();
    if !dependents.is_empty() {
        let message = format!(
            "Cannot delete custom entity type because it is used as a source by other entity types: {}",
            dependents.join(", ")
        );
        return Err(fqm::entity_type_in_use(id, message));
    }
    let users = users_of(&call, id).await?;
    if !users.is_empty() {
        let message = format!(
            "Cannot delete custom entity type because it is used by the following consumers: {}",
            users.join(", ")
        );
        return Err(fqm::entity_type_in_use(id, message));
    }
    definition.insert("deleted".into(), true.into());
    definition.insert("updatedAt".into(), time::format(call.now).into());
    store(&call, id, &definition).await?;
    Ok(Answer::no_content())
}
