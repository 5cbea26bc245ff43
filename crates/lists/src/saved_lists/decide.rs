//! Which actions a list allows, and validation of requests to create or update one.

use super::store::{Content, List};
use crate::answers::Stop;
use crate::answers::lists::{Action, invalid};
use serde_json::{Map, Value};
use uuid::Uuid;

/// Letters of a name, at most.
const LONGEST_NAME: usize = 255;
/// Letters of a description, at most.
const LONGEST_DESCRIPTION: usize = 100_000;
/// Seconds between two automatic refreshes, at least.
const SHORTEST_INTERVAL: i64 = 300;

pub fn refuse_if_private_of_another(list: &List, user: Option<Uuid>, action: Action) -> Result<(), Stop> {
    match list.is_private && list.owner() != user {
        true => Err(action.private(list.id, &list.name)),
        false => Ok(()),
    }
}

pub fn refuse_if_canned(list: &List, action: Action) -> Result<(), Stop> {
    if list.is_canned { Err(action.canned(list.id, &list.name)) } else { Ok(()) }
}

pub fn refuse_if_inactive(list: &List, action: Action) -> Result<(), Stop> {
    if list.is_active { Ok(()) } else { Err(action.inactive(list.id, &list.name)) }
}

pub fn refuse_if_refreshing(list: &List, action: Action) -> Result<(), Stop> {
    match &list.open_refresh {
        Some(refresh) => Err(action.refreshing(list.id, &list.name, refresh.id)),
        None => Ok(()),
    }
}

pub fn refuse_if_exporting(list: &List, action: Action) -> Result<(), Stop> {
    if list.is_exporting { Err(action.exporting(list.id, &list.name)) } else { Ok(()) }
}

pub fn refuse_if_stale(list: &List, version: i64) -> Result<(), Stop> {
    match i64::from(list.version) == version {
        true => Ok(()),
        false => Err(Action::Update.stale(list.id, &list.name, list.version, version)),
    }
}

/// A parsed request to create or update a list.
#[derive(Debug, PartialEq)]
pub struct ListRequest {
    pub entity_type_id: Option<Uuid>,
    /// Without the interval between refreshes.
    pub content: Content,
    pub refresh_every: Schedule,
    pub version: Option<i64>,
    pub query_id: Option<Uuid>,
}

/// The seconds between two automatic refreshes, if any. FOLIO's clients do not know them, so a request that does not
/// mention them leaves them as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    Unchanged,
    Every(Option<i64>),
}

impl Schedule {
    pub fn after(self, stored: Option<i64>) -> Option<i64> {
        match self {
            Schedule::Unchanged => stored,
            Schedule::Every(seconds) => seconds,
        }
    }
}

/// Parses a request's body; returns an error for each invalid property.
pub fn read(body: &Map<String, Value>, is_new: bool) -> Result<ListRequest, Stop> {
    let mut wrong: Vec<String> = Vec::new();
    let text = |name: &str, wrong: &mut Vec<String>| match body.get(name) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            wrong.push(format!("{name}: must be a text"));
            None
        }
    };
    let flag = |name: &str, wrong: &mut Vec<String>| {
        let flag = match body.get(name) {
            Some(Value::Bool(flag)) => Some(*flag),
            // Public test suites send booleans as text.
            Some(Value::String(text)) => text.parse().ok(),
            _ => None,
        };
        flag.unwrap_or_else(|| {
            wrong.push(format!("{name}: must not be null"));
            false
        })
    };
    let id = |name: &str, wrong: &mut Vec<String>| match body.get(name) {
        None | Some(Value::Null) => None,
        Some(value) => {
            let id = value.as_str().and_then(|text| text.parse::<Uuid>().ok());
            if id.is_none() {
                wrong.push(format!("{name}: must be a UUID"));
            }
            id
        }
    };
    let name = text("name", &mut wrong).unwrap_or_default();
    if name.trim().is_empty() || name.chars().count() > LONGEST_NAME {
        wrong.push(format!("name: size must be between 1 and {LONGEST_NAME}"));
    }
    let description = text("description", &mut wrong);
    if description.as_ref().is_some_and(|text| text.len() > LONGEST_DESCRIPTION) {
        wrong.push(format!("description: size must be at most {LONGEST_DESCRIPTION}"));
    }
    let fields = match body.get("fields") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(names)) => {
            let texts: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if texts.len() != names.len() {
                wrong.push("fields: must be names of fields".into());
            }
            texts
        }
        Some(_) => {
            wrong.push("fields: must be names of fields".into());
            Vec::new()
        }
    };
    let entity_type_id = id("entityTypeId", &mut wrong);
    if is_new && entity_type_id.is_none() && wrong.iter().all(|words| !words.starts_with("entityTypeId")) {
        wrong.push("entityTypeId: must not be null".into());
    }
    let version = body.get("version").and_then(Value::as_i64);
    if !is_new && version.is_none() {
        wrong.push("version: must not be null".into());
    }
    let refresh_every = match body.get("refreshEverySeconds") {
        None => Schedule::Unchanged,
        Some(Value::Null) => Schedule::Every(None),
        Some(value) => match value.as_i64().filter(|seconds| *seconds >= SHORTEST_INTERVAL) {
            Some(seconds) => Schedule::Every(Some(seconds)),
            None => {
                wrong.push(format!("refreshEverySeconds: must be a number from {SHORTEST_INTERVAL} on"));
                Schedule::Unchanged
            }
        },
    };
    let requested = ListRequest {
        entity_type_id,
        content: Content {
            name,
            description,
            fql_query: text("fqlQuery", &mut wrong).filter(|text| !text.trim().is_empty()),
            fields,
            is_active: flag("isActive", &mut wrong),
            is_private: flag("isPrivate", &mut wrong),
            refresh_every: None,
        },
        refresh_every,
        version,
        query_id: id("queryId", &mut wrong),
    };
    match wrong.is_empty() {
        true => Ok(requested),
        false => Err(invalid(wrong.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value, is_new: bool) -> Result<ListRequest, String> {
        super::read(body.as_object().expect("an object"), is_new).map_err(|stop| match stop {
            Stop::Answer(answer) => String::from_utf8_lossy(&answer.body).into_owned(),
            Stop::Failure(failure) => failure.to_string(),
        })
    }

    #[test]
    fn booleans_may_be_texts() {
        let body = json!({"name": "a", "isActive": "true", "isPrivate": false, "version": 3});
        let requested = read(body, false).expect("all is there");
        assert!(requested.content.is_active);
        assert_eq!(requested.version, Some(3));
    }

    #[test]
    fn a_schedule_is_changed_by_those_who_mention_it() {
        for (schedule, expected) in [
            (json!({}), Some(600)),
            (json!({"refreshEverySeconds": null}), None),
            (json!({"refreshEverySeconds": 3600}), Some(3600)),
        ] {
            let mut body = json!({"name": "a", "isActive": true, "isPrivate": false, "version": 3});
            body.as_object_mut()
                .into_iter()
                .for_each(|body| body.extend(schedule.as_object().cloned().unwrap_or_default()));
            assert_eq!(read(body, false).expect("all is there").refresh_every.after(Some(600)), expected);
        }
    }

    #[test]
    fn everything_that_is_wrong_is_named() {
        let words = read(json!({"name": "", "isActive": 5, "queryId": "x"}), true).expect_err("it is wrong");
        for name in ["name", "isActive", "isPrivate", "entityTypeId", "queryId"] {
            assert!(words.contains(&format!("{name}: ")), "{name}: {words}");
        }
    }
}
