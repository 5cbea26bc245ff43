//! The types that can be joined to a custom entity type, and the fields of each join.

use super::definition::{Document, declaration, joins_of};
use super::{DECLARATIONS, accessible, read};
use crate::answers::{Outcome, fqm};
use crate::entity_types::Column;
use crate::entity_types::catalog::{missing_permissions, of_declaration, required_permissions};
use crate::entity_types::entity_type::EntityType;
use carrel_platform::{Answer, Call};
use carrel_records::Failure;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

/// `POST /entity-types/custom/available-joins`: all simple types if none is chosen yet, otherwise those that can be
/// joined to the chosen ones; for a given target type the pairs of fields.
pub async fn available(call: Call) -> Outcome<Answer> {
    let body = match call.body.iter().all(u8::is_ascii_whitespace) {
        true => Document::new(),
        false => call.object()?,
    };
    let has_sources = body.get("sources").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let is_permitted = |required: &[&'static str]| missing_permissions(&call.caller, required).is_empty();
    let permitted = DECLARATIONS.values().filter(|one| is_permitted(&required_permissions(one)));
    let mut simple: Vec<Arc<EntityType>> = Vec::new();
    for one in permitted.filter(|one| one.parts.is_empty()) {
        simple.push(of_declaration(call.tenant()?, one).await?);
    }
    if !has_sources {
        return Ok(Answer::json(&json!({"availableTargetIds": targets(simple.iter())})));
    }
    let chosen = chosen(&call, &body).await?;
    let Some(target) = body.get("targetId").filter(|id| !id.is_null()) else {
        let joinable = simple.iter().filter(|target| !conditions(&chosen, target).is_empty());
        return Ok(Answer::json(&json!({"availableTargetIds": targets(joinable)})));
    };
    let id = target.as_str().and_then(|id| id.parse::<Uuid>().ok());
    let id = id.ok_or_else(|| Failure::Invalid(format!("targetId: {target} is not a UUID")))?;
    let found = crate::query::permitted(&call, id).await?;
    let shown: Vec<Value> = conditions(&chosen, &found)
        .into_iter()
        .map(|(source, target)| json!({"sourceField": field(source), "targetField": field(target)}))
        .collect();
    Ok(Answer::json(&json!({"availableJoinConditions": shown})))
}

/// The type that the chosen sources form.
async fn chosen(call: &Call, body: &Document) -> Outcome<EntityType> {
    let tenant = call.tenant()?;
    let stored = read(&tenant.reader().await?, None).await?;
    let usable: Vec<Uuid> = accessible(tenant, call.caller.user_id)
        .await?
        .iter()
        .filter(|one| missing_permissions(&call.caller, &one.permissions).is_empty())
        .map(|one| one.declaration.id)
        .collect();
    let others = |id: Uuid| stored.get(&id).filter(|_| usable.contains(&id));
    let mut definition = body.clone();
    let id = Uuid::now_v7();
    for (name, value) in
        [("id", json!(id)), ("name", json!("chosen")), ("private", json!(true)), ("shared", json!(false))]
    {
        definition.insert(name.into(), value);
    }
    definition.insert("isCustom".into(), true.into());
    let invalid = |message: &str| fqm::entity_type_invalid(None, message);
    match super::definition::refuse(id, &definition, &others) {
        Ok(()) => {}
        Err(super::Refusal::Invalid(message)) => return Err(invalid(&message)),
        Err(super::Refusal::NotCustom) => {
            return Err(invalid("The sources do not form a custom entity type"));
        }
    }
    let declaration = declaration(&definition, &others).map_err(|message| invalid(&message))?;
    Ok(EntityType::of(&Arc::new(declaration), &[]))
}

/// Pairs of fields of which one is declared as a join to the other, sorted by label.
fn conditions<'a>(chosen: &'a EntityType, target: &'a EntityType) -> Vec<(&'a Column, &'a Column)> {
    let joins = |from: &Column, to: &Column| {
        let (of_type, name) = from.origin;
        let field = DECLARATIONS[of_type].fields.iter().find(|field| field.name == name);
        field.is_some_and(|field| joins_of(field).any(|(type_name, name, _)| (type_name, name) == to.origin))
    };
    let pairs = chosen.columns.iter().flat_map(|own| target.columns.iter().map(move |other| (own, other)));
    let mut found: Vec<_> = pairs.filter(|(own, other)| joins(own, other) || joins(other, own)).collect();
    found.sort_by_cached_key(|(own, other)| (own.label.to_lowercase(), other.label.to_lowercase()));
    found
}

fn field(column: &Column) -> Value {
    json!({"label": column.label, "value": column.name})
}

fn targets<'a>(types: impl Iterator<Item = &'a Arc<EntityType>>) -> Vec<Value> {
    let mut all: Vec<_> = types.collect();
    all.sort_by_cached_key(|one| (one.declaration.label.to_lowercase(), one.declaration.name.clone()));
    all.into_iter().map(|one| json!({"label": one.declaration.label, "value": one.declaration.id})).collect()
}
