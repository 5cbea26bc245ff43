//! Everything that the decision wants to know, in one flight: patron and item are locked first, so that what
//! is read after them holds until the end of the transaction.

use super::Order;
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, patron, queue};
use crate::patron_blocks::{self, Action};
use crate::rulebook::Rulebook;
use carrel_platform::database::DatabaseError;
use carrel_platform::{Flight, Json, Tenant, Tx};
use carrel_records::{Failure, Refusal};
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use uuid::Uuid;

/// What is known when the decision is made.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub patron: Option<Patron>,
    pub proxy: Option<Patron>,
    /// The proxy relations between the two, as stored.
    pub proxy_relations: Vec<Value>,
    pub manual_blocks: Vec<Value>,
    /// What the patron has and owes, where some limit is held against it.
    pub counted: Option<patron_blocks::Facts>,
    pub item: Option<ItemAtDesk>,
    pub item_has_open_loan: bool,
    pub queue: Vec<QueuedRequest>,
    /// Material type and loan type of the patron's open loans, those claimed returned left out.
    pub open_loans: Vec<(Option<Uuid>, Option<Uuid>)>,
    /// Somebody holds the patron's check-out lock in the lock storage.
    pub locked_elsewhere: bool,
}

/// Locks patron and item, reads all facts, and sees to a rulebook that is at least as new as they are.
pub async fn gather(tenant: &Arc<Tenant>, order: &Order) -> Result<(Tx, Facts, Arc<Rulebook>), Failure> {
    let (mut known, mut book) = Rulebook::at_hand(tenant).await?;
    // Most items have no queue; where one is found, the facts are gathered again with the queue held.
    let mut held = None;
    loop {
        let mut tx = tenant.begin().await?;
        let mut flight = Flight::new();
        let user = order.user_barcode.clone().unwrap_or_default();
        let item = order.item_barcode.clone().unwrap_or_default();
        let longest = book.check_out_lock.longest_wait;
        if longest != DEFAULT_WAIT {
            flight.add(
                "SELECT set_config('lock_timeout', $1, true)",
                vec![longest.as_millis().to_string().into()],
            );
        }
        flight.add(LOCK_PATRON.as_str(), vec![user.as_str().into()]);
        if let Some(queue) = held {
            queue::hold(&mut flight, queue);
        }
        flight.add(LOCK_ITEM.as_str(), vec![item.as_str().into()]);
        let title_level = book.title_level_requests.enabled();
        let counts = Action::Borrowing.is_limited(&book);
        let facts = flight.add(
            select(title_level, book.limits_items, counts),
            vec![
                user.into(),
                order.proxy_user_barcode.clone().unwrap_or_default().into(),
                item.into(),
                jiff::Timestamp::now().into(),
            ],
        );
        let landed = tx.fly(flight).await.map_err(|error| busy(error, &book))?;
        crate::check_out_lock::waited(tenant, landed.arrived[facts]);
        let row = landed.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
        let stamp: i64 = row.get(0);
        tenant.saw_stamp(stamp);
        if stamp > known {
            let newer = Rulebook::at_least(tenant, stamp).await?;
            // The facts were gathered in the way that the older settings ask for: then once more.
            let same_way = newer.title_level_requests.enabled() == title_level
                && newer.limits_items == book.limits_items
                && Action::Borrowing.is_limited(&newer) == counts;
            book = newer;
            known = stamp;
            if !same_way {
                continue;
            }
        }
        let mut facts = read(row)?;
        if counts {
            let (loans, fees) = (row.get(9), row.get(10));
            facts.counted = Some(patron_blocks::read(loans, fees, &book, jiff::Timestamp::now()));
        }
        if let (false, Some(item)) = (facts.queue.is_empty(), &facts.item) {
            let queue = queue::id_of(title_level, item.instance_id, Some(item.id));
            if queue != held {
                held = queue;
                continue;
            }
        }
        return Ok((tx, facts, book));
    }
}

/// The wait that connections are born with.
const DEFAULT_WAIT: Duration = Duration::from_millis(7_500);

