//! Updates the snapshots in open requests when related records change: a renamed service point, a new call number, a
//! patron's new name.
//!
//! The transaction that changes such a record only marks it, and only if open requests refer to it; the job
//! `request-snapshots` updates the requests shortly afterwards, so that cataloguers and scans do not wait for each
//! other. Closed requests keep their snapshots.

use super::read::found_in;
use carrel_circulation::desk::queue;
use carrel_circulation::records::requests::KEEPS_COPIES;
use carrel_circulation::request_snapshot::{self as snapshot, Related};
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request;
use carrel_platform::jobs::{self, Job};
use carrel_platform::record_store::change_listeners::ChangeListener;
use carrel_platform::{Bind, Pipeline, Tenant};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Updates snapshots of marked records.
pub static REFRESH: Job = Job {
    name: "request-snapshots",
    every: Duration::from_secs(60),
    deadline: Duration::from_secs(1800),
    run: |run| {
        Box::pin(async move {
            let changed = refresh(&run.tenant).await?;
            Ok(format!("{changed} requests updated"))
        })
    },
};

/// The records that requests have snapshots of.
pub static CHANGE_LISTENERS: &[ChangeListener] = &[
    ChangeListener {
        table: "item",
        keeps: &[
            "/barcode",
            "/effectiveLocationId",
            "/effectiveCallNumberComponents",
            "/effectiveShelvingOrder",
        ],
        deletions: false,
        changed: |pipeline, tenant, ids| mark(pipeline, tenant, "item", ids),
    },
    ChangeListener {
        table: "instance",
        keeps: &["/title", "/identifiers"],
        deletions: false,
        changed: |pipeline, tenant, ids| mark(pipeline, tenant, "instance", ids),
    },
    ChangeListener {
        table: "users",
        keeps: &["/barcode", "/personal/lastName", "/personal/firstName", "/personal/middleName"],
        deletions: false,
        changed: |pipeline, tenant, ids| mark(pipeline, tenant, "user", ids),
    },
    ChangeListener {
        table: "location",
        keeps: &["/name", "/primaryServicePoint"],
        deletions: false,
        changed: |pipeline, tenant, ids| mark(pipeline, tenant, "location", ids),
    },
    ChangeListener {
        table: "service_point",
        keeps: &["/name"],
        deletions: false,
        changed: |pipeline, tenant, ids| mark(pipeline, tenant, "service point", ids),
    },
    // Without the record, requests are found by their own copies.
    forget_originals("item", |pipeline, _, ids| own_copies(pipeline, "item_id", ids)),
    forget_originals("instance", |pipeline, _, ids| own_copies(pipeline, "instance_id", ids)),
    forget_originals("users", |pipeline, _, ids| own_copies(pipeline, "requester_id", ids)),
    // Request policies, which the same job updates.
    ChangeListener {
        table: "service_point",
        keeps: &["/pickupLocation"],
        deletions: true,
        changed: |pipeline, tenant, ids| mark(pipeline, tenant, PICKUP_LOCATION, ids),
    },
];

/// Hears of deleted records only.
const fn forget_originals(
    table: &'static str,
    changed: fn(&mut Pipeline, &Tenant, Vec<Uuid>),
) -> ChangeListener {
    ChangeListener { table, keeps: &[], deletions: true, changed }
}

/// Unsets the flag of the requests of deleted records.
fn own_copies(pipeline: &mut Pipeline, column: &str, ids: Vec<Uuid>) {
    pipeline.add(
        format!("UPDATE request SET {KEEPS_COPIES} = NULL WHERE {column} = ANY($1) AND {KEEPS_COPIES}"),
        vec![ids.into()],
    );
}

/// Marks a service point that was deleted, or that became or ceased to be a pickup location.
const PICKUP_LOCATION: &str = "pickup location";

/// The open requests `r` of a record `$1`.
fn requests_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "item" => "r.item_id = $1",
        "instance" => "r.instance_id = $1",
        "user" => "(r.requester_id = $1 OR r.doc->>'proxyUserId' = ($1::uuid)::text)",
        "location" => "r.doc->'item'->>'itemEffectiveLocationId' = ($1::uuid)::text",
        "service point" => {
            "(r.pickup_service_point_id = $1 OR r.doc->'item'->>'retrievalServicePointId' = ($1::uuid)::text)"
        }
        _ => return None,
    })
}

/// Marks records that open requests refer to.
fn mark(pipeline: &mut Pipeline, tenant: &Tenant, kind: &'static str, ids: Vec<Uuid>) {
    let somebody_waits = match kind {
        "item" => "EXISTS (SELECT 1 FROM request r WHERE r.item_id = one.id AND r.is_open)",
        "instance" => "EXISTS (SELECT 1 FROM request r WHERE r.instance_id = one.id AND r.is_open)",
        "user" => {
            "(EXISTS (SELECT 1 FROM request r WHERE r.requester_id = one.id AND r.is_open)
              OR EXISTS (SELECT 1 FROM request r WHERE r.doc->>'proxyUserId' = one.id::text AND r.is_open))"
        }
        // Locations and service points are few and change rarely.
        _ => "true",
    };
    pipeline.add(
        format!(
            "INSERT INTO request_snapshot_due (kind, id, marks)
             SELECT $1, one.id, 1 FROM unnest($2::uuid[]) AS one (id) WHERE {somebody_waits} ORDER BY one.id
             ON CONFLICT (kind, id) DO UPDATE SET marks = request_snapshot_due.marks + 1"
        ),
        vec![kind.into(), ids.into()],
    );
    jobs::hint(tenant, REFRESH.name);
}

