//! The permissions granted to users.
//!
//! Routes: `/perms/users…`. Reads the catalog; changes `permissions_users` and increments the settings version.

use crate::permissions::assigning::refuse_more_than_held;
use crate::permissions::{Name, PERMISSION_USER, PermissionCatalog, full_of, page_of, texts};
use carrel_platform::database::DatabaseError;
use carrel_platform::record_store::{read, routes, write};
use carrel_platform::surface::EVERYTHING;
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/perms/users", list);
    router.on("POST", "/perms/users", create);
    router.on("GET", "/perms/users/{id}", |call| async move {
        let (_, document) = find_stored(&call).await?.ok_or_else(|| not_found(&call, "No user with"))?;
        Ok(Answer::json(&document))
    });
    router.on("PUT", "/perms/users/{id}", replace);
    router.on("DELETE", "/perms/users/{id}", delete);
    router.on("GET", "/perms/users/{id}/permissions", permissions);
    router.on("POST", "/perms/users/{id}/permissions", add_permission);
    router.on("DELETE", "/perms/users/{id}/permissions/{perm}", remove_permission);
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let mut requested = read::PageRequest::read(&call.query)?;
    (requested.limit, requested.offset) = page_of(&call.query)?;
    let connection = call.tenant()?.reader().await?;
    let page = read::list(&connection, &PERMISSION_USER, &call.node.records, &requested).await?;
    Ok(Answer::json_bytes(page.to_bytes(&PERMISSION_USER)))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    let names = without_duplicates(&mut document);
    let user = document.get("userId").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !user.is_empty() && Uuid::parse_str(&user).is_err() {
        return Err(Failure::Invalid(format!("Invalid UUID string: {user}")));
    }
    let tenant = call.tenant()?;
    let ready = write::prepare_new(&PERMISSION_USER, document, &call.caller, call.now)?;
    let catalog = PermissionCatalog::of(tenant).await?;
    refuse_names(&call, &catalog, ready.id, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &PERMISSION_USER, &ready, call.now);
    tenant.begin().await?.send_and_commit(pipeline).await.map_err(|error| duplicate(error, &user, &ready))?;
    Ok(routes::created(&PERMISSION_USER, &ready))
}

/// FOLIO quirk: a user's second record of permissions is refused as plain text.
fn duplicate(error: DatabaseError, user: &str, ready: &write::Ready) -> Failure {
    match (error.is_unique_violation(), error.constraint.as_deref()) {
        (true, Some("permissions_users_pkey")) => {
            write::constraint_failure(&PERMISSION_USER, error, &ready.document)
        }
        (true, _) => Failure::Conflict(format!(
            "duplicate key value violates unique constraint \"permissions_users_userid_idx_unique\": Key (userId)=({user}) already exists."
        )),
        _ => error.into(),
    }
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    let names = without_duplicates(&mut document);
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let unknown = || Failure::NotFound(format!("No permissions user found with id {id}"));
    // Read before the transaction begins, since reading borrows a connection and the transaction holds one.
    let catalog = PermissionCatalog::of(tenant).await?;
    let mut tx = tenant.begin().await?;
    let stored = write::lock(&mut tx, &PERMISSION_USER, id).await?.ok_or_else(unknown)?.parse();
    let is_same_user = stored.get("userId") == document.get("userId");
    let held = stored.as_object().map(|stored| texts(stored, "permissions")).unwrap_or_default();
    // Changing the user of a record grants that user everything in it.
    let is_added = |name: &&String| !is_same_user || !held.contains(name);
    let added: Vec<&str> = names.iter().filter(is_added).map(String::as_str).collect();
    refuse_names(&call, &catalog, id, &added)?;
    let ready = write::prepare_replacement(&PERMISSION_USER, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &PERMISSION_USER, &ready, &stored, call.now);
    let user = ready.document.get("userId").and_then(Value::as_str).unwrap_or_default();
    tx.send_and_commit(pipeline).await.map_err(|error| duplicate(error, user, &ready))?;
    // FOLIO quirk: mod-permissions answers 200 with the record without its metadata, not 204.
    let mut shown = ready.document.clone();
    shown.remove("metadata");
    Ok(Answer::json(&shown))
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let all = &call.node.records;
    let tx = tenant.begin().await?;
    if !write::delete(tx, tenant, &PERMISSION_USER, id, all, call.now).await? {
        return Err(Failure::NotFound(format!("No permissions user found with id {id}")));
    }
    Ok(Answer::no_content())
}

