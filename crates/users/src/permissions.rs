//! Permissions: what a user may do, with sets inside sets.
//!
//! Routes: `/perms/users…`, `/perms/permissions…`. The permissions of the surface are records too, made with the
//! tenant and not to be changed; libraries add sets of their own.

use carrel_platform::record_store::{read, routes, write};
use carrel_platform::surface::{EVERYTHING, PERMISSIONS};
use carrel_platform::{Answer, Bind, Call, Flight, Json, Router, Tenant};
use carrel_records::{Failure, PLAIN, RecordType, Refusal, array, boolean, text, unique};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// A permission or a set of them.
pub static PERMISSION: RecordType = RecordType {
    name: "permission",
    module: "mod-permissions",
    table: "permissions",
    path: "/perms/permissions",
    collection: "permissions",
    shape: "id:string; permissionName:string; displayName:string; description:string; tags:array<string>; \
            subPermissions:array<any>; childOf:array<any>; grantedTo:array<any>; mutable:boolean; visible:boolean; \
            dummy:boolean; deprecated:boolean; moduleName:string; moduleVersion:string",
    fields: &[
        text("permissionName").indexed(),
        text("displayName"),
        boolean("mutable"),
        boolean("visible"),
        array("subPermissions"),
    ],
    unique: &[unique(&["permissionName"]).exact()],
    shapes_decisions: true,
    ..PLAIN
};

/// The permissions given to one user.
pub static PERMISSION_USER: RecordType = RecordType {
    name: "permissionUser",
    module: "mod-permissions",
    table: "permissions_users",
    path: "/perms/users",
    collection: "permissionUsers",
    shape: "id:string; userId:string(uuid); permissions:array<string>",
    fields: &[text("userId").indexed(), array("permissions")],
    unique: &[unique(&["userId"])],
    shapes_decisions: true,
    ..PLAIN
};

pub fn connect(router: &mut Router) {
    router.on("GET", "/perms/users", |call| routes::list(&PERMISSION_USER, call));
    router.on("POST", "/perms/users", create_user);
    router.on("GET", "/perms/users/{id}", find_user);
    router.on("PUT", "/perms/users/{id}", replace_user);
    router.on("DELETE", "/perms/users/{id}", delete_user);
    router.on("GET", "/perms/users/{id}/permissions", permissions_of_user);
    router.on("POST", "/perms/users/{id}/permissions", give);
    router.on("DELETE", "/perms/users/{id}/permissions/{perm}", take);
    router.on("PUT", "/perms/permissions/{id}", replace_permission);
    router.on("DELETE", "/perms/permissions/{id}", delete_permission);
    // The rest is plain.
}

/// Id of a permission of the surface: the same in every tenant.
pub fn id_of(name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("carrel:permission:{name}").as_bytes())
}

/// The permissions of the surface as records of a new tenant.
pub fn first_records() -> Vec<(String, Value)> {
    let own = [(EVERYTHING, vec![], "Everything"), ("carrel.admin.read", vec![], "See how the server does")];
    let surface = PERMISSIONS.iter().map(|permission| {
        json!({
            "id": id_of(&permission.name),
            "permissionName": &*permission.name,
            "displayName": &*permission.name,
            "subPermissions": permission.contains.iter().map(|name| &**name).collect::<Vec<_>>(),
            "mutable": false, "visible": permission.name.ends_with(".all"), "dummy": false, "deprecated": false,
            "moduleName": permission.module,
        })
    });
    let own = own.into_iter().map(|(name, inner, display): (&str, Vec<&str>, &str)| {
        json!({"id": id_of(name), "permissionName": name, "displayName": display, "subPermissions": inner,
               "mutable": false, "visible": true, "dummy": false, "deprecated": false, "moduleName": "carrel"})
    });
    surface.chain(own).map(|document| (PERMISSION.path.to_owned(), document)).collect()
}

