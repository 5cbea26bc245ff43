//! Permissions and sets of them.
//!
//! Routes: `/perms/permissions…`, `/perms/purge-deprecated`. Reads the catalog; changes `permissions`, removes deleted
//! ones from sets and users, and increments the settings version.

use crate::permissions::assigning::{refuse_more_than_held, refuse_reserved_name};
use crate::permissions::{Name, PERMISSION, PermissionCatalog, page_of, texts};
use carrel_platform::record_store::{read, write};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tenant};
use carrel_records::{Failure, Refusal};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/perms/permissions", list);
    router.on("POST", "/perms/permissions", create);
    router.on("GET", "/perms/permissions/{id}", find);
    router.on("PUT", "/perms/permissions/{id}", replace);
    router.on("DELETE", "/perms/permissions/{id}", delete);
    router.on("POST", "/perms/purge-deprecated", purge);
}

/// `expandSubs` gives the records of a set's permissions, `expanded` the names of all that it contains. There are no
/// dummy permissions, so `includeDummy` changes nothing.
async fn list(call: Call) -> Result<Answer, Failure> {
    let mut requested = read::PageRequest::read(&call.query)?;
    (requested.limit, requested.offset) = page_of(&call.query)?;
    let tenant = call.tenant()?;
    let connection = tenant.reader().await?;
    let page = read::list(&connection, &PERMISSION, &call.node.records, &requested).await?;
    drop(connection);
    let catalog = PermissionCatalog::of(tenant).await?;
    let mut documents: Vec<Value> = page.documents.iter().map(Json::parse).collect();
    add_derived(&catalog, &mut documents);
    let is = |name: &str| call.query.get(name) == Some("true");
    if is("expandSubs") {
        let wanted: Vec<String> = documents.iter().flat_map(contained_in).collect();
        let mut by_name: HashMap<String, Value> = HashMap::new();
        for full in full_of(tenant, wanted).await? {
            let name = full["permissionName"].as_str().unwrap_or_default().to_owned();
            by_name.insert(name, full);
        }
        for document in &mut documents {
            let full: Vec<Value> =
                contained_in(document).iter().filter_map(|name| by_name.get(name)).cloned().collect();
            document["subPermissions"] = full.into();
        }
    } else if is("expanded") {
        for document in &mut documents {
            let names: Vec<Name> = contained_in(document).into_iter().map(Into::into).collect();
            let mut all: Vec<String> = catalog.expand(&names).iter().map(|name| name.to_string()).collect();
            all.sort();
            document["subPermissions"] = all.into();
        }
    }
    Ok(Answer::json(&json!({"permissions": documents, "totalRecords": page.total})))
}

async fn find(call: Call) -> Result<Answer, Failure> {
    let connection = call.tenant()?.reader().await?;
    let found = read::find(&connection, &PERMISSION, call.id(0)?).await?;
    drop(connection);
    let mut document = [found.ok_or_else(|| Failure::NotFound("Not found".into()))?.parse()];
    let catalog = PermissionCatalog::of(call.tenant()?).await?;
    add_derived(&catalog, &mut document);
    let [document] = document;
    Ok(Answer::json(&document))
}

/// The records of permissions by name, in the order of the names.
pub async fn full_of(tenant: &Tenant, names: Vec<String>) -> Result<Vec<Value>, Failure> {
    let connection = tenant.reader().await?;
    let rows = connection
        .query(
            "SELECT doc FROM permissions WHERE doc->>'permissionName' = ANY($1)",
            vec![names.clone().into()],
        )
        .await?;
    let index: HashMap<&str, usize> =
        names.iter().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
    let mut documents: Vec<Value> = rows.iter().map(|row| row.get::<_, Json>("doc").parse()).collect();
    documents.sort_by_key(|document| document["permissionName"].as_str().and_then(|name| index.get(name)));
    Ok(documents)
}

/// Adds the sets that contain a permission and the users who hold it; they are computed, not stored.
fn add_derived(catalog: &PermissionCatalog, documents: &mut [Value]) {
    let (parents, grants) = (catalog.parents(), catalog.grants());
    for document in documents {
        let name = document["permissionName"].as_str().unwrap_or_default().to_owned();
        document["childOf"] = json!(parents.get(name.as_str()).map_or(&[][..], Vec::as_slice));
        document["grantedTo"] = json!(grants.get(name.as_str()).map_or(&[][..], Vec::as_slice));
    }
}

fn contained_in(document: &Value) -> Vec<String> {
    document.as_object().map(|object| texts(object, "subPermissions")).unwrap_or_default()
}

