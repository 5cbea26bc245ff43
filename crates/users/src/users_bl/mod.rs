//! Composite users: a user with patron group, permissions, proxies and service points.
//!
//! Routes: `/bl-users…`. Reads users, groups, permissions, proxies and service points; open transactions and
//! password reset links have their own files.

mod open_transactions;
pub mod password_reset_link;

use crate::extensions::Extensions;
use crate::permissions::{PermissionCatalog, full_of};
use crate::records::people::USER;
use crate::user::lookup;
use carrel_platform::record_store::read;
use carrel_platform::surface::EVERYTHING;
use carrel_platform::{Answer, Call, Json, Pipeline, Router};
use carrel_records::Failure;
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

pub fn connect(router: &mut Router, extensions: &'static Extensions) {
    router.on("GET", "/bl-users", list);
    router.on("GET", "/bl-users/_self", move |call| async move {
        let user = call.caller.user_id.ok_or_else(|| Failure::Unauthenticated("Invalid token".into()))?;
        Ok(Answer::json(&composite_of(&call, user, extensions).await?))
    });
    router.on("GET", "/bl-users/by-id/{id}", move |call| async move {
        let id = call.id(0)?;
        Ok(Answer::json(&composite_of(&call, id, extensions).await?))
    });
    router.on("GET", "/bl-users/by-username/{id}", move |call| async move {
        let id = id_of_username(&call, call.parameter(0)).await?;
        Ok(Answer::json(&composite_of(&call, id, extensions).await?))
    });
    open_transactions::connect(router, extensions);
    password_reset_link::connect(router);
}

/// The id of the user with the name.
async fn id_of_username(call: &Call, name: &str) -> Result<Uuid, Failure> {
    let connection = call.tenant()?.writer().await?;
    let found = lookup::id_of_username(&connection, name).await?;
    found.ok_or_else(|| Failure::NotFound(format!("Users with username '{name}' not found")))
}

/// The parts of a composite that are requested.
struct Included {
    groups: bool,
    permissions: bool,
    proxies: bool,
    service_points: bool,
}

impl Included {
    /// `include` may be repeated, or hold several names.
    fn read(call: &Call) -> Included {
        let requested: Vec<&str> =
            call.query.all("include").flat_map(|names| names.split(',')).map(str::trim).collect();
        let is_default = requested.iter().all(|name| name.is_empty());
        let has = |name: &str| requested.contains(&name);
        Included {
            groups: is_default || has("groups"),
            permissions: is_default || has("perms"),
            proxies: has("proxiesfor"),
            service_points: is_default || has("servicepoints"),
        }
    }
}

/// The composite of one user. `expandPermissions` gives the records of all permissions, also those in sets.
pub async fn composite_of(call: &Call, user: Uuid, extensions: &Extensions) -> Result<Value, Failure> {
    let included = Included::read(call);
    let tenant = call.tenant()?;
    let mut pipeline = Pipeline::new();
    let user_and_group = pipeline.add(
        "SELECT u.doc AS user, g.doc AS patron_group
         FROM users u LEFT JOIN groups g ON g.id = u.patron_group WHERE u.id = $1",
        vec![user.into()],
    );
    let held = pipeline.add(
        "SELECT jsonb_build_object('id', id, 'userId', user_id, 'permissions', coalesce(doc->'permissions', '[]'))
         FROM permissions_users WHERE user_id = $1",
        vec![user.into()],
    );
    let proxies = pipeline.add("SELECT doc FROM proxyfor WHERE user_id = $1 ORDER BY id", vec![user.into()]);
    let service_points =
        included.service_points.then(|| (extensions.service_points_of_user)(&mut pipeline, user));
    let connection = tenant.writer().await?;
    let results = connection.send(pipeline).await?;
    drop(connection);
    let row = results
        .first(user_and_group)
        .ok_or_else(|| Failure::NotFound(format!("User with id '{user}' not found")))?;
    let mut whole = json!({"user": row.get::<_, Json>("user").parse()});
    if let Some(group) = row.get::<_, Option<Json>>("patron_group").filter(|_| included.groups) {
        whole["patronGroup"] = group.parse();
    }
    if included.permissions {
        let mut held = results.document(held).map_or_else(|| json!({"permissions": []}), |json| json.parse());
        if call.query.get("expandPermissions") == Some("true") {
            held["permissions"] = expanded(call, user).await?.into();
        }
        whole["permissions"] = held;
    }
    if included.proxies {
        let proxies: Vec<Value> = results.documents(proxies).iter().map(Json::parse).collect();
        if !proxies.is_empty() {
            whole["proxiesFor"] = proxies.into();
        }
    }
    let service_points = service_points.and_then(|statement| results.first(statement));
    if let Some(row) = service_points {
        whole["servicePointsUser"] = row.get::<_, Json>("document").parse();
    }
    Ok(whole)
}

