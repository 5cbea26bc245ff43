//! Putting a queue into another order.
//!
//! Routes: `POST /circulation/requests/queue/{item|instance}/{id}/reorder`. Which of the two is allowed depends
//! on whether titles are asked for: a library has queues of titles or of items.

use super::hold::{WAITING, waiting};
use super::queue::{Of, Waiting, reordered};
use super::read;
use crate::desk::queue;
use crate::rulebook::Rulebook;
use carrel_platform::{Answer, Call, Flight, Router};
use carrel_records::{Failure, Refusal};
use serde::Deserialize;
use uuid::Uuid;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wishes {
    reordered_queue: Vec<Wish>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wish {
    id: Uuid,
    new_position: i64,
}

pub fn connect(router: &mut Router) {
    router.on("POST", "/circulation/requests/queue/item/{id}/reorder", |call| reorder(call, Of::Item));
    router
        .on("POST", "/circulation/requests/queue/instance/{id}/reorder", |call| reorder(call, Of::Instance));
}

async fn reorder(call: Call, of: Of) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let wishes: Wishes = call.read_json()?;
    let wishes: Vec<(Uuid, i64)> =
        wishes.reordered_queue.into_iter().map(|wish| (wish.id, wish.new_position)).collect();
    let id = call.id(0)?;
    let (which, record, key) = match of {
        Of::Item => {
            ("r.item_id = $1 AND coalesce(r.doc->>'requestLevel', 'Item') = 'Item'", "Item", "itemId")
        }
        Of::Instance => ("r.instance_id = $1", "Instance", "instanceId"),
    };
    let mut tx = tenant.begin().await?;
    let mut flight = Flight::new();
    let stamp = flight.add("SELECT value FROM stamp WHERE id = 1", vec![]);
    queue::hold(&mut flight, id);
    let rows = flight.add(format!("{WAITING} {which} ORDER BY r.position"), vec![id.into()]);
    let landed = tx.fly(flight).await?;
    let stamp: i64 = landed.first(stamp).map_or(0, |row| row.get(0));
    let book = Rulebook::at_least(tenant, stamp).await?;
    let titles = book.title_level_requests.enabled();
    if titles != (of == Of::Instance) {
        let status = if titles { "ENABLED" } else { "DISABLED" };
        return Err(Refusal::new(format!(
            "Refuse to reorder request queue, TLR feature status is {status}."
        ))
        .with(key, id.to_string())
        .into());
    }
    let queue: Vec<Waiting> = landed.rows(rows).iter().map(waiting).collect();
    if queue.is_empty() {
        return Err(Failure::NotFound(format!("{record} record with ID \"{id}\" cannot be found")));
    }
    let moves = reordered(&queue, &wishes, of)?;
    let mut flight = Flight::new();
    queue::renumber(&mut flight, Some(id), &moves);
    tx.fly_and_commit(flight).await?;
    // The queue is shown with all that surrounds its requests, which the change needs not know.
    let requests = read::queue(&tenant.writer().await?, of, id).await?;
    Ok(read::collection(&requests, requests.len() as i64, &book))
}
