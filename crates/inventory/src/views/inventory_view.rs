//! Instances with their holdings records and items.

use super::field_prefix::replace_prefix;
use super::{AS_READ, is_asked, titles, unless_empty};
use crate::item_state::{DOCUMENT, FROM};
use crate::records::instances::INSTANCE;
use carrel_platform::record_store::read::{Page, PageRequest};
use carrel_platform::record_store::stream;
use carrel_platform::{Answer, Call};
use carrel_records::Failure;

/// `GET /inventory-view/instances`.
pub async fn list(call: Call) -> Result<Answer, Failure> {
    let mut requested = PageRequest::read(&call.query)?;
    requested.query = requested.query.map(|query| replace_prefix(query, "instance.", ""));
    let with_bound_items = is_asked(&call.query, "withBoundedItems");
    let select = |page: &str| select(page, with_bound_items);
    stream::composed(&call, &INSTANCE, &requested, ("instances", Page::closing), select).await
}

fn select(page: &str, with_bound_items: bool) -> String {
    let bound = match with_bound_items {
        true => {
            "UNION SELECT part.item_id FROM holdings_record held
                 JOIN bound_with_part part ON part.holdings_record_id = held.id WHERE held.instance_id = page.id"
        }
        false => "",
    };
    let records = "SELECT jsonb_build_object('holdingsRecords', jsonb_agg(held.doc ORDER BY held.id))
         FROM holdings_record held WHERE held.instance_id = page.id HAVING count(*) > 0";
    let items = format!(
        "SELECT jsonb_build_object('items', jsonb_agg({DOCUMENT} ORDER BY item.id))
         FROM (SELECT one.id FROM holdings_record held JOIN item one ON one.holdings_record_id = held.id
               WHERE held.instance_id = page.id {bound}) wanted JOIN ({FROM}) ON item.id = wanted.id
         HAVING count(*) > 0"
    );
    format!(
        "SELECT jsonb_build_object('instanceId', page.id, 'isBoundWith', EXISTS (
                 SELECT 1 FROM holdings_record held JOIN bound_with_part part ON part.holdings_record_id = held.id
                 WHERE held.instance_id = page.id), 'instance', page.document)
             || {records} || {items}
         FROM {page} {AS_READ}",
        records = unless_empty(records),
        items = unless_empty(&items),
        page = titles(page),
    )
}