/// Marks requests that a client has stored without snapshots, since slips and lists search the snapshots. Must follow
/// the statement that stores them.
pub(super) fn mark_without_snapshots<'a>(
    pipeline: &mut Pipeline,
    tenant: &Tenant,
    stored: impl Iterator<Item = &'a Map<String, Value>> + Clone,
) {
    let ids = |key: &'static str, keeps: fn(&Map<String, Value>) -> bool| -> Vec<Uuid> {
        let without_snapshots = stored.clone().filter(|request| !keeps(request));
        without_snapshots
            .filter_map(|request| request::id(request, key))
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    let of_items = ids("itemId", |request| {
        request.get("item").is_some_and(|item| item.get("itemEffectiveLocationId").is_some())
    });
    let of_titles = ids("instanceId", |request| request.contains_key("instance"));
    for (kind, ids) in [("item", of_items), ("instance", of_titles)] {
        if !ids.is_empty() {
            mark(pipeline, tenant, kind, ids);
        }
    }
}

/// At most this many requests are updated in one transaction.
const PAGE: i64 = 200;

/// Updates the requests of all marked records; returns the number of requests changed.
async fn refresh(tenant: &Arc<Tenant>) -> Result<usize, Failure> {
    let mut changed = 0;
    loop {
        let rows = tenant
            .writer()
            .await?
            .query("SELECT kind, id, marks FROM request_snapshot_due ORDER BY kind, id LIMIT 100", vec![])
            .await?;
        if rows.is_empty() {
            return Ok(changed);
        }
        for row in &rows {
            let (kind, id, marks): (String, Uuid, i64) = (row.get(0), row.get(1), row.get(2));
            if kind == PICKUP_LOCATION {
                carrel_circulation::policies::closed_pickup::forget(tenant, id, Timestamp::now()).await?;
            }
            if let Some(which) = requests_of(&kind) {
                let mut last = Uuid::nil();
                while let Some(page) = refresh_page(tenant, which, id, last).await? {
                    changed += page.changed;
                    last = page.last;
                }
            }
            tenant
                .writer()
                .await?
                .query(
                    "DELETE FROM request_snapshot_due WHERE kind = $1 AND id = $2 AND marks = $3",
                    vec![kind.into(), id.into(), marks.into()],
                )
                .await?;
        }
    }
}

struct Page {
    last: Uuid,
    changed: usize,
}

/// Updates the next requests of a record with their queues locked, as every other change of a request locks its queue.
async fn refresh_page(
    tenant: &Arc<Tenant>,
    which: &str,
    id: Uuid,
    after: Uuid,
) -> Result<Option<Page>, Failure> {
    let mut tx = tenant.begin().await?;
    // The inner query uses the index on the reference; ordered by id, it would read all open requests.
    let page = format!(
        "SELECT behind.id FROM (SELECT r.id FROM request r WHERE r.is_open AND {which} OFFSET 0) behind
         WHERE behind.id > $2 ORDER BY behind.id LIMIT {PAGE}"
    );
    let binds: Vec<Bind> = vec![id.into(), after.into()];
    let mut pipeline = Pipeline::new();
    let queues = format!("SELECT queue_id FROM request WHERE id IN ({page})");
    queue::lock_selected(&mut pipeline, &queues, binds.clone());
    let settings_version = pipeline.add("SELECT value FROM settings_version WHERE id = 1", vec![]);
    let results = tx.send(pipeline).await?;
    // At least as new as the change that marked the record.
    let settings_version: i64 = results.first(settings_version).map_or(0, |row| row.get(0));
    let settings = CirculationSettings::at_least_within(tenant, &mut tx, settings_version).await?;
    let page = format!("SELECT request.*, request.id AS place FROM request WHERE id IN ({page})");
    let found = found_in(&mut tx, &page, binds).await?;
    let Some(last) = found.last().and_then(|found| request::id(&found.document, "id")) else {
        return Ok(None);
    };
    let (mut ids, mut patches) = (Vec::new(), Vec::new());
    for found in &found {
        let related = Related {
            item: found.item.as_ref(),
            title: found.title.as_ref(),
            requester: found.requester.as_ref(),
            proxy: found.proxy.as_ref(),
        };
        let mut fresh = found.document.clone();
        snapshot::write(&mut fresh, &related, &settings);
        let patch: Map<String, Value> =
            fresh.into_iter().filter(|(key, value)| found.document.get(key) != Some(value)).collect();
        if let (Some(id), false) = (request::id(&found.document, "id"), patch.is_empty()) {
            ids.push(id);
            patches.push(Value::Object(patch).to_string());
        }
    }
    let changed = ids.len();
    let mut pipeline = Pipeline::new();
    if changed > 0 {
        pipeline.add(
            "UPDATE request SET doc = request.doc || fresh.patch::jsonb
             FROM unnest($1::uuid[], $2::text[]) AS fresh (id, patch) WHERE request.id = fresh.id",
            vec![ids.into(), Bind::Jsons(patches)],
        );
    }
    tx.send_and_commit(pipeline).await?;
    Ok(Some(Page { last, changed }))
}
