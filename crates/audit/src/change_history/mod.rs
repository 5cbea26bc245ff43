//! Change histories of instances, holdings records, items and users.
//!
//! Routes: `GET /audit-data/inventory/{instance,holdings,item}/{entityId}`, `GET /audit-data/user/{userId}`. The job
//! `change-histories` reads the outbox and writes the changes to `audit_change`, each event once; the settings of
//! [`crate::settings`] determine whether, for how long, and which fields of users are excluded.

pub mod diff;

use crate::settings::{self, Setting};
use carrel_platform::batch_deletion::delete_in_batches;
use carrel_platform::jobs::Job;
use carrel_platform::outbox::follow::{self, StoredEvent};
use carrel_platform::record_store::write::uuid_time;
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router, RowChange, Tenant};
use carrel_records::{Failure, time};
use diff::{Diff, PEOPLE};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

/// Events of one transaction.
const BATCH: i64 = 200;

/// Writes the histories.
pub static HISTORIES: Job = Job {
    name: "change-histories",
    every: Duration::from_secs(30),
    deadline: Duration::from_secs(600),
    run: |run| {
        Box::pin(async move {
            let written = write_all(&run.tenant).await?;
            Ok(format!("{written} changes written"))
        })
    },
};

/// Deletes entries older than the settings allow.
pub static CLEANUP: Job = Job {
    name: "audit-cleanup",
    every: Duration::from_secs(24 * 3600),
    deadline: Duration::from_secs(1800),
    run: |run| {
        Box::pin(async move {
            let deleted = clean_up(&run.tenant, Timestamp::now()).await?;
            Ok(format!("{deleted} changes deleted"))
        })
    },
};

/// A kind of record that has a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Instance,
    Holdings,
    Item,
    User,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Instance, Kind::Holdings, Kind::Item, Kind::User];

    fn name(self) -> &'static str {
        match self {
            Kind::Instance => "instance",
            Kind::Holdings => "holdings",
            Kind::Item => "item",
            Kind::User => "user",
        }
    }
    fn topic(self) -> &'static str {
        match self {
            Kind::Instance => "inventory.instance",
            Kind::Holdings => "inventory.holdings-record",
            Kind::Item => "inventory.item",
            Kind::User => "users.users",
        }
    }
}

pub fn connect(router: &mut Router) {
    router.on("GET", "/audit-data/inventory/instance/{entityId}", |call| list(call, Kind::Instance));
    router.on("GET", "/audit-data/inventory/holdings/{entityId}", |call| list(call, Kind::Holdings));
    router.on("GET", "/audit-data/inventory/item/{entityId}", |call| list(call, Kind::Item));
    router.on("GET", "/audit-data/user/{userId}", |call| list(call, Kind::User));
    router.on("POST", "/audit-data/cleanup/timer", |call| async move {
        clean_up(call.tenant()?, call.now).await?;
        Ok(Answer::no_content())
    });
}

async fn list(call: Call, kind: Kind) -> Result<Answer, Failure> {
    let wrong = |message: String| settings::error(StatusCode::BAD_REQUEST, "validation", message);
    let sent = call.parameter(0).to_owned();
    let Ok(id) = Uuid::parse_str(&sent) else { return Ok(wrong(format!("Invalid UUID string: {sent}"))) };
    let before = match call.query.get("eventTs") {
        None => None,
        Some(text) => match text.parse().ok().and_then(|ts| Timestamp::from_millisecond(ts).ok()) {
            Some(before) => Some(before),
            None => return Ok(wrong(format!("For input string: \"{text}\""))),
        },
    };
    let connection = call.tenant()?.reader().await?;
    let page = match kind {
        Kind::User => Setting::UserPageSize,
        Kind::Instance | Kind::Holdings | Kind::Item => Setting::InventoryPageSize,
    };
    let limit = settings::read(&connection).await?.number(page).clamp(1, 1000);
    let mut pipeline = Pipeline::new();
    let rows = pipeline.add(
        "SELECT id, entity_id, at, action, by_user_id, diff FROM audit_change
         WHERE kind = $1 AND entity_id = $2 AND ($3::timestamptz IS NULL OR at < $3)
         ORDER BY at DESC, id DESC LIMIT $4::bigint",
        vec![kind.name().into(), id.into(), before.into(), limit.into()],
    );
    let count = pipeline.add(
        "SELECT count(*) AS total FROM audit_change WHERE kind = $1 AND entity_id = $2",
        vec![kind.name().into(), id.into()],
    );
    let results = connection.send(pipeline).await?;
    let total: i64 = results.first(count).map_or(0, |row| row.get("total"));
    let (list, entity, by) = match kind {
        Kind::User => ("userAuditItems", "userId", "performedBy"),
        Kind::Instance | Kind::Holdings | Kind::Item => ("inventoryAuditItems", "entityId", "userId"),
    };
    let items: Vec<Value> = results
        .rows(rows)
        .iter()
        .map(|row| {
            let at: Timestamp = row.get("at");
            let mut item = json!({
                "eventId": row.get::<_, Uuid>("id"),
                (entity): row.get::<_, Uuid>("entity_id"),
                "eventTs": at.as_millisecond(),
                "eventDate": time::format(at),
                "action": row.get::<_, String>("action"),
            });
            match row.get::<_, Option<Uuid>>("by_user_id") {
                Some(user) => item[by] = json!(user),
                // FOLIO quirk: an inventory change without a user is shown with the nil user id.
                None if kind != Kind::User => item[by] = json!(Uuid::nil()),
                None => {}
            }
            if let Some(diff) = row.get::<_, Option<Json>>("diff") {
                item["diff"] = diff.parse();
            }
            item
        })
        .collect();
    Ok(Answer::json(&json!({(list): items, "totalRecords": total})))
}