/// The set as sent, without the properties that the server sets.
fn read_upload(call: &Call) -> Result<Map<String, Value>, Failure> {
    let mut document = call.object()?;
    for set_by_server in ["childOf", "grantedTo", "dummy", "deprecated", "moduleName", "moduleVersion"] {
        document.remove(set_by_server);
    }
    let contained = document.get("subPermissions").filter(|contained| !contained.is_null());
    let is_list_of_names =
        |value: &Value| value.as_array().is_some_and(|values| values.iter().all(Value::is_string));
    if !contained.is_none_or(is_list_of_names) {
        let refusal = Refusal::new("subPermissions must be a list of permission names");
        return Err(refusal.with("subPermissions", "").of_storage().into());
    }
    document.insert("mutable".into(), true.into());
    Ok(document)
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let mut document = read_upload(&call)?;
    document.entry("visible").or_insert(true.into());
    let id = match document.get("id").and_then(Value::as_str) {
        Some(id) => id.to_owned(),
        None => Uuid::new_v7(write::uuid_time(call.now)).to_string(),
    };
    document.insert("id".into(), id.clone().into());
    document.entry("permissionName").or_insert(id.into());
    let name = document["permissionName"].as_str().unwrap_or_default().to_owned();
    let tenant = call.tenant()?;
    let catalog = PermissionCatalog::of(tenant).await?;
    let taken = || {
        Refusal::new(format!("Permission with name {name} already exists"))
            .with("'permissionName'", name.clone())
            .of_storage()
    };
    if catalog.find(&name).is_some() {
        return Err(taken().into());
    }
    let subs = texts(&document, "subPermissions");
    refuse_unknown_permissions(&catalog, &name, &subs, "'permissionName'", &name, "")?;
    if !call.caller.profile.unlimited_permissions {
        refuse_reserved_name(&call.caller, &catalog, &name)?;
        let added: Vec<&str> = subs.iter().map(String::as_str).collect();
        refuse_more_than_held(&call.caller, &catalog, &added)?;
    }
    let mut shown = document.clone();
    add_server_properties(&mut document);
    let ready = write::prepare_new(&PERMISSION, document, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::insert(&mut pipeline, tenant, &PERMISSION, &ready, call.now);
    tenant.begin().await?.send_and_commit(pipeline).await.map_err(|error| {
        let of_name = error.constraint.as_deref().is_some_and(|name| !name.contains("pkey"));
        match error.is_unique_violation() && of_name {
            true => taken().into(),
            false => write::constraint_failure(&PERMISSION, error, &ready.document),
        }
    })?;
    shown.insert("metadata".into(), ready.document["metadata"].clone());
    Ok(Answer::created(&shown))
}

fn add_server_properties(document: &mut Map<String, Value>) {
    document.insert("dummy".into(), false.into());
    document.insert("deprecated".into(), false.into());
    document.entry("subPermissions").or_insert(json!([]));
}

async fn replace(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let mut document = read_upload(&call)?;
    if document.get("id").and_then(Value::as_str) != Some(call.parameter(0)) {
        return Err(Failure::Invalid("Invalid id value".into()));
    }
    let tenant = call.tenant()?;
    // Read before the transaction begins, since reading borrows a connection and the transaction holds one.
    let catalog = PermissionCatalog::of(tenant).await?;
    let mut tx = tenant.begin().await?;
    let stored = write::lock(&mut tx, &PERMISSION, id)
        .await?
        .ok_or_else(|| Failure::NotFound(format!("No permission found to match id {id}")))?
        .parse();
    if stored["permissionName"] != document.get("permissionName").cloned().unwrap_or_default() {
        return Err(Failure::Invalid("permission name property cannot change".into()));
    }
    if stored["mutable"] == json!(false) {
        return Err(Failure::Invalid("cannot change an immutable permission".into()));
    }
    let name = stored["permissionName"].as_str().unwrap_or_default();
    let (had, wanted) = (contained_in(&stored), texts(&document, "subPermissions"));
    let added: Vec<&str> = wanted.iter().filter(|sub| !had.contains(sub)).map(String::as_str).collect();
    refuse_more_than_held(&call.caller, &catalog, &added)?;
    let unknown = "Unable to update derived fields: ";
    refuse_unknown_permissions(&catalog, name, &wanted, "id", call.parameter(0), unknown)?;
    let shown = document.clone();
    add_server_properties(&mut document);
    let ready = write::prepare_replacement(&PERMISSION, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &PERMISSION, &ready, &stored, call.now);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::constraint_failure(&PERMISSION, error, &ready.document))?;
    Ok(Answer::json(&shown))
}

fn refuse_unknown_permissions(
    catalog: &PermissionCatalog,
    name: &str,
    subs: &[String],
    key: &str,
    value: &str,
    before: &str,
) -> Result<(), Failure> {
    let missing = catalog.missing(subs);
    if missing.is_empty() {
        return Ok(());
    }
    let words = format!(
        "{before}Attempting to add non-existent permissions {} as sub-permissions to permission {name}",
        missing.join(",")
    );
    Err(Refusal::new(words).with(key, value).of_storage().into())
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let stored = write::lock(&mut tx, &PERMISSION, id)
        .await?
        .ok_or_else(|| Failure::NotFound(format!("No permission found to match id {id}")))?
        .parse();
    if stored["mutable"] == json!(false) {
        return Err(Failure::Invalid("cannot delete an immutable permission".into()));
    }
    let name = stored["permissionName"].as_str().unwrap_or_default().to_owned();
    let mut pipeline = Pipeline::new();
    delete_everywhere(&mut pipeline, vec![name]);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}

/// Deletes the permissions that no module declares any more.
async fn purge(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let rows = tx
        .query(
            "SELECT doc->>'permissionName' AS name FROM permissions WHERE doc->>'deprecated' = 'true'",
            vec![],
        )
        .await?;
    let names: Vec<String> = rows.iter().filter_map(|row| row.get("name")).collect();
    if !names.is_empty() {
        let mut pipeline = Pipeline::new();
        delete_everywhere(&mut pipeline, names.clone());
        tx.send_and_commit(pipeline).await?;
    }
    Ok(Answer::json(&json!({"totalRecords": names.len(), "permissionNames": names})))
}

/// Adds the statements that delete permissions and remove them from sets and users.
fn delete_everywhere(pipeline: &mut Pipeline, names: Vec<String>) {
    for (table, key) in [("permissions", "subPermissions"), ("permissions_users", "permissions")] {
        pipeline.add(
            format!(
                "UPDATE {table} SET doc = jsonb_set(doc, '{{{key}}}', (doc->'{key}') - $1::text[])
                 WHERE doc->'{key}' ?| $1::text[]"
            ),
            vec![names.clone().into()],
        );
    }
    pipeline.add("DELETE FROM permissions WHERE doc->>'permissionName' = ANY($1)", vec![names.into()]);
}
