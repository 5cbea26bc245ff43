//! Preceding and succeeding titles: a link refers to at least one instance of the tenant.
//!
//! Routes: POST and PUT of `/preceding-succeeding-titles`; PUT `/preceding-succeeding-titles/instances/{id}`, which
//! replaces all links of an instance.

use crate::fields::filled;
use crate::records::instances::INSTANCE_PRECEDING_SUCCEEDING_TITLE as TITLE;
use crate::store;
use crate::validated_records;
use carrel_platform::record_store::write::{self, Document};
use carrel_platform::{Answer, Call, Pipeline, Router};
use carrel_records::{Failure, Refusal};
use serde_json::Value;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    validated_records::connect(router, &TITLE, refusals);
    router.on("PUT", "/preceding-succeeding-titles/instances/{id}", replace_all);
}

fn refusals(link: &Document) -> Vec<Refusal> {
    if filled(link, "precedingInstanceId").is_some() || filled(link, "succeedingInstanceId").is_some() {
        return Vec::new();
    }
    vec![
        Refusal::new("The precedingInstanceId and succeedingInstanceId can't be empty at the same time")
            .with("", "")
            .of_storage(),
    ]
}

async fn replace_all(call: Call) -> Result<Answer, Failure> {
    let instance = call.id(0)?;
    let text = instance.to_string();
    let Some(Value::Array(links)) = call.object()?.remove("precedingSucceedingTitles") else {
        return Err(Failure::Invalid("The body must hold an array \"precedingSucceedingTitles\"".into()));
    };
    let mut rows = Vec::with_capacity(links.len());
    for link in links {
        let Value::Object(mut link) = link else {
            return Err(Failure::Invalid("\"precedingSucceedingTitles\" must hold JSON objects".into()));
        };
        let is_ours = |name: &str| filled(&link, name).is_some_and(|id| id.eq_ignore_ascii_case(&text));
        if !is_ours("precedingInstanceId") && !is_ours("succeedingInstanceId") {
            return Err(Refusal::new(format!(
                "The precedingInstanceId or succeedingInstanceId should contain instanceId [{instance}]"
            ))
            .with("precedingInstanceId or succeedingInstanceId", "")
            .of_storage()
            .into());
        }
        write::check(&TITLE, &mut link, &call.caller)?;
        let ready = write::complete_new(&TITLE, link, &call.caller, call.now)?;
        rows.push((ready.id, Value::Object(ready.document).to_string()));
    }
    let mut pipeline = Pipeline::new();
    pipeline.add(
        "DELETE FROM preceding_succeeding_title WHERE preceding_instance_id = $1 OR succeeding_instance_id = $1",
        vec![instance.into()],
    );
    store::insert(&mut pipeline, TITLE.table, rows);
    call.tenant()?.begin().await?.send_and_commit(pipeline).await.map_err(|error| {
        if error.is_foreign_key_violation() {
            return Failure::NotFound("Instance not found".into());
        }
        store::constraint_failure(&TITLE, error, std::iter::empty())
    })?;
    Ok(Answer::no_content())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_link_belongs_to_an_instance() {
        let faults = |link: Value| refusals(link.as_object().expect("an object")).len();
        assert_eq!(faults(json!({"title": "Old"})), 1);
        assert_eq!(faults(json!({"precedingInstanceId": "x"})), 0);
        assert_eq!(faults(json!({"succeedingInstanceId": "x"})), 0);
    }
}
