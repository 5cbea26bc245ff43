//! The name of the acting staff member, as the records of fees/fines store it.

use carrel_platform::Pipeline;
use carrel_platform::database::Results;
use uuid::Uuid;

/// Adds the statement that reads a user's name; [`name`] reads its row.
pub fn find(pipeline: &mut Pipeline, user: Option<Uuid>) -> usize {
    pipeline.add(
        "SELECT doc->'personal'->>'lastName' AS last, doc->'personal'->>'firstName' AS first,
             doc->>'username' AS username
         FROM users WHERE id = $1",
        vec![user.into()],
    )
}

/// Last and first name, else the username.
pub fn name(results: &Results, step: usize) -> Option<String> {
    let row = results.first(step)?;
    let text = |column: &str| row.get::<_, Option<String>>(column).filter(|text| !text.trim().is_empty());
    match (text("last"), text("first")) {
        (Some(last), Some(first)) => Some(format!("{last}, {first}")),
        _ => text("username"),
    }
}
