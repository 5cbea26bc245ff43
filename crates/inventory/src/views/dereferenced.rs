//! Items with the records that they refer to, in place of these records' ids.

use super::unless_null;
use crate::records::items::ITEM;
use carrel_platform::database::Json;
use carrel_platform::record_store::read::{self, Asked};
use carrel_platform::record_store::stream;
use carrel_platform::{Answer, Call};
use carrel_records::Failure;
use uuid::Uuid;

/// `GET /item-storage-dereferenced/items`.
pub async fn list(call: Call) -> Result<Answer, Failure> {
    let asked = Asked::read(&call.query)?;
    let list = ("dereferencedItems", stream::total_alone as stream::Closing);
    stream::composed(&call, &ITEM, &asked, list, select).await
}

/// `GET /item-storage-dereferenced/items/{id}`.
pub async fn find(call: Call) -> Result<Answer, Failure> {
    let id = Uuid::parse_str(call.parameter(0)).map_err(|_| Failure::Invalid("Invalid UUID".into()))?;
    let page = format!("FROM {} WHERE item.id = $1", read::from_sql(&ITEM));
    let connection = call.tenant()?.reader().await?;
    match connection.query(select(&page), vec![id.into()]).await?.first() {
        Some(row) => Ok(Answer::json_bytes(row.get::<_, Json>(0).0.into_bytes())),
        None => Err(Failure::NotFound("No item records found matching provided UUID.".into())),
    }
}

/// Tables that an item refers to: the name told, the table, the column, and whether there is always one.
const REFERENCES: [(&str, &str, &str, bool); 7] = [
    ("holdingsRecord", "holdings_record", "holdings_record_id", true),
    ("materialType", "material_type", "material_type_id", true),
    ("permanentLoanType", "loan_type", "permanent_loan_type_id", true),
    ("temporaryLoanType", "loan_type", "temporary_loan_type_id", false),
    ("permanentLocation", "location", "permanent_location_id", false),
    ("temporaryLocation", "location", "temporary_location_id", false),
    ("effectiveLocation", "location", "effective_location_id", false),
];

/// The items of a page with what they refer to.
fn select(page: &str) -> String {
    let mut columns = format!("item.id, {} AS document", read::document_sql(&ITEM));
    for (_, _, column, _) in REFERENCES {
        columns.push_str(&format!(", item.{column}"));
    }
    let mut from = format!("{} page", read::numbered(&columns, page));
    let mut document = String::from(
        "page.document - ARRAY['holdingsRecordId', 'instanceId', 'materialTypeId', 'permanentLocationId',
             'temporaryLocationId', 'effectiveLocationId', 'permanentLoanTypeId', 'temporaryLoanTypeId']",
    );
    for (number, (name, table, column, always)) in REFERENCES.into_iter().enumerate() {
        let join = if always { "JOIN" } else { "LEFT JOIN" };
        from.push_str(&format!(" {join} {table} r{number} ON r{number}.id = page.{column}"));
        document.push_str(&format!(" || {}", unless_null(name, &format!("r{number}.doc"))));
    }
    // The title of the holdings record, which stands first.
    from.push_str(" JOIN instance title ON title.id = r0.instance_id");
    document.push_str(" || jsonb_build_object('instanceRecord', title.doc)");
    format!("SELECT {document} FROM {from} ORDER BY page.place")
}
