//! Everything that the decision wants to know, in one flight: the item is locked first, so that what is read
//! after it holds until the end of the transaction.

use super::Order;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, queue};
use crate::records::loans::OPEN;
use crate::rulebook::Rulebook;
use carrel_platform::{Flight, Json, Tenant, Tx};
use carrel_records::Failure;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

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
pub async fn gather(tenant: &Arc<Tenant>, order: &Order) -> Result<(Tx, Facts, Arc<Rulebook>), Failure> {
    let mut at_hand = Rulebook::at_hand(tenant).await?;
    // Most items have no queue, and a scan knows its queue only with its item. Where it finds one, a third
    // flight gathers the facts again with the queue held first, as queues are locked before items.
    let mut held = None;
    loop {
        let mut tx = tenant.begin().await?;
        let mut flight = Flight::new();
        if let Some(queue) = held {
            queue::hold(&mut flight, queue);
        }
        let barcode = order.item_barcode.as_str();
        flight.add(LOCK_ITEM.as_str(), vec![barcode.into()]);
        let title_level = at_hand.book.title_level_requests.enabled();
        let facts = flight.add(select(title_level, held.is_some()), vec![barcode.into()]);
        let landed = tx.fly(flight).await?;
        let row = landed.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
        at_hand.keep_up(tenant, row).await?;
        // The queue was read in the way that older settings ask for: then once more.
        if at_hand.book.title_level_requests.enabled() != title_level {
            continue;
        }
        let mut has_queue: bool = row.get(3);
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

static LOCK_ITEM: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT 1 FROM item_state WHERE item_id = ANY (ARRAY(SELECT item.id FROM item WHERE {})) FOR NO KEY UPDATE",
        item::barcode_is(1)
    )
});

/// The statement for each way of asking, made once: with the queue, or only whether there is one.
fn select(title_level: bool, queue: bool) -> &'static str {
    static WAYS: LazyLock<[String; 4]> = LazyLock::new(|| {
        [(false, false), (false, true), (true, false), (true, true)]
            .map(|(title_level, queue)| statement(title_level, queue))
    });
    &WAYS[usize::from(title_level) << 1 | usize::from(queue)]
}

fn statement(title_level: bool, queue: bool) -> String {
    format!(
        "SELECT (SELECT value FROM stamp WHERE id = 1), loan.doc, patron.doc, {has_queue}, {queue}, {columns}
         FROM (SELECT 1) one
         LEFT JOIN ({tables}) ON {item}
         LEFT JOIN loan ON loan.item_id = item.id AND loan.{OPEN}
         LEFT JOIN users patron ON patron.id = loan.user_id",
        has_queue = queue::exists_sql(title_level),
        queue = if queue { queue::sql(title_level) } else { "NULL::jsonb" },
        columns = item::COLUMNS,
        tables = item::TABLES,
        item = item::barcode_is(1),
    )
}

fn read(row: &tokio_postgres::Row) -> Result<Facts, Failure> {
    let loan = match row.get::<_, Option<Json>>(1).map(|json| json.parse()) {
        Some(Value::Object(loan)) => Some(loan),
        _ => None,
    };
    Ok(Facts {
        loan,
        patron: Patron::at(row, 2)?,
        queue: queue::read(row.get(4))?,
        item: ItemAtDesk::read(row, 5)?,
    })
}
