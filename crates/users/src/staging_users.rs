//! Staging users: self-registered patrons who wait to become users.
//!
//! Routes: `/staging-users…`. Reads patron groups and the address type for homes; changes staging users, and users
//! when a staging user is merged.

use crate::records::people::{STAGING_USER, USER};
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::record_store::{read, routes};
use carrel_platform::{Answer, Call, Json, Pipeline, Router, Tx};
use carrel_records::{Failure, time};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use uuid::Uuid;

const HOME: &str = "Home";
const REMOTE: &str = "Remote Non-circulating";
const MINOR: &str = "Basic -- Minor (INTERNAL)";

pub fn connect(router: &mut Router) {
    router.on("GET", "/staging-users", |call| routes::list(&STAGING_USER, call));
    router.on("POST", "/staging-users", create);
    router.on("PUT", "/staging-users/{externalSystemId}", update);
    router.on("PUT", "/staging-users/{id}/mergeOrCreateUser", merge_or_create_user);
}

/// Stores a registration.
pub(crate) async fn create(call: Call) -> Result<Answer, Failure> {
    let mut document = call.object()?;
    document.insert("externalSystemId".into(), Uuid::new_v4().to_string().into());
    document.entry("status").or_insert("TIER-1".into());
    document.entry("isEmailVerified").or_insert(false.into());
    let tenant = call.tenant()?;
    let tx = tenant.begin().await?;
    let ready = write::create(tx, tenant, &STAGING_USER, document, &call.caller, call.now).await?;
    Ok(Answer::created(&ready.document))
}

