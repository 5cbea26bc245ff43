//! The entity types of a tenant, computed once for each definition of its custom fields.

use super::custom::{self, declared};
use super::declaration::{DECLARATIONS, Declaration};
use super::entity_type::{CustomField, EntityType};
use carrel_platform::http::Caller;
use carrel_platform::{Call, Json, Tenant};
use carrel_records::Failure;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use uuid::Uuid;

/// Maximum number of cached types of a tenant.
const MAX_CACHED: usize = 500;

/// Types with the custom fields and definitions from which they were built.
#[derive(Default)]
struct CachedTypes(RwLock<HashMap<Uuid, CachedType>>);

type CachedType = (Vec<Value>, Arc<EntityType>);

/// The entity type with this id; `None` if the tenant does not have it.
pub async fn entity_type(tenant: &Tenant, id: Uuid) -> Result<Option<Arc<EntityType>>, Failure> {
    match declared(id) {
        Some(declaration) => of_declaration(tenant, declaration).await.map(Some),
        None => custom::entity_type(tenant, id).await,
    }
}

/// The entity type of this declaration.
pub async fn of_declaration(
    tenant: &Tenant,
    declaration: &Arc<Declaration>,
) -> Result<Arc<EntityType>, Failure> {
    let definitions = if has_custom_fields(declaration) { custom_fields(tenant).await? } else { Vec::new() };
    let fields: Vec<CustomField> = definitions.iter().filter_map(custom_field).collect();
    cached_or_built(tenant, declaration.id, definitions, || Ok(EntityType::of(declaration, &fields)))
}

/// The custom type that consists of the types with these definitions.
pub async fn of_definitions(
    tenant: &Tenant,
    id: Uuid,
    definitions: Vec<Value>,
    declaration: impl FnOnce() -> Result<Declaration, Failure>,
) -> Result<Arc<EntityType>, Failure> {
    let fields = custom_fields(tenant).await?;
    let parsed: Vec<CustomField> = fields.iter().filter_map(custom_field).collect();
    let all: Vec<Value> = fields.into_iter().chain(definitions).collect();
    cached_or_built(tenant, id, all, || Ok(EntityType::of(&Arc::new(declaration()?), &parsed)))
}

/// The cached type if it was built from the same definitions, otherwise a new one.
fn cached_or_built(
    tenant: &Tenant,
    id: Uuid,
    definitions: Vec<Value>,
    build: impl FnOnce() -> Result<EntityType, Failure>,
) -> Result<Arc<EntityType>, Failure> {
    let cache = tenant.state.of::<CachedTypes>();
    if let Some((before, entity_type)) = cache.0.read().expect("no holder of this lock panics").get(&id)
        && *before == definitions
    {
        return Ok(Arc::clone(entity_type));
    }
    let entity_type = Arc::new(build()?);
    let mut types = cache.0.write().expect("no holder of this lock panics");
    if types.len() >= MAX_CACHED {
        types.clear();
    }
    types.insert(id, (definitions, Arc::clone(&entity_type)));
    Ok(entity_type)
}

/// Ids of the types that the caller may query, including private ones.
pub async fn permitted_types(call: &Call) -> Result<Vec<Uuid>, Failure> {
    let is_permitted = |required: &[&'static str]| missing_permissions(&call.caller, required).is_empty();
    let declared = DECLARATIONS.values().filter(|one| is_permitted(&required_permissions(one)));
    let mut all: Vec<Uuid> = declared.map(|declaration| declaration.id).collect();
    let custom = custom::accessible(call.tenant()?, call.caller.user_id).await?;
    let custom = custom.iter().filter(|entity_type| is_permitted(&entity_type.permissions));
    all.extend(custom.map(|entity_type| entity_type.declaration.id));
    Ok(all)
}

/// All permissions that a type requires: its own and those of its parts.
pub fn required_permissions(declaration: &Declaration) -> Vec<&'static str> {
    let parts = declaration.parts.iter().flat_map(|part| &DECLARATIONS[part.type_name].permissions);
    let mut all: Vec<&str> = declaration.permissions.iter().chain(parts).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The permissions that the caller lacks.
pub fn missing_permissions(caller: &Caller, required: &[&'static str]) -> Vec<&'static str> {
    // In public test suites the simulated users module grants all permissions.
    required
        .iter()
        .copied()
        .filter(|name| !caller.profile.unlimited_permissions && !caller.may(name))
        .collect()
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