/// The sets of a tenant, and who holds what, as they were at one stamp.
pub struct Book {
    sets: HashMap<Arc<str>, Vec<Arc<str>>>,
    holders: HashMap<Uuid, Vec<Arc<str>>>,
    /// Tokens of these users made before the second are no good.
    pub ended: HashMap<Uuid, i64>,
}

impl Book {
    /// The tenant's book, read anew when its stamp has moved.
    pub async fn of(tenant: &Tenant) -> Result<Arc<Book>, Failure> {
        let stamp = tenant.stamp().await?;
        if let Some((known, book)) = tenant.cache.get::<Book>()
            && known >= stamp
        {
            return Ok(book);
        }
        let connection = tenant.writer().await?;
        let mut flight = Flight::new();
        // The stamp is read first: what follows is at least as new.
        let stamp_step = flight.add("SELECT value FROM stamp WHERE id = 1", vec![]);
        let sets =
            flight.add("SELECT doc->>'permissionName', doc->'subPermissions' FROM permissions", vec![]);
        let holders =
            flight.add("SELECT (doc->>'userId')::uuid, doc->'permissions' FROM permissions_users", vec![]);
        let ended = flight.add("SELECT user_id, before FROM tokens_ended", vec![]);
        let landed = connection.fly(flight).await?;
        let stamp: i64 = landed.first(stamp_step).map_or(stamp, |row| row.get(0));
        let names = |json: Option<Json>| -> Vec<Arc<str>> {
            match json.map(|json| json.parse()) {
                Some(Value::Array(values)) => values
                    .iter()
                    .filter_map(|value| match value {
                        Value::String(name) => Some(name.as_str().into()),
                        Value::Object(inner) => inner.get("permissionName")?.as_str().map(Into::into),
                        _ => None,
                    })
                    .collect(),
                _ => Vec::new(),
            }
        };
        let book = Arc::new(Book {
            sets: landed
                .rows(sets)
                .iter()
                .filter_map(|row| Some((row.get::<_, Option<String>>(0)?.into(), names(row.get(1)))))
                .collect(),
            holders: landed
                .rows(holders)
                .iter()
                .filter_map(|row| Some((row.get::<_, Option<Uuid>>(0)?, names(row.get(1)))))
                .collect(),
            ended: landed
                .rows(ended)
                .iter()
                .map(|row| (row.get(0), row.get::<_, jiff::Timestamp>(1).as_second()))
                .collect(),
        });
        tenant.saw_stamp(stamp);
        tenant.cache.put(stamp, Arc::clone(&book));
        Ok(book)
    }

    /// All that the names contain, with the names.
    pub fn expand(&self, names: &[Arc<str>]) -> HashSet<Arc<str>> {
        let mut all = HashSet::new();
        let mut open: Vec<Arc<str>> = names.to_vec();
        while let Some(name) = open.pop() {
            if let Some(inner) = self.sets.get(&name)
                && !all.contains(&name)
            {
                open.extend(inner.iter().cloned());
            }
            all.insert(name);
        }
        all
    }

    pub fn of_user(&self, user: Uuid) -> HashSet<Arc<str>> {
        self.holders.get(&user).map_or_else(HashSet::new, |names| self.expand(names))
    }

    fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.sets.keys()
    }
}

