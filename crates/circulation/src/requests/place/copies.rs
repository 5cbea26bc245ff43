//! Facts about all copies of a title at once, where each copy has a queue of its own: so that a wish for whichever
//! copy is decided from one look.

use super::Order;
use super::facts::{Facts, ITEMS_OF_THE_TITLE, Way, candidates, lock, read};
use crate::patron_blocks::Action;
use crate::rulebook::Rulebook;
use carrel_platform::{Bind, Flight, Tenant, Tx};
use carrel_records::Failure;
use std::sync::{Arc, LazyLock};

/// Holds the queues in the order of their ids, as all do who hold several.
static HOLD_QUEUES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "INSERT INTO request_queue (id) SELECT copy.id FROM ({ITEMS_OF_THE_TITLE}) copy (id) ORDER BY copy.id
         ON CONFLICT (id) DO UPDATE SET id = excluded.id WHERE false"
    )
});

/// Locks patron, queues, items and loans, and reads all facts; `None` where the library takes requests for titles.
pub async fn gather(
    tenant: &Arc<Tenant>,
    order: &Order,
) -> Result<Option<(Tx, Facts, Arc<Rulebook>)>, Failure> {
    let mut at_hand = Rulebook::at_hand(tenant).await?;
    loop {
        if at_hand.book.title_level_requests.enabled() {
            return Ok(None);
        }
        let way = Way {
            title_level: false,
            by_item: false,
            copies: true,
            counts: Action::Requesting.is_limited(&at_hand.book),
        };
        let requester: Bind = order.id("requesterId").into();
        let instance: Bind = order.id("instanceId").into();
        let mut tx = tenant.begin().await?;
        let mut flight = Flight::new();
        flight.add("SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE", vec![requester.clone()]);
        flight.add(HOLD_QUEUES.as_str(), vec![instance.clone()]);
        flight.add(lock(true, true), vec![instance.clone()]);
        let facts = flight.add(
            way.around(),
            vec![requester, order.id("proxyUserId").into(), instance.clone(), instance.clone()],
        );
        let copies = flight.add(candidates(true), vec![instance]);
        let landed = tx.fly(flight).await?;
        let row = landed.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
        at_hand.keep_up(tenant, row).await?;
        let book = &at_hand.book;
        // The facts were gathered in the way that older settings ask for: then once more.
        if Action::Requesting.is_limited(book) != way.counts || book.title_level_requests.enabled() {
            continue;
        }
        let facts = read(row, landed.rows(copies), way.counts.then_some(&**book))?;
        return Ok(Some((tx, facts, at_hand.book)));
    }
}
