//! Items of several tenants in one answer: only those of the called tenant are returned.

use crate::fields::id;
use crate::item_state::{DOCUMENT, FROM};
use carrel_platform::database::Json;
use carrel_platform::{Answer, Call};
use carrel_records::{Failure, Refusal};
use serde_json::{Value, json};
use uuid::Uuid;

/// `POST /inventory/tenant-items`.
pub async fn find(call: Call) -> Result<Answer, Failure> {
    let body = call.object()?;
    let Some(Value::Array(pairs)) = body.get("tenantItemPairs") else {
        return Err(Refusal::new("must not be null").with_null("tenantItemPairs").into());
    };
    let tenant = call.tenant()?;
    // Items of other tenants are left out.
    let is_here =
        |pair: &&Value| pair.get("tenantId").is_none_or(|name| name.is_null() || *name == *tenant.id);
    let ids: Vec<Uuid> =
        pairs.iter().filter(is_here).filter_map(|pair| id(pair.as_object()?, "itemId")).collect();
    let sql = format!(
        "SELECT {DOCUMENT} FROM {FROM} JOIN unnest($1::uuid[]) WITH ORDINALITY AS requested (id, position)
             ON requested.id = item.id ORDER BY requested.position"
    );
    let connection = tenant.reader().await?;
    let rows = connection.query(sql, vec![ids.into()]).await?;
    let items: Vec<Value> = rows
        .iter()
        .map(|row| json!({"item": row.get::<_, Json>(0).parse(), "tenantId": tenant.id}))
        .collect();
    Ok(Answer::json(&json!({"tenantItems": items, "totalRecords": items.len()})))
}
