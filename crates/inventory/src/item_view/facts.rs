//! Items with related records, in one statement.

use super::shape::{Related, shown};
use crate::item_state::{DOCUMENT, FROM};
use crate::items::facts::object;
use carrel_platform::database::Json;
use carrel_platform::record_store::read::numbered;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Bind, Connection, Pipeline};
use carrel_records::Failure;
use serde_json::{Value, json};
use tokio_postgres::Row;
use uuid::Uuid;

/// The view of one item, with the instances of its bound-with parts.
pub async fn one(connection: &Connection, id: Uuid) -> Result<Option<Document>, Failure> {
    let mut pipeline = Pipeline::new();
    pipeline.add(select(&format!("FROM {FROM} WHERE item.id = $1")), vec![id.into()]);
    pipeline.add(
        "SELECT jsonb_build_object(
             'briefHoldingsRecord', jsonb_build_object('id', held.id, 'hrid', held.doc->'hrid'),
             'briefInstance', jsonb_build_object('id', title.id, 'title', title.doc->'title',
                 'hrid', title.doc->'hrid'))
         FROM bound_with_part part
             JOIN holdings_record held ON held.id = part.holdings_record_id
             JOIN instance title ON title.id = held.instance_id
         WHERE part.item_id = $1 ORDER BY part.doc->'metadata'->>'createdDate', part.id",
        vec![id.into()],
    );
    let results = connection.send(pipeline).await?;
    let titles = results.documents(1).iter().map(Json::parse).collect();
    Ok(results.first(0).map(|row| view(row, titles)))
}

/// The views of several items, unordered.
pub async fn some(
    connection: &Connection,
    condition: &str,
    binds: Vec<Bind>,
) -> Result<Vec<Document>, Failure> {
    let rows = connection.query(select(&format!("FROM {FROM} WHERE {condition}")), binds).await?;
    Ok(rows.iter().map(of_page).collect())
}

/// The view of an item of a page.
pub fn of_page(row: &Row) -> Document {
    view(row, Vec::new())
}

/// The statement that reads a page of items with related records, joined after the page is selected; [`of_page`] reads its
/// rows.
pub fn select(page: &str) -> String {
    let columns = format!(
        "item.id, {DOCUMENT} AS document, item.holdings_record_id, item.material_type_id,
         item.permanent_loan_type_id, item.temporary_loan_type_id, item.permanent_location_id,
         item.temporary_location_id, item.effective_location_id"
    );
    format!(
        "SELECT page.document, held.doc->>'callNumber' AS call_number, title.doc->>'title' AS title,
             title.doc->'contributors' AS contributors, material.doc->>'name' AS material_type,
             permanent_loan.doc->>'name' AS permanent_loan_type, temporary_loan.doc->>'name' AS temporary_loan_type,
             permanent.doc->>'name' AS permanent_location, temporary.doc->>'name' AS temporary_location,
             effective.doc->>'name' AS effective_location,
             EXISTS (SELECT 1 FROM bound_with_part part WHERE part.item_id = page.id) AS is_bound_with
         FROM {} page
             LEFT JOIN holdings_record held ON held.id = page.holdings_record_id
             LEFT JOIN instance title ON title.id = held.instance_id
             LEFT JOIN material_type material ON material.id = page.material_type_id
             LEFT JOIN loan_type permanent_loan ON permanent_loan.id = page.permanent_loan_type_id
             LEFT JOIN loan_type temporary_loan ON temporary_loan.id = page.temporary_loan_type_id
             LEFT JOIN location permanent ON permanent.id = page.permanent_location_id
             LEFT JOIN location temporary ON temporary.id = page.temporary_location_id
             LEFT JOIN location effective ON effective.id = page.effective_location_id
         ORDER BY page.place",
        numbered(&columns, page)
    )
}

fn view(row: &Row, bound_with_titles: Vec<Value>) -> Document {
    let contributors: Option<Json> = row.get("contributors");
    let related = Related {
        call_number: row.get("call_number"),
        title: row.get("title"),
        contributors: Some(contributors.map_or_else(|| json!([]), |contributors| contributors.parse())),
        names: [
            "material_type",
            "permanent_loan_type",
            "temporary_loan_type",
            "permanent_location",
            "temporary_location",
            "effective_location",
        ]
        .map(|column| row.get(column)),
        is_bound_with: row.get("is_bound_with"),
        bound_with_titles,
    };
    shown(&object(row.get("document")), related)
}