async fn expanded(call: &Call, user: Uuid) -> Result<Vec<Value>, Failure> {
    let tenant = call.tenant()?;
    let catalog = PermissionCatalog::of(tenant).await?;
    let mut all = catalog.of_user(user);
    if all.contains(EVERYTHING) {
        all.extend(catalog.names().cloned());
    }
    let mut names: Vec<String> = all.iter().map(|name| name.to_string()).collect();
    names.sort();
    full_of(tenant, names).await
}

/// FOLIO quirk: in the list, user and group are named in the plural.
async fn list(call: Call) -> Result<Answer, Failure> {
    let included = Included::read(&call);
    let page_request = read::PageRequest::read(&call.query)?;
    let tenant = call.tenant()?;
    let connection = tenant.reader().await?;
    let page = read::list(&connection, &USER, &call.node.records, &page_request).await?;
    let users: Vec<Value> = page.documents.iter().map(Json::parse).collect();
    let ids: Vec<Uuid> = users.iter().filter_map(|user| Uuid::parse_str(user["id"].as_str()?).ok()).collect();
    let mut pipeline = Pipeline::new();
    let groups = pipeline.add(
        "SELECT u.id AS user_id, g.doc AS document FROM users u JOIN groups g ON g.id = u.patron_group WHERE u.id = ANY($1)",
        vec![ids.clone().into()],
    );
    let held = pipeline.add(
        "SELECT user_id, doc->'permissions' AS document FROM permissions_users WHERE user_id = ANY($1)",
        vec![ids.clone().into()],
    );
    let proxies = pipeline.add(
        "SELECT user_id, doc AS document FROM proxyfor WHERE user_id = ANY($1) ORDER BY id",
        vec![ids.into()],
    );
    let results = connection.send(pipeline).await?;
    let by_user = |statement: usize| {
        let mut found: HashMap<String, Vec<Value>> = HashMap::new();
        for row in results.rows(statement) {
            let (id, document): (Uuid, Option<Json>) = (row.get("user_id"), row.get("document"));
            found.entry(id.to_string()).or_default().extend(document.map(|json| json.parse()));
        }
        found
    };
    let (groups, mut held, mut proxies) = (by_user(groups), by_user(held), by_user(proxies));
    let composites: Vec<Value> = users
        .into_iter()
        .map(|user| {
            let id = user["id"].as_str().unwrap_or_default().to_owned();
            let mut whole = json!({"users": user});
            if let Some(group) = groups.get(&id).and_then(|found| found.first()).filter(|_| included.groups) {
                whole["groups"] = group.clone();
            }
            if included.permissions
                && let Some(names) = held.remove(&id).and_then(|mut found| found.pop())
            {
                whole["permissions"] = json!({"permissions": names});
            }
            if included.proxies
                && let Some(found) = proxies.remove(&id)
            {
                whole["proxiesFor"] = found.into();
            }
            whole
        })
        .collect();
    let count = composites.len();
    Ok(Answer::json(&json!({
        "compositeUsers": composites, "totalResults": page.total, "recordCount": count
    })))
}
