//! Lists, refreshes and versions in the form of the API; absent values are omitted.

use super::store::{List, Version};
use crate::engine::jobs::Job;
use carrel_records::time;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::{Uuid, uuid};

/// The author of the lists that every tenant starts with.
const SYSTEM: Uuid = uuid!("7eb41f7c-ec2f-4637-8ceb-2e9573666ad0");

struct Shown(Map<String, Value>);

impl Shown {
    /// What is shown of a list everywhere.
    fn of(list: &List) -> Shown {
        let mut shown = Shown(Map::new());
        shown.put("id", list.id.to_string());
        shown.put("name", list.name.as_str());
        shown.put("entityTypeId", list.entity_type_id.to_string());
        shown.put_user(None, "createdByUsername", list.created_by, &list.created_by_name);
        shown.put_time("createdDate", Some(list.created_date));
        shown.put("isActive", list.is_active);
        shown.put("isPrivate", list.is_private);
        shown.put("isCanned", list.is_canned);
        shown.put("isDeleted", list.is_deleted);
        shown.put_user(Some("updatedBy"), "updatedByUsername", list.updated_by, &list.updated_by_name);
        shown.put_time("updatedDate", list.updated_date);
        shown
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        match value.into() {
            Value::Null => {}
            value => {
                self.0.insert(name.to_owned(), value);
            }
        }
    }

    fn put_user(&mut self, id_name: Option<&str>, name_name: &str, id: Option<Uuid>, name: &Option<String>) {
        let Some(id) = id else { return };
        if let Some(id_name) = id_name {
            self.put(id_name, id.to_string());
        }
        let system = (id == SYSTEM).then(|| "System".to_owned());
        self.put(name_name, name.clone().or(system).unwrap_or_else(|| id.to_string()));
    }

    fn put_time(&mut self, name: &str, instant: Option<Timestamp>) {
        self.put(name, instant.map(time::format));
    }
}

/// A list with all properties.
pub fn whole(list: &List) -> Value {
    let mut shown = Shown::of(list);
    shown.put("description", list.description.clone());
    shown.put("fqlQuery", list.fql_query.clone());
    shown.put("fields", list.fields.clone());
    shown.put("createdBy", list.created_by.map(|id| id.to_string()));
    shown.put("successRefresh", list.success.as_ref().map(refresh));
    shown.put("inProgressRefresh", list.open_refresh.as_ref().map(refresh));
    shown.put("failedRefresh", list.failed.as_ref().map(refresh));
    shown.put("version", list.version);
    shown.put("refreshEverySeconds", list.refresh_every);
    Value::Object(shown.0)
}

/// A list in a collection.
pub fn summary(list: &List) -> Value {
    let mut shown = Shown::of(list);
    if let Some(success) = &list.success {
        shown.put("recordsCount", success.records);
        shown.put_time("refreshedDate", success.ended);
        shown.put_user(None, "refreshedByUsername", success.user_id, &success.user_name);
    }
    shown.put("isRefreshing", list.open_refresh.is_some());
    shown.put("latestRefreshFailed", list.failed.is_some());
    Value::Object(shown.0)
}

/// A refresh.
pub fn refresh(job: &Job) -> Value {
    let mut shown = Shown(Map::new());
    shown.put("id", job.id.to_string());
    shown.put("listId", job.list_id.map(|id| id.to_string()));
    shown.put("status", job.status());
    shown.put_time("refreshStartDate", Some(job.created));
    shown.put_time("refreshEndDate", job.ended);
    shown.put_user(Some("refreshedBy"), "refreshedByUsername", job.user_id, &job.user_name);
    shown.put("recordsCount", job.records);
    shown.put("contentVersion", job.content_version.unwrap_or(0));
    shown.put("listVersion", job.list_version);
    if let Some(code) = &job.code {
        shown.put("error", json!({"code": code, "message": job.message}));
    }
    Value::Object(shown.0)
}

/// A version of a list.
pub fn version(version: &Version) -> Value {
    let mut shown = Shown(Map::new());
    let id = Uuid::new_v5(&version.list_id, &version.version.to_be_bytes());
    shown.put("id", id.to_string());
    shown.put("listId", version.list_id.to_string());
    shown.put("version", version.version);
    shown.put("name", version.name.as_str());
    shown.put("description", version.description.clone());
    shown.put("fqlQuery", version.fql_query.clone());
    shown.put("fields", version.fields.clone());
    shown.put("isActive", version.is_active);
    shown.put("isPrivate", version.is_private);
    shown.put_user(Some("updatedBy"), "updatedByUsername", version.updated_by, &version.updated_by_name);
    shown.put_time("updatedDate", Some(version.updated_date));
    Value::Object(shown.0)
}
