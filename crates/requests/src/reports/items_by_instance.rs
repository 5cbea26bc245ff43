//! An instance with all its items, for clients in which staff choose an item.
//!
//! Route: `GET /circulation/items-by-instance?query=…`, a query over instances; the answer is the first match, or `{}`.

use carrel_circulation::desk::ItemAtDesk;
use carrel_circulation::desk::item::{COLUMNS, TABLES};
use carrel_circulation::settings::CirculationSettings;
use carrel_inventory::records::instances::INSTANCE;
use carrel_platform::http::pretty;
use carrel_platform::record_store::read::{self, Count, PageRequest};
use carrel_platform::{Answer, Router, Tenant, stand_in};
use carrel_records::Failure;
use serde_json::{Value, json};
use std::sync::LazyLock;
use uuid::Uuid;

pub fn connect(router: &mut Router) {
    router.on("GET", "/circulation/items-by-instance", |call| async move {
        let text = call.query.get("query").map(str::trim).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| Failure::Invalid("query is empty".into()))?;
        let requested =
            PageRequest { query: Some(read::parse(text)?), limit: 1, offset: 0, count: Count::Unwanted };
        let tenant = call.tenant()?;
        if tenant.profile.stand_ins
            && let Some(title) = given_by_suite(tenant, text).await?
        {
            return Ok(Answer::json_bytes(pretty(&title)));
        }
        let settings = CirculationSettings::of(tenant).await?;
        let connection = tenant.reader().await?;
        let page = read::list(&connection, &INSTANCE, &call.node.records, &requested).await?;
        let Some(title) = page.documents.first() else { return Ok(Answer::json_bytes(pretty(&json!({})))) };
        let mut title = title.parse();
        let id = title["id"].as_str().and_then(|id| Uuid::parse_str(id).ok());
        let rows = connection.query(OF_TITLE.as_str(), vec![id.into()]).await?;
        let mut items = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(item) = ItemAtDesk::read(row, 0)? else { continue };
            let mut shown = item.summary(&settings, &item.status);
            shown["tenantId"] = tenant.id.as_str().into();
            items.push(shown);
        }
        title["tenantId"] = tenant.id.as_str().into();
        title["items"] = Value::Array(items);
        Ok(Answer::json_bytes(pretty(&title)))
    });
    router.on_stand_in(
        "POST",
        "/search/instances",
        |call| async move { stand_in::keep(&call, IN_SEARCH).await },
    );
    router.on_stand_in("PUT", "/search/instances/{id}", |call| async move {
        stand_in::keep_addressed(&call, IN_SEARCH).await
    });
    router.on_stand_in("DELETE", "/search/instances", |call| async move {
        stand_in::forget(&call, IN_SEARCH).await
    });
}

const IN_SEARCH: &str = "title in the search index";

/// An instance of several tenants, as a test suite has defined it in the simulated search index.
async fn given_by_suite(tenant: &Tenant, query: &str) -> Result<Option<Value>, Failure> {
    let titles = stand_in::kept(tenant, IN_SEARCH).await?;
    let is_asked_for = |title: &Value| {
        title["id"].as_str().is_some_and(|id| query.contains(id)) && title["items"].is_array()
    };
    Ok(titles.into_iter().find(is_asked_for))
}

static OF_TITLE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS} FROM {TABLES} WHERE holdings_record.instance_id = $1
         ORDER BY item.doc->'metadata'->>'createdDate', item.id"
    )
});
