//! Everything that the decision wants to know, in one flight: the item is locked first, so that what is read after it
//! holds until the end of the transaction. Of one scan, or of several that go together.

use super::Order;
use crate::desk::company::{self, Gathered};
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, queue};
use crate::records::loans::OPEN;
use crate::rulebook::Rulebook;
use carrel_platform::{Flight, Json, Tenant, Tx};
use carrel_records::Failure;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};
use tokio_postgres::Row;
use uuid::Uuid;

/// What is known when the decision is made.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub item: Option<ItemAtDesk>,
    /// The item's open loan as stored.
    pub loan: Option<Map<String, Value>>,
    pub patron: Option<Patron>,
    pub queue: Vec<QueuedRequest>,
}

/// Locks the item, reads all facts, and sees to a rulebook that is at least as new as they are.
///
/// Most items have no queue, and a scan knows its queue only with its item. Where it finds one that is not held yet, a
/// third flight gathers the facts again with the queue held first, as queues are locked before items.
pub async fn gather(
    tenant: &Arc<Tenant>,
    order: &Order,
    mut held: Option<Uuid>,
) -> Result<(Tx, Facts, Arc<Rulebook>), Failure> {
    let mut at_hand = Rulebook::at_hand(tenant).await?;
    loop {
        let mut tx = tenant.begin().await?;
        let mut flight = Flight::new();
        if let Some(queue) = held {
            queue::hold(&mut flight, queue);
        }
        let barcode = order.item_barcode.as_str();
        flight.add(LOCK_ITEM.as_str(), vec![barcode.into()]);
        let title_level = at_hand.book.title_level_requests.enabled();
        let facts = flight.add(select(false, title_level, held.is_some()), vec![barcode.into()]);
        let landed = tx.fly(flight).await?;
        let row = landed.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
        at_hand.keep_up(tenant, row).await?;
        // The queue was read in the way that older settings ask for: then once more.
        if at_hand.book.title_level_requests.enabled() != title_level {
            continue;
        }
        let mut has_queue: bool = row.get(HAS_QUEUE);
        let mut facts = read(row)?;
        if let Some(item) = facts.item.as_ref().filter(|item| title_level && item.is_of_another_library()) {
            queue::add_promised(&mut tx, item, &mut facts.queue).await?;
            has_queue |= !facts.queue.is_empty();
        }
        if let (true, Some(item)) = (has_queue, &facts.item) {
            let queue = queue::of_item(title_level, item, &facts.queue);
            if queue != held {
                held = queue;
                continue;
            }
        }
        return Ok((tx, facts, at_hand.book));
    }
}

/// Reads the facts of scans whose items nobody else holds, and locks those, waiting for none.
pub async fn gather_free(tenant: &Arc<Tenant>, orders: &[&Order]) -> Result<Gathered<Facts>, Failure> {
    let mut at_hand = Rulebook::at_hand(tenant).await?;
    let title_level = at_hand.book.title_level_requests.enabled();
    let several = orders.len() > 1;
    let barcodes = company::given(orders.iter().map(|order| order.item_barcode.clone()).collect());
    let mut tx = tenant.begin().await?;
    let mut flight = Flight::new();
    let lock = if several { LOCK_SEVERAL_FREE.as_str() } else { LOCK_FREE.as_str() };
    let held = flight.add(lock, vec![barcodes.clone()]);
    let facts = flight.add(select(several, title_level, false), vec![barcodes]);
    let landed = tx.fly(flight).await?;
    let held: HashSet<i64> = landed.rows(held).iter().map(|row| row.get(0)).collect();
    if let Some(row) = landed.first(facts) {
        at_hand.keep_up(tenant, row).await?;
    }
    let mut all: Vec<Result<Facts, Option<Uuid>>> = orders.iter().map(|_| Err(None)).collect();
    // The queue was looked for in the way that older settings ask for: then each anew.
    if at_hand.book.title_level_requests.enabled() != title_level {
        return Ok((tx, all, at_hand.book));
    }
    let mut items = HashSet::new();
    for row in landed.rows(facts) {
        let number: i64 = row.get(NUMBER);
        let facts = read(row)?;
        let has_item = facts.item.as_ref().is_none_or(|item| {
            held.contains(&number) && items.insert(item.id) && !(title_level && item.is_of_another_library())
        });
        let queue = facts.item.as_ref().filter(|_| row.get(HAS_QUEUE));
        all[number as usize - 1] = match queue {
            Some(item) => Err(queue::of_item(title_level, item, &[])),
            None if has_item => Ok(facts),
            None => Err(None),
        };
    }
    Ok((tx, all, at_hand.book))
}

static LOCK_ITEM: LazyLock<String> = LazyLock::new(|| item::lock("$1::text"));
static LOCK_FREE: LazyLock<String> = LazyLock::new(|| format!("{} SKIP LOCKED", *LOCK_ITEM));
static LOCK_SEVERAL_FREE: LazyLock<String> = LazyLock::new(|| item::lock_free_of("$1::text[]"));

/// The statement for each way of asking, made once: of one scan or several, with the queue or only whether there is
/// one.
fn select(several: bool, title_level: bool, queue: bool) -> &'static str {
    static WAYS: LazyLock<[String; 8]> =
        LazyLock::new(|| std::array::from_fn(|way| statement(way & 4 != 0, way & 2 != 0, way & 1 != 0)));
    &WAYS[usize::from(several) << 2 | usize::from(title_level) << 1 | usize::from(queue)]
}

/// Columns of the statement: whether a queue waits for the item, and the scan's number among several.
const HAS_QUEUE: usize = 3;
const NUMBER: usize = 5;

fn statement(several: bool, title_level: bool, queue: bool) -> String {
    format!(
        "SELECT (SELECT value FROM stamp WHERE id = 1), loan.doc, patron.doc, {has_queue}, {queue}, given.number,
             {columns}
         FROM {given}
         LEFT JOIN ({tables}) ON {item}
         LEFT JOIN loan ON loan.item_id = item.id AND loan.{OPEN}
         LEFT JOIN users patron ON patron.id = loan.user_id",
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

fn read(row: &Row) -> Result<Facts, Failure> {
    let loan = match row.get::<_, Option<Json>>(1).map(|json| json.parse()) {
        Some(Value::Object(loan)) => Some(loan),
        _ => None,
    };
    Ok(Facts {
        loan,
        patron: Patron::at(row, 2)?,
        queue: queue::read(row.get(4))?,
        item: ItemAtDesk::read(row, NUMBER + 1)?,
    })
}
