//! Everything that the decision needs, in one round trip, for one scan or for all scans of a batch. The item is locked
//! first, so that facts read after it stay valid until the end of the transaction.

use super::{CheckInRequest, Scan};
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, queue};
use crate::lost_items::may_have_fees;
use crate::records::loans::OPEN;
use crate::settings::CirculationSettings;
use carrel_platform::batcher::{Gathered, RunAlone, bind_texts};
use carrel_platform::{Json, Pipeline, Tenant, Tx};
use carrel_records::Failure;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};
use tokio_postgres::Row;
use uuid::Uuid;

/// The facts of the decision.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub item: Option<ItemAtDesk>,
    /// The item's open loan as stored.
    pub loan: Option<Map<String, Value>>,
    pub patron: Option<Patron>,
    pub queue: Vec<QueuedRequest>,
    /// The last loan of a lost item without an open loan.
    pub last_loan: Option<LastLoan>,
}

impl Facts {
    /// The loan during which the item was lost, if fees for the loss may have to be refunded.
    pub fn lost_loan(&self) -> Option<Uuid> {
        self.item.as_ref().filter(|item| may_have_fees(&item.status))?;
        match &self.loan {
            Some(loan) => loan.get("id").and_then(Value::as_str).and_then(|id| Uuid::parse_str(id).ok()),
            None => self.last_loan.map(|last| last.id),
        }
    }
}

/// The properties of a lost item's last loan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastLoan {
    pub id: Uuid,
    /// The item was declared lost or aged to lost during the loan.
    pub was_lost: bool,
}

/// Locks the item, reads all facts, and updates the settings to the version that was read with the facts.
///
/// Most items have no queue, and the queue is known only once the item has been read. If an item has a queue that is
/// not locked yet, a third round trip reads the facts again with the queue locked first, since queues are locked before
/// items.
pub async fn gather(
    tenant: &Arc<Tenant>,
    command: &CheckInRequest,
    mut locked_queue: Option<Uuid>,
) -> Result<(Tx, Facts, Arc<CirculationSettings>), Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    loop {
        let mut tx = tenant.begin().await?;
        let mut pipeline = Pipeline::new();
        if let Some(queue) = locked_queue {
            queue::lock(&mut pipeline, queue);
        }
        let barcode = command.item_barcode.as_str();
        pipeline.add(LOCK_ITEM.as_str(), vec![barcode.into()]);
        let title_level = cached.settings.title_level_requests.enabled();
        let facts = pipeline.add(select(false, title_level, locked_queue.is_some()), vec![barcode.into()]);
        let results = tx.send(pipeline).await?;
        let row = item::one_row_each(results.rows(facts)).into_iter().next();
        let row = row.ok_or_else(|| Failure::internal("facts are one row"))?;
        cached.refresh(tenant, &mut tx, row).await?;
        // The statement was chosen by older settings: retry with the new ones.
        if cached.settings.title_level_requests.enabled() != title_level {
            continue;
        }
        let mut has_queue: bool = row.get("has_queue");
        let mut facts = read(row)?;
        if let Some(item) = facts.item.as_ref().filter(|item| title_level && item.is_of_another_library()) {
            queue::add_promised(&mut tx, item, &mut facts.queue).await?;
            has_queue |= !facts.queue.is_empty();
        }
        if let (true, Some(item)) = (has_queue, &facts.item) {
            let queue = queue::of_item(title_level, item, &facts.queue);
            if queue != locked_queue {
                locked_queue = queue;
                continue;
            }
        }
        return Ok((tx, facts, cached.settings));
    }
}

