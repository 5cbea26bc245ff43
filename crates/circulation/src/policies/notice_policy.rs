//! Validation and deletion of patron notice policies.

use super::{Written, message_of, refuse};
use crate::records::notices::PATRON_NOTICE_POLICY;
use carrel_platform::record_store::routes;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Call, Router};
use carrel_records::{Failure, Refusal, RefusalCode};
use serde_json::Value;
use std::sync::Arc;

const ITEM: &str = "/patron-notice-policy-storage/patron-notice-policies/{id}";

pub(super) fn connect(router: &mut Router) {
    // FOLIO quirk: the options of notices are validated when a policy is changed, not when it is created.
    router.on("POST", PATRON_NOTICE_POLICY.path, create);
    router.on("PUT", ITEM, replace);
    router.on("DELETE", ITEM, delete);
}

async fn create(call: Call) -> Written {
    let (tenant, name) = (Arc::clone(call.tenant()?), name_of(&call.object()?));
    let id = call.object()?.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok());
    let written = routes::create(&PATRON_NOTICE_POLICY, call).await;
    message_of(written, &tenant, &PATRON_NOTICE_POLICY, ("name", &name), id, name_is_taken).await
}

async fn replace(call: Call) -> Written {
    refuse(&call, check)?;
    let (tenant, name, id) = (Arc::clone(call.tenant()?), name_of(&call.object()?), call.id(0)?);
    let written = routes::replace(&PATRON_NOTICE_POLICY, call).await;
    message_of(written, &tenant, &PATRON_NOTICE_POLICY, ("name", &name), Some(id), name_is_taken).await
}

async fn delete(call: Call) -> Written {
    let id = call.id(0)?;
    if !call.caller.profile.dangling_references {
        let connection = call.tenant()?.writer().await?;
        let used = connection
            .query(
                "SELECT 1 FROM circulation_rules WHERE strpos(doc->>'rulesAsText', $1) > 0",
                vec![id.to_string().into()],
            )
            .await?;
        if !used.is_empty() {
            return Err(Failure::Conflict("Cannot delete in use notice policy".into()));
        }
    }
    routes::delete(&PATRON_NOTICE_POLICY, call).await
}

fn name_of(document: &Document) -> String {
    document.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn name_is_taken(name: &str) -> Refusal {
    Refusal::new(format!("'{name}' name in not unique")).code(RefusalCode::DuplicateName)
}

/// Conflicting options of loan notices.
fn check(document: &Document) -> Vec<Refusal> {
    let notices = document.get("loanNotices").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    notices.iter().flat_map(check_notice).collect()
}

fn check_notice(notice: &Value) -> Vec<Refusal> {
    let options = &notice["sendOptions"];
    let frequency = &notice["frequency"];
    let is_scheduled = matches!(options["sendWhen"].as_str(), Some("Due date" | "Aged to lost"));
    let mut refusals = Vec::new();
    if !is_scheduled {
        let option = ["sendHow", "sendBy", "sendEvery"].into_iter().find(|option| !options[option].is_null());
        refusals.extend(option.map(|option| not_valid("Triggering event", option, &options[option])));
    } else if !frequency.is_null() && !matches!(options["sendHow"].as_str(), Some("Before" | "After")) {
        refusals.push(not_valid("Send", "frequency", frequency));
    }
    if frequency == "One time" && !options["sendEvery"].is_null() {
        refusals.push(not_valid("Frequency", "sendEvery", &options["sendEvery"]));
    }
    refusals
}

fn not_valid(selected: &str, option: &str, value: &Value) -> Refusal {
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Refusal::new(format!("This option is not valid for selected {selected}")).with(option, shown).of_storage()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusals(frequency: Value, options: Value) -> Vec<(String, String)> {
        let policy = json!({"loanNotices": [{"frequency": frequency, "sendOptions": options}]});
        check(policy.as_object().expect("an object"))
            .into_iter()
            .map(|refusal| (refusal.message, refusal.parameters[0].0.clone()))
            .collect()
    }

    fn refused(selected: &str, option: &str) -> Vec<(String, String)> {
        vec![(format!("This option is not valid for selected {selected}"), option.to_owned())]
    }

    #[test]
    fn a_notice_sent_with_an_action_has_no_options_of_time() {
        let week = json!({"duration": 1, "intervalId": "Weeks"});
        assert_eq!(refusals(Value::Null, json!({"sendWhen": "Check out"})), []);
        assert_eq!(
            refusals(Value::Null, json!({"sendWhen": "Check out", "sendHow": "After", "sendBy": week})),
            refused("Triggering event", "sendHow")
        );
        assert_eq!(
            refusals(Value::Null, json!({"sendWhen": "Renewed", "sendBy": week})),
            refused("Triggering event", "sendBy")
        );
    }

    #[test]
    fn only_notices_before_or_after_a_date_have_a_frequency() {
        assert_eq!(refusals(json!("Recurring"), json!({"sendWhen": "Due date", "sendHow": "Before"})), []);
        assert_eq!(
            refusals(json!("Recurring"), json!({"sendWhen": "Aged to lost", "sendHow": "Upon At"})),
            refused("Send", "frequency")
        );
    }

    #[test]
    fn a_notice_sent_once_is_not_repeated() {
        let every = json!({"duration": 1, "intervalId": "Days"});
        assert_eq!(
            refusals(
                json!("One time"),
                json!({"sendWhen": "Due date", "sendHow": "After", "sendEvery": every})
            ),
            refused("Frequency", "sendEvery")
        );
    }
}
