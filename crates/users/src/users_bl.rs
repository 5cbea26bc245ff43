//! Users with what belongs to them: group, permissions, service points.
//!
//! Routes: `/bl-users…`. Reads users, groups, permissions, service points; changes nothing of its own.

use crate::permissions::Book;
use carrel_platform::{Answer, Call, Flight, Json, Router};
use carrel_records::Failure;
use serde_json::{Value, json};
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/bl-users/_self", |call| async move {
        let user = call.caller.user_id.ok_or_else(|| Failure::Unauthenticated("No user".into()))?;
        Ok(Answer::json(&composite_of(&call, user).await?))
    });
}

/// The composite of one user.
pub async fn composite_of(call: &Call, user: Uuid) -> Result<Value, Failure> {
    let tenant = call.tenant()?;
    let connection = tenant.writer().await?;
    let mut flight = Flight::new();
    let who = flight.add(
        "SELECT u.doc, g.doc FROM users u LEFT JOIN groups g ON g.id = u.patron_group WHERE u.id = $1",
        vec![user.into()],
    );
    let held = flight.add(
        "SELECT doc FROM permissions_users WHERE lower(carrel.f_unaccent(doc->>'userId')) = $1::uuid::text",
        vec![user.into()],
    );
    let desks = flight.add("SELECT doc FROM service_point_user WHERE user_id = $1", vec![user.into()]);
    let landed = connection.fly(flight).await?;
    let row =
        landed.first(who).ok_or_else(|| Failure::NotFound(format!("No User found for user id {user}")))?;
    let mut whole = json!({"user": row.get::<_, Json>(0).parse()});
    if let Some(group) = row.get::<_, Option<Json>>(1) {
        whole["patronGroup"] = group.parse();
    }
    let mut permissions =
        landed.document(held).map_or_else(|| json!({"permissions": []}), |json| json.parse());
    if call.query.get("expandPermissions") == Some("true") {
        let book = Book::of(tenant).await?;
        let mut names: Vec<String> = book.of_user(user).iter().map(|name| name.to_string()).collect();
        names.sort();
        permissions["permissions"] = names.into();
    }
    whole["permissions"] = permissions;
    if let Some(desks) = landed.document(desks) {
        let mut desks = desks.parse();
        let ids: Vec<String> = desks["servicePointsIds"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        let rows = connection
            .query("SELECT doc FROM service_point WHERE id = ANY($1::text[]::uuid[])", vec![ids.into()])
            .await?;
        desks["servicePoints"] = rows.iter().map(|row| row.get::<_, Json>(0).parse()).collect();
        whole["servicePointsUser"] = desks;
    }
    Ok(whole)
}