/// Writes the changes of the events since the last run; returns their number.
pub async fn write_all(tenant: &Tenant) -> Result<usize, Failure> {
    let topics: Vec<String> = Kind::ALL.iter().map(|kind| kind.topic().to_owned()).collect();
    let settled = follow::settled(tenant).await?;
    let mut written = 0;
    loop {
        let mut tx = tenant.begin().await?;
        // Serializes nodes: each event is written by one of them.
        let rows = tx.query("SELECT position FROM audit_position WHERE id = 1 FOR UPDATE", vec![]).await?;
        let position: i64 = rows.first().map_or(0, |row| row.get("position"));
        if position >= settled {
            return Ok(written);
        }
        let settings = settings::read(tx.connection()).await?;
        let batch = follow::read(tx.connection(), &topics, position, settled, BATCH).await?;
        let mut pipeline = Pipeline::new();
        for event in &batch.events {
            written += usize::from(write(&mut pipeline, &settings, event));
        }
        pipeline.add("UPDATE audit_position SET position = $1 WHERE id = 1", vec![batch.position.into()]);
        tx.send_and_commit(pipeline).await?;
        if !batch.is_full {
            return Ok(written);
        }
    }
}

/// Adds the entry for an event; false if there is nothing to store.
fn write(pipeline: &mut Pipeline, settings: &settings::Values, event: &StoredEvent) -> bool {
    let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.topic() == event.topic) else { return false };
    let enabled = if kind == Kind::User { Setting::UserEnabled } else { Setting::InventoryEnabled };
    let Ok(change) = serde_json::from_str::<Value>(&event.payload) else { return false };
    if !settings.flag(enabled) {
        return false;
    }
    let (old, new) = (&change["old"], &change["new"]);
    let record = if new.is_null() { old } else { new };
    let id = record["id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
    let Some(id) = id else { return false };
    let is_user = kind == Kind::User;
    let action = match (old.is_null(), new.is_null()) {
        (true, false) => {
            if is_user {
                "CREATED"
            } else {
                "CREATE"
            }
        }
        (false, false) => {
            if is_user {
                "UPDATED"
            } else {
                "UPDATE"
            }
        }
        (false, true) if is_user => {
            pipeline.add("DELETE FROM audit_change WHERE kind = 'user' AND entity_id = $1", vec![id.into()]);
            return false;
        }
        (false, true) => "DELETE",
        (true, true) => return false,
    };
    let anonymizes = is_user && settings.flag(Setting::UserAnonymize);
    let diff = (!old.is_null() && !new.is_null()).then(|| Diff::between(old, new));
    let diff = match diff {
        Some(diff) if is_user => {
            let excluded = settings.excluded_fields();
            let people = PEOPLE.into_iter().filter(|_| anonymizes);
            Some(diff.without(excluded.iter().map(String::as_str).chain(people)))
        }
        diff => diff,
    };
    if diff.as_ref().is_some_and(|diff| diff.is_empty() || is_user && diff.is_metadata_only()) {
        return false;
    }
    let by = ["/metadata/updatedByUserId", "/metadata/createdByUserId"]
        .iter()
        .find_map(|pointer| record.pointer(pointer)?.as_str().and_then(|id| Uuid::parse_str(id).ok()))
        .filter(|_| !anonymizes);
    pipeline.change_row(
        &CHANGE,
        vec![
            Uuid::new_v7(uuid_time(event.created)).into(),
            kind.name().into(),
            id.into(),
            event.created.into(),
            action.into(),
            by.into(),
            diff.map_or(Bind::Null, |diff| Bind::Json(diff.document().to_string())),
        ],
    );
    true
}

static CHANGE: RowChange = RowChange {
    one: "INSERT INTO audit_change (id, kind, entity_id, at, action, by_user_id, diff)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    several: "INSERT INTO audit_change (id, kind, entity_id, at, action, by_user_id, diff)
         SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::timestamptz[], $5::text[], $6::uuid[],
             $7::jsonb[])",
};

/// Deletes entries beyond the retention settings; returns the number of rows.
pub async fn clean_up(tenant: &Tenant, now: Timestamp) -> Result<u64, Failure> {
    let settings = settings::read(&tenant.writer().await?).await?;
    let mut deleted = 0;
    for (setting, users) in [(Setting::InventoryRetention, false), (Setting::UserRetention, true)] {
        let days = settings.number(setting);
        let Some(before) = (days > 0)
            .then(|| SignedDuration::from_hours(24 * days.min(36_500)))
            .and_then(|age| now.checked_sub(age).ok())
        else {
            continue;
        };
        deleted += delete_before(tenant, users, before).await?;
    }
    Ok(deleted)
}

/// Deletes the changes of users, or of inventory, before an instant; returns their number.
pub async fn delete_before(tenant: &Tenant, users: bool, before: Timestamp) -> Result<u64, Failure> {
    let delete = "DELETE FROM audit_change WHERE id IN (
             SELECT id FROM audit_change WHERE (kind = 'user') = $1 AND at < $2 ORDER BY at LIMIT $3::bigint)";
    delete_in_batches(tenant, delete, vec![users.into(), before.into()]).await
}