/// Locks the items that no other transaction has locked, without waiting, and reads the facts of their scans.
pub async fn gather_free(tenant: &Arc<Tenant>, scans: &[Arc<Scan>]) -> Result<Gathered<Scan>, Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    let title_level = cached.settings.title_level_requests.enabled();
    let several = scans.len() > 1;
    let barcodes = bind_texts(scans.iter().map(|scan| scan.command.item_barcode.clone()).collect());
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let lock = if several { LOCK_SEVERAL_FREE.as_str() } else { LOCK_FREE.as_str() };
    let locked = pipeline.add(lock, vec![barcodes.clone()]);
    let rows = pipeline.add(select(several, title_level, false), vec![barcodes]);
    let results = tx.send(pipeline).await?;
    let locked: HashSet<i64> = results.rows(locked).iter().map(|row| row.get("number")).collect();
    if let Some(row) = results.first(rows) {
        cached.refresh(tenant, &mut tx, row).await?;
    }
    let mut facts: Vec<Result<Facts, RunAlone>> = scans.iter().map(|_| Err(RunAlone::default())).collect();
    // The statement was chosen by older settings: each scan reads its facts again.
    if cached.settings.title_level_requests.enabled() != title_level {
        return Ok(Gathered { tx, facts, settings: cached.settings });
    }
    let mut items = HashSet::new();
    for row in item::one_row_each(results.rows(rows)) {
        let number: i64 = row.get("number");
        let read = read(row)?;
        let may_go = read.item.as_ref().is_none_or(|item| {
            locked.contains(&number)
                && items.insert(item.id)
                && !may_have_fees(&item.status)
                && !(title_level && item.is_of_another_library())
        });
        let queued = read.item.as_ref().filter(|_| row.get("has_queue"));
        facts[number as usize - 1] = match queued {
            Some(item) => Err(RunAlone { lock_first: queue::of_item(title_level, item, &[]) }),
            None if may_go => Ok(read),
            None => Err(RunAlone::default()),
        };
    }
    Ok(Gathered { tx, facts, settings: cached.settings })
}

static LOCK_ITEM: LazyLock<String> = LazyLock::new(|| item::lock("$1::text"));
static LOCK_FREE: LazyLock<String> = LazyLock::new(|| format!("{} SKIP LOCKED", *LOCK_ITEM));
static LOCK_SEVERAL_FREE: LazyLock<String> = LazyLock::new(|| item::lock_free_of("$1::text[]"));

/// The statement that reads the facts of one scan or of several, with the queue or only whether there is one; each is
/// built once.
fn select(several: bool, title_level: bool, queue: bool) -> &'static str {
    static STATEMENTS: LazyLock<[[[String; 2]; 2]; 2]> = LazyLock::new(|| {
        [false, true].map(|several| {
            [false, true].map(|title_level| [false, true].map(|queue| statement(several, title_level, queue)))
        })
    });
    &STATEMENTS[usize::from(several)][usize::from(title_level)][usize::from(queue)]
}

/// The open loan is a lateral subquery with a limit: the planner may turn a plain join into one that reads every open
/// loan.
fn statement(several: bool, title_level: bool, queue: bool) -> String {
    format!(
        "SELECT (SELECT value FROM settings_version WHERE id = 1), loan.doc AS loan, patron.doc AS patron,
             {has_queue} AS has_queue, {queue} AS queue, given.number,
             last_loan.id AS last_loan_id, last_loan.was_lost AS last_loan_was_lost, {columns}
         FROM {given}
         LEFT JOIN ({tables}) ON {item}
         LEFT JOIN LATERAL (SELECT loan.doc, loan.user_id FROM loan
             WHERE loan.item_id = item.id AND loan.{OPEN} LIMIT 1) loan ON true
         LEFT JOIN users patron ON patron.id = loan.user_id
         LEFT JOIN LATERAL (SELECT last.id, coalesce(last.doc->>'declaredLostDate',
                 last.doc->'agedToLostDelayedBilling'->>'agedToLostDate') IS NOT NULL AS was_lost
             FROM loan last WHERE last.item_id = item.id AND item_state.status IN {LOST}
             ORDER BY last.doc->>'loanDate' DESC LIMIT 1) last_loan ON true",
        has_queue = queue::exists_sql(title_level),
        queue = if queue { queue::sql(title_level) } else { "NULL::jsonb" },
        columns = item::COLUMNS,
        given = match several {
            false => "(SELECT $1::text, 1::bigint) given (barcode, number)",
            true => "unnest($1::text[]) WITH ORDINALITY given (barcode, number)",
        },
        tables = item::TABLES,
        item = item::barcode_is("given.barcode"),
    )
}

/// Statuses of items that are lost, as SQL.
const LOST: &str = "('Declared lost', 'Aged to lost', 'Lost and paid')";

fn read(row: &Row) -> Result<Facts, Failure> {
    let loan = match row.get::<_, Option<Json>>("loan").map(|json| json.parse()) {
        Some(Value::Object(loan)) => Some(loan),
        _ => None,
    };
    let last_loan: Option<Uuid> = row.get("last_loan_id");
    Ok(Facts {
        loan,
        patron: Patron::at(row, "patron")?,
        queue: queue::read(row.get("queue"))?,
        item: ItemAtDesk::of(row)?,
        last_loan: last_loan.map(|id| LastLoan { id, was_lost: row.get("last_loan_was_lost") }),
    })
}