/// Merges what is sent into the stored registration; the verified e-mail address stays.
pub(crate) async fn update(call: Call) -> Result<Answer, Failure> {
    let mut sent = Value::Object(call.object()?);
    for kept in ["id", "externalSystemId"] {
        sent[kept] = Value::Null;
    }
    if sent["contactInfo"].is_object() {
        sent["contactInfo"]["email"] = Value::Null;
    }
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let rows = tx
        .query(
            "SELECT id, doc FROM staging_users WHERE doc->>'externalSystemId' = $1 FOR NO KEY UPDATE",
            vec![call.parameter(0).into()],
        )
        .await?;
    let (id, stored) = rows
        .first()
        .map(|row| (row.get::<_, Uuid>("id"), row.get::<_, Json>("doc").parse()))
        .ok_or_else(|| Failure::NotFound("No matching user found for update.".into()))?;
    let mut whole = stored.clone();
    merge_non_null(&mut whole, &sent);
    let Value::Object(document) = whole else {
        return Err(Failure::internal("a stored record is an object"));
    };
    let ready = write::prepare_replacement(&STAGING_USER, id, document, &stored, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    write::update(&mut pipeline, tenant, &STAGING_USER, &ready, &stored, call.now);
    tx.send_and_commit(pipeline).await?;
    Ok(Answer::json(&ready.document))
}

/// Replaces values by those of the second document that are not null, level by level.
fn merge_non_null(base: &mut Value, over: &Value) {
    match (base, over) {
        (_, Value::Null) => {}
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge_non_null(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// Makes a user of the staging user, or updates an existing one from it, and deletes the staging user.
async fn merge_or_create_user(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let staging = write::lock(&mut tx, &STAGING_USER, id)
        .await?
        .ok_or_else(|| Failure::NotFound(format!("staging user with id {id} not found")))?
        .parse();
    let home = find_by_name(&mut tx, "addresstype", "addressType", HOME)
        .await?
        .ok_or_else(|| Failure::Conflict("unable to find address with home as address type".into()))?;
    let existing = match call.query.get("userId").filter(|id| !id.is_empty()) {
        None => None,
        Some(text) => {
            let unknown = || Failure::NotFound(format!("user with id {text} not found"));
            let user = Uuid::parse_str(text).map_err(|_| unknown())?;
            let stored = write::lock(&mut tx, &USER, user).await?.ok_or_else(unknown)?;
            Some((user, stored.parse()))
        }
    };
    let mut user = match &existing {
        Some((_, stored)) => stored.as_object().cloned().unwrap_or_default(),
        None => Map::new(),
    };
    copy_into_user(&mut user, &staging, &home, existing.is_none());
    let group = patron_group_for(&mut tx, &user, &staging, existing.is_none()).await?;
    if let Some(group) = group {
        set_patron_group(&mut user, &group);
    }
    let mut pipeline = Pipeline::new();
    let user_id = match &existing {
        Some((user_id, stored)) => {
            let ready = write::prepare_replacement(&USER, *user_id, user, stored, &call.caller, call.now)?;
            write::update(&mut pipeline, tenant, &USER, &ready, stored, call.now);
            *user_id
        }
        None => {
            let ready = write::prepare_new(&USER, user, &call.caller, call.now)?;
            write::insert(&mut pipeline, tenant, &USER, &ready, call.now);
            ready.id
        }
    };
    pipeline.add("DELETE FROM staging_users WHERE id = $1", vec![id.into()]);
    tx.send_and_commit(pipeline)
        .await
        .map_err(|error| write::constraint_failure(&USER, error, &Document::new()))?;
    Ok(Answer::json(&json!({"userId": user_id})))
}

/// Copies the staging user's data into the user.
fn copy_into_user(user: &mut Document, staging: &Value, home: &Value, new: bool) {
    user.insert("active".into(), true.into());
    for key in ["preferredEmailCommunication", "externalSystemId"] {
        user.insert(key.into(), staging[key].clone());
    }
    user.insert("enrollmentDate".into(), staging["metadata"]["updatedDate"].clone());
    if new {
        user.insert("type".into(), "patron".into());
    }
    let personal = user.entry("personal").or_insert_with(|| json!({}));
    for (key, from) in [
        ("email", &staging["contactInfo"]["email"]),
        ("phone", &staging["contactInfo"]["phone"]),
        ("mobilePhone", &staging["contactInfo"]["mobilePhone"]),
        ("firstName", &staging["generalInfo"]["firstName"]),
        ("lastName", &staging["generalInfo"]["lastName"]),
        ("middleName", &staging["generalInfo"]["middleName"]),
        ("preferredFirstName", &staging["generalInfo"]["preferredFirstName"]),
    ] {
        personal[key] = from.clone();
    }
    // 002 is e-mail.
    personal["preferredContactTypeIds"] = json!(["002"]);
    let address = &staging["addressInfo"];
    let mut addresses = personal["addresses"].as_array().cloned().unwrap_or_default();
    for other in &mut addresses {
        other["primaryAddress"] = false.into();
    }
    let home_address = addresses.iter().position(|known| known["addressTypeId"] == home["id"]);
    let home_address = home_address.unwrap_or_else(|| {
        addresses.push(json!({"id": Uuid::new_v4()}));
        addresses.len() - 1
    });
    let address_id = addresses[home_address]["id"].clone();
    addresses[home_address] = json!({
        "id": if address_id.is_null() { json!(Uuid::new_v4()) } else { address_id },
        "countryId": address["country"], "addressLine1": address["addressLine0"],
        "addressLine2": address["addressLine1"], "city": address["city"], "region": address["province"],
        "postalCode": address["zip"], "addressTypeId": home["id"], "primaryAddress": true
    });
    personal["addresses"] = addresses.into();
}

/// The patron group: minors have their own, a new user is a remote patron, an existing user keeps theirs.
async fn patron_group_for(
    tx: &mut Tx,
    user: &Document,
    staging: &Value,
    new: bool,
) -> Result<Option<Value>, Failure> {
    let name = match (staging["minor"] == true, new) {
        (true, _) => MINOR,
        (false, true) => REMOTE,
        (false, false) => {
            let id = user.get("patronGroup").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok());
            let Some(id) = id else { return Ok(None) };
            let rows = tx.query("SELECT doc FROM groups WHERE id = $1", vec![id.into()]).await?;
            return Ok(rows.first().map(|row| row.get::<_, Json>("doc").parse()));
        }
    };
    let group = find_by_name(tx, "groups", "group", name).await?;
    let missing = || Failure::Conflict(format!("unable to find patron group with {name} as group"));
    group.map(Some).ok_or_else(missing)
}

fn set_patron_group(user: &mut Document, group: &Value) {
    user.insert("patronGroup".into(), group["id"].clone());
    let enrolled = user.get("enrollmentDate").and_then(Value::as_str).and_then(time::parse);
    if let (Some(enrolled), Some(days)) = (enrolled, group["expirationOffsetInDays"].as_i64()) {
        let ends: Option<Timestamp> = enrolled.checked_add(SignedDuration::from_hours(24 * days)).ok();
        if let Some(ends) = ends {
            user.insert("expirationDate".into(), time::format(ends).into());
        }
    }
}

async fn find_by_name(tx: &mut Tx, table: &str, key: &str, name: &str) -> Result<Option<Value>, Failure> {
    let condition = read::parse(&format!("{key}==\"{name}\""))?;
    let record = if table == "groups" {
        &crate::records::people::USERGROUP
    } else {
        &crate::records::people::ADDRESS_TYPE
    };
    let built = read::unreported_condition(Some(&condition), record, &[record])?;
    let sql = format!("SELECT {table}.doc FROM {table} WHERE {}", built.conditions);
    let rows = tx.query(sql, read::binds(&built.arguments)).await?;
    Ok(rows.first().map(|row| row.get::<_, Json>("doc").parse()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_values_change_nothing() {
        let mut base = json!({"a": 1, "b": {"c": 2, "d": 3}});
        merge_non_null(&mut base, &json!({"a": null, "b": {"d": 4, "e": 5}}));
        assert_eq!(base, json!({"a": 1, "b": {"c": 2, "d": 4, "e": 5}}));
    }

    #[test]
    fn the_home_address_becomes_the_primary_one() {
        let Value::Object(mut user) =
            json!({"personal": {"addresses": [{"addressTypeId": "work", "primaryAddress": true}]}})
        else {
            panic!("an object")
        };
        let staging = json!({"addressInfo": {"city": "Ghent"}, "generalInfo": {"lastName": "A"}});
        copy_into_user(&mut user, &staging, &json!({"id": "home"}), false);
        let addresses = &user["personal"]["addresses"];
        assert_eq!(
            (&addresses[0]["primaryAddress"], &addresses[1]["city"]),
            (&json!(false), &json!("Ghent"))
        );
        assert_eq!(addresses[1]["primaryAddress"], true);
    }
}
