//! Which tenant of a consortium a user belongs to.
//!
//! Routes: `/user-tenants`, with a filter for each property instead of CQL.

use crate::records::people::USER_TENANT;
use carrel_platform::record_store::{read, write};
use carrel_platform::{Answer, Bind, Call, Json, Pipeline, Router};
use carrel_records::Failure;
use http::StatusCode;

/// Query parameter and SQL expression; user names are compared without case.
const FILTERS: [(&str, &str); 8] = [
    ("userId", "doc->>'userId'"),
    ("username", "lower(doc->>'username')"),
    ("tenantId", "doc->>'tenantId'"),
    ("email", "doc->>'email'"),
    ("phoneNumber", "doc->>'phoneNumber'"),
    ("mobilePhoneNumber", "doc->>'mobilePhoneNumber'"),
    ("barcode", "doc->>'barcode'"),
    ("externalSystemId", "doc->>'externalSystemId'"),
];

pub fn connect(router: &mut Router) {
    router.on("GET", "/user-tenants", list);
    router.on("POST", "/user-tenants", create);
    router.on("DELETE", "/user-tenants", delete);
}

async fn list(call: Call) -> Result<Answer, Failure> {
    let operator = match call.query.get("queryOp") {
        Some(word) if word.eq_ignore_ascii_case("or") => " OR ",
        _ => " AND ",
    };
    let (mut conditions, mut binds) = (Vec::new(), Vec::<Bind>::new());
    for (name, property) in FILTERS {
        if let Some(value) = call.query.get(name).filter(|value| !value.trim().is_empty()) {
            let value = if name == "username" { value.to_lowercase() } else { value.to_owned() };
            binds.push(value.into());
            conditions.push(format!("{property} = ${}", binds.len()));
        }
    }
    let condition = if conditions.is_empty() { "true".to_owned() } else { conditions.join(operator) };
    let limit = call.query.number("limit", 10, 0, i64::from(i32::MAX))?;
    let offset = call.query.number("offset", 0, 0, i64::from(i32::MAX))?;
    let count_binds = binds.len();
    let mut page_binds = binds.clone();
    page_binds.extend([limit.into(), offset.into()]);
    let mut pipeline = Pipeline::new();
    let page = pipeline.add(
        format!(
            "SELECT doc FROM user_tenant WHERE {condition} ORDER BY id LIMIT ${}::bigint OFFSET ${}::bigint",
            count_binds + 1,
            count_binds + 2
        ),
        page_binds,
    );
    let count = pipeline.add(format!("SELECT count(*) AS total FROM user_tenant WHERE {condition}"), binds);
    let results = call.tenant()?.reader().await?.send(pipeline).await?;
    let documents: Vec<Json> = results.rows(page).iter().map(|row| row.get("doc")).collect();
    let total = results.first(count).map_or(0, |row| row.get("total"));
    Ok(Answer::json_bytes(read::Page { documents, total }.to_bytes(&USER_TENANT)))
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let tx = tenant.begin().await?;
    write::create(tx, tenant, &USER_TENANT, call.object()?, &call.caller, call.now).await?;
    Ok(Answer::text(StatusCode::CREATED, ""))
}

/// Deletes the records of one tenant, or all.
async fn delete(call: Call) -> Result<Answer, Failure> {
    let mut pipeline = Pipeline::new();
    match call.query.get("tenantId").filter(|id| !id.trim().is_empty()) {
        Some(id) => pipeline.add("DELETE FROM user_tenant WHERE doc->>'tenantId' = $1", vec![id.into()]),
        None => pipeline.add("DELETE FROM user_tenant", vec![]),
    };
    call.tenant()?.begin().await?.send_and_commit(pipeline).await?;
    Ok(Answer::no_content())
}