/// `expanded` adds what the permissions contain; `full` gives records instead of names.
async fn permissions(call: Call) -> Result<Answer, Failure> {
    let (_, document) = find_stored(&call).await?.ok_or_else(|| not_found(&call, "No user found by"))?;
    let mut seen = std::collections::HashSet::new();
    let mut names: Vec<Name> = texts(&document, "permissions")
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .map(Into::into)
        .collect();
    let is = |name: &str| call.query.get(name) == Some("true");
    let tenant = call.tenant()?;
    if is("expanded") {
        let catalog = PermissionCatalog::of(tenant).await?;
        let mut all = catalog.expand(&names);
        if all.contains(EVERYTHING) {
            all.extend(catalog.names().cloned());
        }
        names = all.into_iter().collect();
        names.sort();
    }
    let total = names.len();
    if !is("full") {
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        return Ok(Answer::json(&json!({"permissionNames": names, "totalRecords": total})));
    }
    let full = full_of(tenant, names.iter().map(|name| name.to_string()).collect()).await?;
    Ok(Answer::json(&json!({"permissionNames": full, "totalRecords": total})))
}

async fn add_permission(call: Call) -> Result<Answer, Failure> {
    let body = call.object()?;
    let name = body.get("permissionName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (id, document) = find_stored(&call)
        .await?
        .ok_or_else(|| Failure::Invalid(format!("User with {} does not exist", key_text(&call))))?;
    if texts(&document, "permissions").contains(&name) {
        let words = format!("User with {} already has permission {name}", key_text(&call));
        return Err(Refusal::new(words).with("'userId'", id.to_string()).of_storage().into());
    }
    let catalog = PermissionCatalog::of(call.tenant()?).await?;
    if catalog.find(&name).is_none() && !call.caller.profile.unlimited_permissions {
        return Err(Failure::Invalid(format!("Permission by name '{name}' does not exist")));
    }
    refuse_more_than_held(&call.caller, &catalog, &[&name])?;
    update_names(&call, id, "coalesce(doc->'permissions', '[]') || to_jsonb($2::text)", &name).await?;
    Ok(Answer::json(&json!({"permissionName": name})))
}

async fn remove_permission(call: Call) -> Result<Answer, Failure> {
    let name = call.parameter(1).to_owned();
    let (id, document) = find_stored(&call)
        .await?
        .ok_or_else(|| Failure::NotFound(format!("User with {} does not exist", key_text(&call))))?;
    if !texts(&document, "permissions").contains(&name) {
        return Err(Failure::Invalid(format!("User with {} does not contain {name}", key_text(&call))));
    }
    update_names(&call, id, "(doc->'permissions') - $2::text", &name).await?;
    Ok(Answer::no_content())
}

async fn update_names(call: &Call, id: Uuid, change: &'static str, name: &str) -> Result<(), Failure> {
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    pipeline.add(
        format!(
            "UPDATE permissions_users SET doc = jsonb_set(doc, '{{permissions}}', {change}) WHERE id = $1"
        ),
        vec![id.into(), name.into()],
    );
    tenant.begin().await?.send_and_commit(pipeline).await?;
    Ok(())
}

/// Refuses permissions that the caller may not grant, and unknown names.
fn refuse_names(call: &Call, catalog: &PermissionCatalog, id: Uuid, added: &[&str]) -> Result<(), Failure> {
    if call.caller.profile.unlimited_permissions {
        return Ok(());
    }
    refuse_more_than_held(&call.caller, catalog, added)?;
    let added: Vec<String> = added.iter().map(|name| (*name).to_owned()).collect();
    let missing = catalog.missing(&added);
    if missing.is_empty() {
        return Ok(());
    }
    let words = format!(
        "Unable to update derived fields: Attempting to add non-existent permissions {} to permission user with id {id}",
        missing.join(",")
    );
    Err(Refusal::new(words).with("id", id.to_string()).of_storage().into())
}

/// The record that the path names: by its id, or by another field with `indexField`.
async fn find_stored(call: &Call) -> Result<Option<(Uuid, Map<String, Value>)>, Failure> {
    let Ok(key) = call.id(0) else { return Ok(None) };
    let condition = match call.query.get("indexField") {
        Some("userId") => "user_id = $1",
        _ => "id = $1",
    };
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(format!("SELECT id, doc FROM permissions_users WHERE {condition}"), vec![Bind::Uuid(key)])
        .await?;
    Ok(rows.first().and_then(|row| match row.get::<_, Json>("doc").parse() {
        Value::Object(document) => Some((row.get("id"), document)),
        _ => None,
    }))
}

fn not_found(call: &Call, message: &str) -> Failure {
    Failure::NotFound(format!("{message} {}", key_text(call)))
}

/// The key of the record in FOLIO's messages.
fn key_text(call: &Call) -> String {
    format!("{} {}", call.query.get("indexField").unwrap_or("id"), call.parameter(0))
}

/// Removes repeated names and keeps the order of the others.
fn without_duplicates(document: &mut Map<String, Value>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in texts(document, "permissions") {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    document.insert("permissions".into(), names.clone().into());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_permission_stays_once_in_its_place() {
        let Value::Object(mut document) = json!({"permissions": ["b", "a", "b"]}) else { panic!() };
        assert_eq!(without_duplicates(&mut document), ["b", "a"]);
        assert_eq!(document["permissions"], json!(["b", "a"]));
    }
}
