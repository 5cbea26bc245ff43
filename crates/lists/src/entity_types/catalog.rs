//! The entity types of a tenant, put together once for each definition of its custom fields.

use super::declaration::{DECLARATIONS, Declaration};
use super::entity_type::{CustomField, EntityType};
use carrel_platform::http::Caller;
use carrel_platform::{Json, Tenant};
use carrel_records::Failure;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use uuid::Uuid;

/// Types that were put together, with the custom fields that they were made of.
#[derive(Default)]
struct Known(RwLock<HashMap<Uuid, OfDefinitions>>);

type OfDefinitions = (Vec<Value>, Arc<EntityType>);

/// The entity type of an id; none where Carrel does not have it.
pub async fn entity_type(tenant: &Tenant, id: Uuid) -> Result<Option<Arc<EntityType>>, Failure> {
    let Some(declaration) = DECLARATIONS.values().find(|declaration| declaration.id == id) else {
        return Ok(None);
    };
    of_declaration(tenant, declaration).await.map(Some)
}

/// The entity type that is declared so.
pub async fn of_declaration(
    tenant: &Tenant,
    declaration: &'static Declaration,
) -> Result<Arc<EntityType>, Failure> {
    let definitions = if has_custom_fields(declaration) { custom_fields(tenant).await? } else { Vec::new() };
    let known = tenant.state.of::<Known>();
    if let Some((of, entity_type)) =
        known.0.read().expect("no holder of this lock panics").get(&declaration.id)
        && *of == definitions
    {
        return Ok(Arc::clone(entity_type));
    }
    let fields: Vec<CustomField> = definitions.iter().filter_map(custom_field).collect();
    let entity_type = Arc::new(EntityType::of(declaration, &fields));
    let mut known = known.0.write().expect("no holder of this lock panics");
    known.insert(declaration.id, (definitions, Arc::clone(&entity_type)));
    Ok(entity_type)
}

/// Ids of the types that the caller may query, also private ones.
pub fn permitted_types(caller: &Caller) -> Vec<Uuid> {
    DECLARATIONS
        .values()
        .filter(|declaration| missing_permissions(caller, &required_permissions(declaration)).is_empty())
        .map(|declaration| declaration.id)
        .collect()
}

/// All permissions that a type needs: its own and those of its parts.
pub fn required_permissions(declaration: &Declaration) -> Vec<&'static str> {
    let parts = declaration.parts.iter().flat_map(|part| &DECLARATIONS[part.type_name].permissions);
    let mut all: Vec<&str> = declaration.permissions.iter().chain(parts).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Those that the caller lacks.
pub fn missing_permissions(caller: &Caller, required: &[&'static str]) -> Vec<&'static str> {
    // A public test suite's stand-in for the users grants everything.
    required.iter().copied().filter(|name| !caller.lenient && !caller.may(name)).collect()
}

fn has_custom_fields(declaration: &Declaration) -> bool {
    let own = declaration.fields.iter();
    let parts = declaration.parts.iter().flat_map(|part| &DECLARATIONS[part.type_name].fields);
    own.chain(parts).any(|field| field.origin == super::declaration::Origin::CustomFields)
}

async fn custom_fields(tenant: &Tenant) -> Result<Vec<Value>, Failure> {
    let connection = tenant.reader().await?;
    let rows = connection
        .query("SELECT doc FROM custom_fields WHERE doc->>'entityType' = 'user' ORDER BY id", vec![])
        .await?;
    Ok(rows.iter().map(|row| row.get::<_, Json>(0).parse()).collect())
}

fn custom_field(definition: &Value) -> Option<CustomField> {
    let text = |name: &str| definition.get(name)?.as_str().map(str::to_owned);
    let options = definition.pointer("/selectField/options/values").and_then(Value::as_array);
    let option = |option: &Value| {
        Some((option.get("id")?.as_str()?.to_owned(), option.get("value")?.as_str()?.to_owned()))
    };
    Some(CustomField {
        id: text("id")?.parse().ok()?,
        name: text("name")?,
        key: text("refId")?,
        kind: text("type")?,
        options: options.into_iter().flatten().filter_map(option).collect(),
    })
}
