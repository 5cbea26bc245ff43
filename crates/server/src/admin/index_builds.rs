//! Declared indexes that are not built yet; the job `index-builds` builds them.

use carrel_platform::{Answer, Call};
use carrel_records::Failure;
use serde_json::{Value, json};

pub async fn list(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let missing: Vec<Value> = tenant
        .missing_indexes()
        .await?
        .iter()
        .map(|index| json!({"index": index.name, "table": index.table, "percentBuilt": index.percent}))
        .collect();
    Ok(Answer::json(&json!({"missing": missing, "totalRecords": missing.len()})))
}