async fn create_user(call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    refuse_more_than_held(&call, &names_in(&document)).await?;
    let user = document.get("userId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let tenant = call.tenant()?;
    let ready =
        write::create(tenant.begin().await?, &tenant.id, &PERMISSION_USER, document, &call.caller, call.now)
            .await
            .map_err(|failure| match failure {
                Failure::Refused(_) if !user.is_empty() => Refusal::new(format!(
                    "Permissions user for user id '{user}' already exists or is not complete"
                ))
                .with("userId", user)
                .into(),
                other => other,
            })?;
    tenant.stamp_is_stale();
    Ok(routes::created(&PERMISSION_USER, &ready))
}

async fn find_user(call: Call) -> Result<Answer, Failure> {
    let (_, document) = stored_user(&call).await?;
    Ok(Answer::json(&document))
}

async fn replace_user(call: Call) -> Result<Answer, Failure> {
    let document = call.object()?;
    refuse_more_than_held(&call, &names_in(&document)).await?;
    let (id, _) = stored_user(&call).await?;
    let tenant = call.tenant()?;
    let tx = tenant.begin().await?;
    let ready =
        write::replace(tx, &tenant.id, &PERMISSION_USER, id, document, &call.caller, call.now).await?;
    tenant.stamp_is_stale();
    // FOLIO quirk: mod-permissions answers 200 with the record, not 204.
    ready.map(|ready| Answer::json(&ready.document)).ok_or_else(|| Failure::NotFound("Not found".into()))
}

async fn delete_user(call: Call) -> Result<Answer, Failure> {
    let (id, _) = stored_user(&call).await?;
    let tenant = call.tenant()?;
    let all = &call.library.records;
    write::delete(tenant.begin().await?, &tenant.id, &PERMISSION_USER, id, all, call.now).await?;
    tenant.stamp_is_stale();
    Ok(Answer::no_content())
}

/// `expanded` follows sets into sets; `full` gives the records instead of the names.
async fn permissions_of_user(call: Call) -> Result<Answer, Failure> {
    let (_, document) = stored_user(&call).await?;
    let names: Vec<Arc<str>> = names_in(&document).into_iter().map(Into::into).collect();
    let is = |name: &str| call.query.get(name) == Some("true");
    let tenant = call.tenant()?;
    let book = Book::of(tenant).await?;
    let mut names: Vec<Arc<str>> = if is("expanded") {
        let mut all = book.expand(&names);
        if all.contains(EVERYTHING) {
            all.extend(book.names().cloned());
        }
        all.into_iter().collect()
    } else {
        names
    };
    names.sort();
    let total = names.len();
    if !is("full") {
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        return Ok(Answer::json(&json!({"permissionNames": names, "totalRecords": total})));
    }
    let connection = tenant.reader().await?;
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let rows = connection
        .query("SELECT doc FROM permissions WHERE doc->>'permissionName' = ANY($1)", vec![names.into()])
        .await?;
    let full: Vec<Value> = rows.iter().map(|row| row.get::<_, Json>(0).parse()).collect();
    Ok(Answer::json(&json!({"permissionNames": full, "totalRecords": total})))
}

async fn give(call: Call) -> Result<Answer, Failure> {
    let name =
        call.object()?.get("permissionName").and_then(Value::as_str).map(str::to_owned).ok_or_else(|| {
            Failure::from(Refusal::new("permissionName is required").with("permissionName", ""))
        })?;
    refuse_more_than_held(&call, std::slice::from_ref(&name)).await?;
    let (id, document) = stored_user(&call).await?;
    if names_in(&document).contains(&name) {
        return Err(Refusal::new(format!("User already has permission {name}"))
            .with("permissionName", name)
            .into());
    }
    change_permissions(&call, id, "doc->'permissions' || to_jsonb($2::text)", &name).await?;
    Ok(Answer::json(&json!({"permissionName": name})))
}

async fn take(call: Call) -> Result<Answer, Failure> {
    let name = call.parameter(1).to_owned();
    let (id, document) = stored_user(&call).await?;
    if !names_in(&document).contains(&name) {
        return Err(Failure::Invalid(format!("User does not contain {name}")));
    }
    change_permissions(&call, id, "(doc->'permissions') - $2::text", &name).await?;
    Ok(Answer::no_content())
}

async fn change_permissions(call: &Call, id: Uuid, change: &'static str, name: &str) -> Result<(), Failure> {
    let tenant = call.tenant()?;
    let mut flight = Flight::new();
    flight.add(
        format!(
            "UPDATE permissions_users SET doc = jsonb_set(doc, '{{permissions}}', {change}) WHERE id = $1"
        ),
        vec![id.into(), name.into()],
    );
    carrel_platform::tenant::move_stamp(&mut flight);
    tenant.begin().await?.fly_and_commit(flight).await?;
    tenant.stamp_is_stale();
    Ok(())
}

async fn replace_permission(call: Call) -> Result<Answer, Failure> {
    let stored = stored_permission(&call).await?;
    refuse_immutable(&stored)?;
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let tx = tenant.begin().await?;
    let ready =
        write::replace(tx, &tenant.id, &PERMISSION, id, call.object()?, &call.caller, call.now).await?;
    tenant.stamp_is_stale();
    ready.map(|ready| Answer::json(&ready.document)).ok_or_else(|| Failure::NotFound("Not found".into()))
}

async fn delete_permission(call: Call) -> Result<Answer, Failure> {
    let stored = stored_permission(&call).await?;
    refuse_immutable(&stored)?;
    routes::delete(&PERMISSION, call).await
}

async fn stored_permission(call: &Call) -> Result<Value, Failure> {
    let connection = call.tenant()?.writer().await?;
    let found = read::find(&connection, &PERMISSION, call.id(0)?).await?;
    found.map(|json| json.parse()).ok_or_else(|| Failure::NotFound("Not found".into()))
}

fn refuse_immutable(stored: &Value) -> Result<(), Failure> {
    if stored["mutable"] == json!(true) {
        return Ok(());
    }
    Err(Failure::Invalid("cannot change an immutable permission".into()))
}

/// One may not give what one does not hold, unless one may assign permissions of all kinds.
async fn refuse_more_than_held(call: &Call, names: &[String]) -> Result<(), Failure> {
    let caller = &call.caller;
    let book = Book::of(call.tenant()?).await?;
    for name in names {
        if caller.may(name) {
            continue;
        }
        let needed = if !book.sets.contains_key(name.as_str()) {
            "perms.users.assign.mutable"
        } else if PERMISSIONS.iter().any(|known| *known.name == **name) {
            "perms.users.assign.immutable"
        } else {
            "perms.users.assign.mutable"
        };
        if !caller.may(needed) || name == EVERYTHING {
            return Err(Failure::Forbidden(format!(
                "Cannot add permission {name} not owned by operating user"
            )));
        }
    }
    Ok(())
}

/// The record that the address names: by its id, or by another field with `indexField`.
async fn stored_user(call: &Call) -> Result<(Uuid, Map<String, Value>), Failure> {
    let key = call.id(0)?;
    let condition = match call.query.get("indexField") {
        Some("userId") => "lower(carrel.f_unaccent(doc->>'userId')) = $1::uuid::text",
        _ => "id = $1",
    };
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(format!("SELECT id, doc FROM permissions_users WHERE {condition}"), vec![Bind::Uuid(key)])
        .await?;
    let row = rows.first().ok_or_else(|| Failure::NotFound("Not found".into()))?;
    match row.get::<_, Json>(1).parse() {
        Value::Object(document) => Ok((row.get(0), document)),
        _ => Err(Failure::internal("a stored record is an object")),
    }
}

fn names_in(document: &Map<String, Value>) -> Vec<String> {
    let names = document.get("permissions").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_inside_sets_are_followed_once() {
        let book = Book {
            sets: HashMap::from([
                ("a".into(), vec!["b".into(), "c".into()]),
                ("b".into(), vec!["a".into(), "d".into()]),
            ]),
            holders: HashMap::new(),
            ended: HashMap::new(),
        };
        let mut all: Vec<_> = book.expand(&["a".into()]).into_iter().collect();
        all.sort();
        assert_eq!(all, ["a".into(), "b".into(), "c".into(), "d".into()] as [Arc<str>; 4]);
    }
}
