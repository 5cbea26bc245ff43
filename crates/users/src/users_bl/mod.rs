//! Users with what belongs to them: group, permissions, proxies, service points.
//!
//! Routes: `/bl-users…`. Reads users, groups, permissions, proxies, service points; open transactions and new
//! passwords have files of their own.

mod open_transactions;
mod password_reset;

use crate::permissions::{PermissionCatalog, full_of};
use crate::records::people::USER;
use carrel_platform::record_store::read;
use carrel_platform::surface::EVERYTHING;
use carrel_platform::{Answer, Call, Json, Pipeline, Router};
use carrel_records::Failure;
use serde_json::{Value, json};
use std::collections::HashMap;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/bl-users", list);
    router.on("GET", "/bl-users/_self", |call| async move {
        let user = call.caller.user_id.ok_or_else(|| Failure::Unauthenticated("Invalid token".into()))?;
        Ok(Answer::json(&composite_of(&call, user).await?))
    });
    router.on("GET", "/bl-users/by-id/{id}", |call| async move {
        let id = call.id(0)?;
        Ok(Answer::json(&composite_of(&call, id).await?))
    });
    router.on("GET", "/bl-users/by-username/{id}", |call| async move {
        let id = id_of_username(&call, call.parameter(0)).await?;
        Ok(Answer::json(&composite_of(&call, id).await?))
    });
    open_transactions::connect(router);
    password_reset::connect(router);
}

/// The id of the user with the name.
async fn id_of_username(call: &Call, name: &str) -> Result<Uuid, Failure> {
    let connection = call.tenant()?.writer().await?;
    let rows = connection
        .query(
            "SELECT id FROM users WHERE lower(carrel.f_unaccent(doc->>'username')) = lower(carrel.f_unaccent($1))",
            vec![name.into()],
        )
        .await?;
    let unknown = || Failure::NotFound(format!("Users with username '{name}' not found"));
    rows.first().map(|row| row.get(0)).ok_or_else(unknown)
}

/// What is shown beside the user.
struct Included {
    groups: bool,
    permissions: bool,
    proxies: bool,
    service_points: bool,
}

impl Included {
    /// `include` may be repeated, or hold several names.
    fn read(call: &Call) -> Included {
        let asked: Vec<&str> =
            call.query.all("include").flat_map(|names| names.split(',')).map(str::trim).collect();
        let default = asked.iter().all(|name| name.is_empty());
        let has = |name: &str| asked.contains(&name);
        Included {
            groups: default || has("groups"),
            permissions: default || has("perms"),
            proxies: has("proxiesfor"),
            service_points: default || has("servicepoints"),
        }
    }
}

/// The composite of one user. With `expandPermissions` the permissions stand in full, those in sets too.
pub async fn composite_of(call: &Call, user: Uuid) -> Result<Value, Failure> {
    let included = Included::read(call);
    let tenant = call.tenant()?;
    let connection = tenant.writer().await?;
    let mut pipeline = Pipeline::new();
    let who = pipeline.add(
        "SELECT u.doc, g.doc FROM users u LEFT JOIN groups g ON g.id = u.patron_group WHERE u.id = $1",
        vec![user.into()],
    );
    let held = pipeline.add(
        "SELECT doc->'permissions' FROM permissions_users
         WHERE lower(carrel.f_unaccent(doc->>'userId')) = $1::uuid::text",
        vec![user.into()],
    );
    let proxies = pipeline.add("SELECT doc FROM proxyfor WHERE user_id = $1 ORDER BY id", vec![user.into()]);
    let desks = pipeline.add("SELECT doc FROM service_point_user WHERE user_id = $1", vec![user.into()]);
    let results = connection.send(pipeline).await?;
    let row =
        results.first(who).ok_or_else(|| Failure::NotFound(format!("User with id '{user}' not found")))?;
    let mut whole = json!({"user": row.get::<_, Json>(0).parse()});
    if let Some(group) = row.get::<_, Option<Json>>(1).filter(|_| included.groups) {
        whole["patronGroup"] = group.parse();
    }
    let held = results.document(held).map_or_else(|| json!([]), |json| json.parse());
    let proxies: Vec<Value> = results.documents(proxies).iter().map(Json::parse).collect();
    let desks = results.document(desks).filter(|_| included.service_points);
    if included.permissions {
        let expand = call.query.get("expandPermissions") == Some("true");
        let names = if expand { expanded(call, user).await?.into() } else { held };
        whole["permissions"] = json!({"permissions": names});
    }
    if included.proxies && !proxies.is_empty() {
        whole["proxiesFor"] = proxies.into();
    }
    if let Some(desks) = desks {
        let mut desks = desks.parse();
        let ids: Vec<String> = desks["servicePointsIds"]
            .as_array()
            .into_iter()
            .flatten()
            .chain(desks.get("defaultServicePointId"))
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        let rows = connection
            .query(
                "SELECT doc FROM service_point WHERE id = ANY($1::text[]::uuid[]) ORDER BY doc->>'name', id",
                vec![ids.into()],
            )
            .await?;
        desks["servicePoints"] = rows.iter().map(|row| row.get::<_, Json>(0).parse()).collect();
        whole["servicePointsUser"] = desks;
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
    let asked = read::Asked::read(&call.query)?;
    let tenant = call.tenant()?;
    let connection = tenant.reader().await?;
    let page = read::list(&connection, &USER, &call.node.records, &asked).await?;
    let users: Vec<Value> = page.documents.iter().map(Json::parse).collect();
    let ids: Vec<Uuid> = users.iter().filter_map(|user| Uuid::parse_str(user["id"].as_str()?).ok()).collect();
    let texts: Vec<String> = ids.iter().map(Uuid::to_string).collect();
    let mut pipeline = Pipeline::new();
    let groups = pipeline.add(
        "SELECT u.id, g.doc FROM users u JOIN groups g ON g.id = u.patron_group WHERE u.id = ANY($1)",
        vec![ids.clone().into()],
    );
    let held = pipeline.add(
        "SELECT (doc->>'userId')::uuid, doc->'permissions' FROM permissions_users
         WHERE lower(carrel.f_unaccent(doc->>'userId')) = ANY($1)",
        vec![texts.into()],
    );
    let proxies = pipeline
        .add("SELECT user_id, doc FROM proxyfor WHERE user_id = ANY($1) ORDER BY id", vec![ids.into()]);
    let results = connection.send(pipeline).await?;
    let by_user = |step: usize| {
        let mut found: HashMap<String, Vec<Value>> = HashMap::new();
        for row in results.rows(step) {
            let (id, document): (Uuid, Option<Json>) = (row.get(0), row.get(1));
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
