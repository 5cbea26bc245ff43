//! Deletes requests, one or all.
//!
//! Routes: `DELETE /circulation/requests/{id}`, `DELETE /circulation/requests`.

use super::change::change_status;
use super::lock::{LockQuery, lock_request};
use super::read::unknown;
use carrel_circulation::records::requests::REQUEST;
use carrel_loan_rules::request::{self, RequestType};
use carrel_loan_rules::request_queue::without;
use carrel_platform::record_store::{routes, write as records};
use carrel_platform::{Answer, Json, Pipeline, Router};
use carrel_records::{Failure, ItemStatus};
use serde_json::Value;

pub fn connect(router: &mut Router) {
    router.on("DELETE", "/circulation/requests/{id}", |call| async move {
        let tenant = call.tenant()?;
        let id = call.id(0).map_err(|_| unknown(call.parameter(0)))?;
        let wanted = LockQuery { request: id, ..LockQuery::default() };
        let (tx, held, settings) =
            lock_request(tenant, &wanted).await?.ok_or_else(|| unknown(call.parameter(0)))?;
        let mut pipeline = Pipeline::new();
        pipeline.add("DELETE FROM request WHERE id = $1", vec![id.into()]);
        let stored = Json(Value::Object(held.stored.clone()).to_string());
        records::announce_delete(&mut pipeline, tenant, &REQUEST, id, &stored, call.now);
        carrel_circulation::desk::queue::renumber(
            &mut pipeline,
            held.queue_id(&settings),
            &without(&held.queue, id),
        );
        let was_page = request::kind(&held.stored) == Some(RequestType::Page);
        let item = held.item(held.stored_item()).map(|candidate| &candidate.item);
        if let Some(item) = item.filter(|item| was_page && item.status == ItemStatus::Paged) {
            let others = held.queue.iter().any(|other| other.id != id && other.item_id == Some(item.id));
            change_status(&mut pipeline, Some(item.id), (!others).then_some(ItemStatus::Available), call.now);
        }
        tx.send_and_commit(pipeline).await?;
        Ok::<_, Failure>(Answer::no_content())
    });
    router.on("DELETE", "/circulation/requests", |call| routes::delete_many(&REQUEST, call));
}
