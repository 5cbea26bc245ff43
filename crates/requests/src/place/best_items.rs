//! Chooses among the items of an instance if each has a separate queue: the few best items are locked and read first,
//! and all of them only if none of those can be requested.
//!
//! A transaction locks the instance's row in `request_queue` first, although the instance has no queue, to serialize
//! the choice for one instance. Only the chosen items are then locked and read.

use super::PlaceRequest;
use super::facts::{Facts, FactsQuery, ItemScope, candidates, lock, read};
use carrel_circulation::desk::queue::{self, LOCK_WANTED};
use carrel_circulation::patron_blocks::Action;
use carrel_circulation::records::loans::OPEN;
use carrel_circulation::settings::CirculationSettings;
use carrel_platform::{Bind, Pipeline, Tenant, Tx};
use carrel_records::{Failure, ItemStatus};
use jiff::Timestamp;
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// How many items are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Best,
    All,
}

impl Scope {
    fn most(self) -> i64 {
        match self {
            Scope::Best => 3,
            Scope::All => i64::MAX,
        }
    }
}

/// The items read, within their transaction.
pub(super) struct Candidates {
    pub tx: Tx,
    pub facts: Facts,
    pub settings: Arc<CirculationSettings>,
    /// The instance may have items that were not read.
    pub more: bool,
}

/// The ids of the chosen items for the following statements: a setting of the transaction stores them, since statements
/// of a pipeline do not see each other's results.
pub(super) const CHOSEN: &str = "string_to_array(current_setting('carrel.copies'), ',')::uuid[]";

/// Chooses at most `$3` items of the instance `$1` in the order of `instances::ranked` without reading their records,
/// locks their queues and stores their ids; `$2` are the locations that the pickup service point serves. Returns how
/// many are available.
static CHOOSE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH copy AS MATERIALIZED (
         SELECT item.id, item_state.status = 'Available' AS is_here,
             coalesce(item.effective_location_id = ANY($2), false) AS is_served,
             item.doc->'metadata'->>'createdDate' AS made
         FROM holdings_record JOIN item ON item.holdings_record_id = holdings_record.id
         JOIN item_state ON item_state.item_id = item.id
         WHERE holdings_record.instance_id = $1),
     best AS MATERIALIZED (
         (SELECT id, is_here FROM copy WHERE is_here ORDER BY is_served DESC, made, id LIMIT $3)
         UNION ALL
         (SELECT copy.id, is_here FROM copy
          CROSS JOIN LATERAL (
              SELECT count(*) AS requests FROM request r WHERE r.item_id = copy.id AND r.is_open) waiting
          LEFT JOIN loan ON loan.item_id = copy.id AND loan.{OPEN}
          WHERE NOT is_here
          ORDER BY waiting.requests, carrel.instant(loan.doc->>'dueDate'), is_served DESC, made, copy.id LIMIT $3)
         LIMIT $3),
     wanted AS MATERIALIZED (SELECT id FROM best ORDER BY id),
     held AS ({LOCK_WANTED})
     SELECT count(*) FILTER (WHERE is_here),
         set_config('carrel.copies', coalesce(string_agg(id::text, ','), ''), true) FROM best"
    )
});

/// Locks patron, chosen items with their queues, and loans, and reads all facts; `None` if title-level requests are
/// enabled.
pub(super) async fn gather(
    tenant: &Arc<Tenant>,
    command: &PlaceRequest,
    look: Scope,
    now: Timestamp,
) -> Result<Option<Candidates>, Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    loop {
        if cached.settings.title_level_requests.enabled() {
            return Ok(None);
        }
        let facts_query = FactsQuery {
            title_level: false,
            by_item: false,
            copies: true,
            counts: Action::Requesting.is_limited(&cached.settings),
        };
        let served = served_by(command.id("pickupServicePointId"), &cached.settings);
        let requester: Bind = command.id("requesterId").into();
        let instance: Bind = command.id("instanceId").into();
        let mut tx = tenant.begin().await?;
        let mut pipeline = Pipeline::new();
        pipeline.add("SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE", vec![requester.clone()]);
        queue::lock_selected(&mut pipeline, "SELECT $1::uuid", vec![instance.clone()]);
        let chosen =
            pipeline.add(CHOOSE.as_str(), vec![instance.clone(), served.clone().into(), look.most().into()]);
        pipeline.add(lock(ItemScope::Chosen, true), vec![]);
        let facts = pipeline.add(
            facts_query.statement(),
            vec![requester, command.id("proxyUserId").into(), instance.clone(), instance],
        );
        let copies = pipeline.add(candidates(ItemScope::Chosen), vec![]);
        let results = tx.send(pipeline).await?;
        let row = results.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
        cached.refresh(tenant, &mut tx, row).await?;
        let settings = &cached.settings;
        // The statements depend on settings that have changed: gather again.
        if Action::Requesting.is_limited(settings) != facts_query.counts
            || settings.title_level_requests.enabled()
            || served_by(command.id("pickupServicePointId"), settings) != served
        {
            continue;
        }
        let facts = read(row, results.rows(copies), facts_query.counts.then_some((&**settings, now)))?;
        let were_here: i64 = results.first(chosen).map_or(0, |row| row.get(0));
        let is_here = facts.candidates.iter().any(|item_as| item_as.item.status == ItemStatus::Available);
        // Other transactions took the chosen items between choice and lock: another item may be available.
        if were_here > 0 && !is_here {
            continue;
        }
        let more = facts.candidates.len() as i64 == look.most();
        return Ok(Some(Candidates { tx, facts, settings: cached.settings, more }));
    }
}

/// The locations that a service point serves, in a fixed order.
fn served_by(pickup: Option<Uuid>, settings: &CirculationSettings) -> Vec<Uuid> {
    let Some(pickup) = pickup else { return Vec::new() };
    let mut served: Vec<Uuid> =
        settings.locations.keys().copied().filter(|location| settings.serves(pickup, *location)).collect();
    served.sort_unstable();
    served
}
