//! Routes of entity types.

use super::declaration::DECLARATIONS;
use super::{catalog, custom, values, view};
use crate::answers::{Outcome, answered, fqm};
use crate::query;
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

const UNKNOWN: &str = "unknown.error";
const INVALID: &str = "entity.type.invalid";

pub fn connect(router: &mut Router) {
    custom::connect(router);
    router.on("GET", "/entity-types", |call| answered(UNKNOWN, list(call)));
    router.on("GET", "/entity-types/{entity-type-id}", |call| answered(UNKNOWN, find(call)));
    router.on("GET", "/entity-types/{entity-type-id}/field-values", |call| {
        answered(UNKNOWN, async move {
            let field = call.query.get("field").unwrap_or_default().to_owned();
            field_values(&call, &field).await
        })
    });
    router.on("GET", "/entity-types/{entity-type-id}/columns/{column-name}/values", |call| {
        answered(UNKNOWN, async move {
            let field = call.parameter(1).to_owned();
            field_values(&call, &field).await
        })
    });
    router.on("PATCH", "/entity-types/{entity-type-id}/used-by", |call| answered(INVALID, use_by(call)));
    // There is nothing to materialize or install: the definitions are part of the program.
    router.on("POST", "/entity-types/materialized-views/refresh", |_| async {
        Ok(Answer::json(&json!({"successfulRefresh": [], "failedRefresh": []})))
    });
    router.on("POST", "/entity-types/install", |_| async { Ok(Answer::no_content()) });
}

fn flag(call: &Call, name: &str) -> bool {
    call.query.get(name) == Some("true")
}

async fn list(call: Call) -> Outcome<Answer> {
    let ids: Vec<Uuid> = query::listed(&call, "ids")
        .iter()
        .map(|id| id.parse().map_err(|_| Failure::Invalid(format!("ids: '{id}' is not a UUID"))))
        .collect::<Result<_, _>>()?;
    let (with_private, with_inaccessible) = (flag(&call, "includeAll"), flag(&call, "includeInaccessible"));
    let made = custom::accessible(call.tenant()?, call.caller.user_id).await?;
    let declared = DECLARATIONS.values().map(|one| (one, catalog::required_permissions(one)));
    let made = made.iter().map(|one| (&one.declaration, one.permissions.clone()));
    let mut found: Vec<_> = declared
        .chain(made)
        .filter(|(declaration, _)| ids.is_empty() || ids.contains(&declaration.id))
        .filter(|(declaration, _)| with_private || !declaration.is_private)
        .map(|(declaration, required)| (declaration, catalog::missing_permissions(&call.caller, &required)))
        .filter(|(_, missing)| with_inaccessible || missing.is_empty())
        .collect();
    found.sort_by_cached_key(|(declaration, _)| (declaration.label.to_lowercase(), declaration.name.clone()));
    let shown: Vec<Value> = found
        .into_iter()
        .map(|(declaration, missing)| {
            let mut summary = json!({
                "id": declaration.id,
                "label": declaration.label,
                "isCustom": declaration.custom.is_some(),
                "crossTenantQueriesEnabled": false,
            });
            if with_inaccessible {
                summary["missingPermissions"] = missing.into();
            } else if let Some(custom) = &declaration.custom {
                for name in ["createdAt", "updatedAt"] {
                    summary[name] = custom.get(name).cloned().unwrap_or_default();
                }
            }
            summary
        })
        .collect();
    Ok(Answer::json(&json!({"entityTypes": shown, "_version": query::migrate::VERSION})))
}

async fn find(call: Call) -> Outcome<Answer> {
    let entity_type = query::permitted(&call, call.id(0)?).await?;
    let mut shown = view::definition(&entity_type, flag(&call, "includeHidden"));
    shown["usedBy"] = users_of(&call, entity_type.declaration.id).await?.into();
    Ok(Answer::json(&shown))
}

pub(super) async fn users_of(call: &Call, id: Uuid) -> Result<Vec<String>, Failure> {
    let connection = call.tenant()?.reader().await?;
    let sql = "SELECT name FROM entity_type_used_by WHERE entity_type_id = $1 ORDER BY name";
    let rows = connection.query(sql, vec![id.into()]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn field_values(call: &Call, field: &str) -> Outcome<Answer> {
    let entity_type = query::permitted(call, call.id(0)?).await?;
    let search = call.query.get("search").unwrap_or_default();
    let values = values::of_field(call.tenant()?, &call.node.records, &entity_type, field, search).await?;
    let name = &entity_type.declaration.name;
    let values = values.ok_or_else(|| fqm::field_not_found(name, field))?;
    let content: Vec<Value> =
        values.into_iter().map(|(value, label)| json!({"value": value, "label": label})).collect();
    Ok(Answer::json(&json!({"content": content})))
}

async fn use_by(call: Call) -> Outcome<Answer> {
    let entity_type = query::permitted(&call, call.id(0)?).await?;
    let body = call.object()?;
    let text = |name: &str| {
        let text =
            body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty() && text.len() <= 255);
        text.ok_or_else(|| Failure::Invalid(format!("{name}: must not be null")))
    };
    let (name, operation) = (text("name")?, text("operation")?);
    let mut pipeline = Pipeline::new();
    let id = entity_type.declaration.id;
    match operation {
        "add" => mark_used(&mut pipeline, id, name),
        "remove" => {
            pipeline.add(
                "DELETE FROM entity_type_used_by WHERE entity_type_id = $1 AND name = $2",
                vec![id.into(), name.into()],
            );
        }
        other => {
            return Err(Failure::Invalid(format!("operation: '{other}' is neither add nor remove")).into());
        }
    }
    call.tenant()?.writer().await?.send(pipeline).await?;
    let mut shown = view::definition(&entity_type, false);
    shown["usedBy"] = users_of(&call, id).await?.into();
    Ok(Answer::json(&shown).status(StatusCode::OK))
}

/// Adds the statement that records the user of an entity type.
pub fn mark_used(pipeline: &mut Pipeline, entity_type: Uuid, name: &str) {
    pipeline.add(
        "INSERT INTO entity_type_used_by (entity_type_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        vec![entity_type.into(), name.into()],
    );
}
