//! Reopens the request that an item was to fulfill, when staff mark the item as missing, withdrawn and the like.
//!
//! Runs in the transaction that marks the item. Changes the request and announces `circulation.request`.

use carrel_inventory::mark_item::ItemMarked;
use carrel_platform::Changes;
use carrel_platform::transaction_listeners::Outcome;
use carrel_records::time;

/// The request waits for an item again, unless its time on the hold shelf is over.
pub fn reopen_request<'a>(changes: &'a mut Changes<'_>, marked: &'a mut ItemMarked) -> Outcome<'a> {
    const REOPENED: &str = "jsonb_set(doc || '{\"status\": \"Open - Not yet filled\"}'::jsonb,
             '{metadata,updatedDate}', to_jsonb($2::text))";
    const FILLED_BY_THE_ITEM: &str = "item_id = $1
             AND doc->>'status' IN ('Open - Awaiting pickup', 'Open - Awaiting delivery', 'Open - In transit')
             AND coalesce(carrel.instant(doc->>'holdShelfExpirationDate') >= $3, true)";
    let (item, now) = (marked.item, changes.now);
    let when = time::format(now);
    // Read before it is changed: the event has the old version, too.
    changes.pipeline.add(
        format!(
            "INSERT INTO outbox (topic, key, payload, created)
             SELECT 'circulation.request', id::text,
                 jsonb_build_object('type', 'UPDATE', 'tenant', $4::text, 'old', doc, 'new', {REOPENED}), $3
             FROM request WHERE {FILLED_BY_THE_ITEM}"
        ),
        vec![item.into(), when.as_str().into(), now.into(), changes.tenant.id.as_str().into()],
    );
    changes.pipeline.add(
        format!("UPDATE request SET doc = {REOPENED} WHERE {FILLED_BY_THE_ITEM}"),
        vec![item.into(), when.into(), now.into()],
    );
    Box::pin(std::future::ready(Ok(())))
}