static LOCK_PATRON: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT 1 FROM users WHERE {} FOR NO KEY UPDATE", patron::barcode_is("users", 1))
});
static LOCK_ITEM: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT 1 FROM item_state WHERE item_id = ANY (ARRAY(SELECT item.id FROM item WHERE {})) FOR NO KEY UPDATE",
        item::barcode_is(1)
    )
});

/// The statement for each way of asking, made once.
fn select(title_level: bool, limits: bool, counts: bool) -> &'static str {
    static WAYS: LazyLock<Vec<String>> =
        LazyLock::new(|| (0..8).map(|way| statement(way & 1 != 0, way & 2 != 0, way & 4 != 0)).collect());
    &WAYS[usize::from(title_level) | usize::from(limits) << 1 | usize::from(counts) << 2]
}

fn statement(title_level: bool, limits: bool, counts: bool) -> String {
    let (counted_loans, counted_fees) = if counts {
        (patron_blocks::open_loans_sql("patron.id"), patron_blocks::open_fees_sql("patron.id"))
    } else {
        ("NULL::jsonb".to_owned(), "NULL::jsonb".to_owned())
    };
    let open_loans = if limits {
        "(SELECT jsonb_agg(jsonb_build_array(lent.doc->>'materialTypeId',
                    coalesce(lent.doc->>'temporaryLoanTypeId', lent.doc->>'permanentLoanTypeId')))
          FROM loan JOIN item lent ON lent.id = loan.item_id
          JOIN item_state lent_state ON lent_state.item_id = lent.id
          WHERE loan.user_id = patron.id AND loan.is_open AND lent_state.status <> 'Claimed returned')"
    } else {
        "NULL::jsonb"
    };
    format!(
        "SELECT (SELECT value FROM stamp WHERE id = 1), patron.doc, proxy.doc,
            (SELECT jsonb_agg(p.doc) FROM proxyfor p
              WHERE p.user_id = patron.id AND p.proxy_user_id = proxy.id),
            (SELECT jsonb_agg(b.doc) FROM manualblocks b WHERE b.user_id = patron.id),
            EXISTS (SELECT 1 FROM loan WHERE loan.item_id = item.id AND loan.is_open),
            {queue}, {open_loans},
            EXISTS (SELECT 1 FROM check_out_lock l WHERE l.user_id = patron.id AND l.expires > $4),
            {counted_loans}, {counted_fees}, {columns}
         FROM (SELECT 1) one
         LEFT JOIN users patron ON {patron}
         LEFT JOIN users proxy ON $2 <> '' AND {proxy}
         LEFT JOIN ({tables}) ON {item}",
        queue = queue::sql(title_level),
        columns = item::COLUMNS,
        tables = item::TABLES,
        patron = patron::barcode_is("patron", 1),
        proxy = patron::barcode_is("proxy", 2),
        item = item::barcode_is(3),
    )
}

fn read(row: &tokio_postgres::Row) -> Result<Facts, Failure> {
    let user = |place: usize| row.get::<_, Option<Json>>(place).map(|json| Patron::read(&json)).transpose();
    let many = |place: usize| match row.get::<_, Option<Json>>(place).map(|json| json.parse()) {
        Some(Value::Array(values)) => values,
        _ => Vec::new(),
    };
    Ok(Facts {
        patron: user(1)?,
        proxy: user(2)?,
        proxy_relations: many(3),
        manual_blocks: many(4),
        item_has_open_loan: row.get(5),
        queue: queue::read(row.get(6))?,
        open_loans: many(7)
            .iter()
            .map(|pair| {
                let id = |place: usize| pair[place].as_str().and_then(|id| Uuid::parse_str(id).ok());
                (id(0), id(1))
            })
            .collect(),
        locked_elsewhere: row.get(8),
        item: ItemAtDesk::read(row, 11)?,
        counted: None,
    })
}

/// Another check-out of the patron takes too long.
fn busy(error: DatabaseError, book: &Rulebook) -> Failure {
    if error.is_lock_timeout() && book.check_out_lock.enabled {
        return Refusal::new("unable to acquire lock").with("", "").into();
    }
    error.into()
}
