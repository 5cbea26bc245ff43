//! `/loan-storage`: loans as they are stored, and their history.

use super::store::{self, refused_by_storage};
use crate::document::text_at;
use crate::records::loans::{LOAN, LOAN_HISTORY_ITEM};
use carrel_loan_rules::LoanStatus;
use carrel_platform::record_store::read::{self, PageRequest};
use carrel_platform::record_store::{routes, stream, write};
use carrel_platform::{Answer, Call, Pipeline, Router, TenantProfile};
use carrel_records::{Failure, Refusal};
use serde_json::{Map, Value, json};

pub fn connect(router: &mut Router) {
    router.on("POST", "/loan-storage/loans", create);
    router.on("PUT", "/loan-storage/loans/{id}", replace);
    router.on("GET", "/loan-storage/loan-history", history);
}

/// The validation of storage.
fn checked(mut document: Map<String, Value>, profile: &TenantProfile) -> Result<Map<String, Value>, Failure> {
    if document.get("status").is_none_or(Value::is_null) {
        document.insert("status".into(), json!({"name": LoanStatus::Open}));
    }
    if LoanStatus::of(&document) == Some(LoanStatus::Open)
        && text_at(&document, "userId").is_empty()
        && !profile.unchecked_records
    {
        return Err(Refusal::new("Open loan must have a user ID").into());
    }
    Ok(document)
}

async fn create(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let document = checked(call.object()?, &call.caller.profile)?;
    let ready = write::prepare_new(&LOAN, document, &call.caller, call.now)?;
    let mut pipeline = Pipeline::new();
    store::insert(&mut pipeline, &tenant.id, ready.id, &ready.document, None, call.now);
    let tx = tenant.begin().await?;
    tx.send_and_commit(pipeline).await.map_err(|error| refused_by_storage(error, &ready.document))?;
    Ok(routes::created(&LOAN, &ready))
}

/// Replaces the loan, or creates it under the id of the path.
async fn replace(call: Call) -> Result<Answer, Failure> {
    let tenant = call.tenant()?;
    let id = call.id(0)?;
    let document = checked(call.object()?, &call.caller.profile)?;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let ready = match write::lock(&mut tx, &LOAN, id).await? {
        Some(stored) => {
            let stored = stored.parse();
            let ready = write::prepare_replacement(&LOAN, id, document, &stored, &call.caller, call.now)?;
            let Value::Object(old) = stored else {
                return Err(Failure::internal("a stored loan is an object"));
            };
            store::replace(
                &mut pipeline,
                &tenant.id,
                id,
                &old,
                &ready.document,
                Some("replacement"),
                call.now,
            );
            ready
        }
        None => {
            let mut document = document;
            document.insert("id".into(), id.to_string().into());
            let ready = write::prepare_new(&LOAN, document, &call.caller, call.now)?;
            store::insert(&mut pipeline, &tenant.id, id, &ready.document, None, call.now);
            ready
        }
    };
    tx.send_and_commit(pipeline).await.map_err(|error| refused_by_storage(error, &ready.document))?;
    Ok(Answer::no_content())
}

/// The newest change first, unless the query says otherwise.
async fn history(call: Call) -> Result<Answer, Failure> {
    let mut requested = PageRequest::read(&call.query)?;
    let text = call.query.get("query").map(str::trim).filter(|text| !text.is_empty());
    let sorted = newest_first(text.unwrap_or("cql.allRecords=1"));
    requested.query = Some(read::parse(&sorted)?);
    stream::plain(&call, &LOAN_HISTORY_ITEM, &requested).await
}

fn newest_first(query: &str) -> String {
    if query.to_ascii_lowercase().contains(" sortby ") {
        return query.to_owned();
    }
    format!("{query} sortBy createdDate/sort.descending")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loan_without_status_is_open_and_needs_a_borrower() {
        let loan = Map::from_iter([("itemId".to_owned(), json!("i"))]);
        assert!(checked(loan.clone(), &TenantProfile::STRICT).is_err());
        let mut with_user = loan;
        with_user.insert("userId".into(), "u".into());
        assert_eq!(
            checked(with_user, &TenantProfile::STRICT).expect("allowed")["status"],
            json!({"name": "Open"})
        );
    }

    #[test]
    fn history_is_newest_first_unless_the_query_sorts() {
        assert_eq!(newest_first("loan.id==1"), "loan.id==1 sortBy createdDate/sort.descending");
        assert_eq!(newest_first("loan.id==1 SORTBY createdDate"), "loan.id==1 SORTBY createdDate");
    }
}
