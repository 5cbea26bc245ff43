//! Items with the referenced records in place of their ids.

use super::{AS_READ, unless_empty};
use crate::records::items::ITEM;
use carrel_platform::database::Json;
use carrel_platform::record_store::read::{self, PageRequest};
use carrel_platform::record_store::stream;
use carrel_platform::{Answer, Call};
use carrel_records::Failure;
use uuid::Uuid;

/// `GET /item-storage-dereferenced/items`.
pub async fn list(call: Call) -> Result<Answer, Failure> {
    let requested = PageRequest::read(&call.query)?;
    let list = ("dereferencedItems", stream::total_alone as stream::Closing);
    stream::composed(&call, &ITEM, &requested, list, select).await
}

/// `GET /item-storage-dereferenced/items/{id}`.
pub async fn find(call: Call) -> Result<Answer, Failure> {
    let id = Uuid::parse_str(call.parameter(0)).map_err(|_| Failure::Invalid("Invalid UUID".into()))?;
    let page = format!("FROM {} WHERE item.id = $1", read::from_sql(&ITEM));
    let connection = call.tenant()?.reader().await?;
    match connection.query(select(&page), vec![id.into()]).await?.first() {
        Some(row) => Ok(Answer::document(row.get::<_, Json>(0))),
        None => Err(Failure::NotFound("No item records found matching provided UUID.".into())),
    }
}

/// References of an item: property, table, column.
const REFERENCES: [(&str, &str, &str); 7] = [
    ("holdingsRecord", "holdings_record", "holdings_record_id"),
    ("materialType", "material_type", "material_type_id"),
    ("permanentLoanType", "loan_type", "permanent_loan_type_id"),
    ("temporaryLoanType", "loan_type", "temporary_loan_type_id"),
    ("permanentLocation", "location", "permanent_location_id"),
    ("temporaryLocation", "location", "temporary_location_id"),
    ("effectiveLocation", "location", "effective_location_id"),
];

/// Selects the items of a page with the records that they reference.
fn select(page: &str) -> String {
    let mut columns = format!("item.id, {} AS document", read::document_sql(&ITEM));
    let mut document = String::from(
        "page.document - ARRAY['holdingsRecordId', 'instanceId', 'materialTypeId', 'permanentLocationId',
             'temporaryLocationId', 'effectiveLocationId', 'permanentLoanTypeId', 'temporaryLoanTypeId']",
    );
    let mut add = |object: &str| {
        document.push_str(" || ");
        document.push_str(&unless_empty(object));
    };
    for (name, table, column) in REFERENCES {
        columns.push_str(&format!(", item.{column}"));
        add(&format!(
            "SELECT jsonb_build_object('{name}', one.doc) FROM {table} one WHERE one.id = page.{column}"
        ));
    }
    add("SELECT jsonb_build_object('instanceRecord', title.doc)
         FROM holdings_record held JOIN instance title ON title.id = held.instance_id
         WHERE held.id = page.holdings_record_id");
    format!("SELECT {document} FROM {} page {AS_READ}", read::numbered(&columns, page))
}
