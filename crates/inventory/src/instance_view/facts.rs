//! Instances with related records, in one statement.

use super::related::{Related, named_after};
use super::shape::shown;
use crate::fields::filled;
use crate::items::facts::object;
use crate::records::instances::INSTANCE;
use carrel_platform::Connection;
use carrel_platform::database::Json;
use carrel_platform::record_store::read;
use carrel_platform::record_store::write::Document;
use carrel_records::Failure;
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

/// The view of one instance.
pub async fn one(connection: &Connection, id: Uuid) -> Result<Option<Document>, Failure> {
    let page = format!("FROM {} WHERE instance.id = $1", read::from_sql(&INSTANCE));
    let rows = connection.query(select(&page), vec![id.into()]).await?;
    Ok(rows.first().map(view))
}

/// The statement that reads a page of instances with related records, joined after the page is selected; [`view`] reads
/// its rows.
pub fn select(page: &str) -> String {
    let columns = format!("instance.id, {} AS document", read::document_sql(&INSTANCE));
    format!(
        "SELECT page.document,
             (SELECT jsonb_agg(link.doc ORDER BY link.doc->'metadata'->>'createdDate', link.id)
              FROM instance_relationship link
              WHERE link.sub_instance_id = page.id OR link.super_instance_id = page.id) AS relationships,
             (SELECT jsonb_agg(jsonb_build_object('title', link.doc, 'before', {before}, 'after', {after})
                  ORDER BY link.doc->'metadata'->>'createdDate', link.id)
              FROM preceding_succeeding_title link
                  LEFT JOIN instance before ON before.id = link.preceding_instance_id
                  LEFT JOIN instance after ON after.id = link.succeeding_instance_id
              WHERE link.preceding_instance_id = page.id OR link.succeeding_instance_id = page.id) AS titles,
             EXISTS (SELECT 1 FROM holdings_record held
                         JOIN bound_with_part part ON part.holdings_record_id = held.id
                     WHERE held.instance_id = page.id) AS is_bound_with
         FROM {found} page
         ORDER BY page.place",
        before = named("before"),
        after = named("after"),
        found = read::numbered(&columns, page),
    )
}

/// The properties of a connected instance in a preceding or succeeding title.
fn named(instance: &str) -> String {
    format!(
        "CASE WHEN {instance}.id IS NULL THEN NULL ELSE jsonb_build_object('title', {instance}.doc->'title',
             'hrid', {instance}.doc->'hrid', 'identifiers', {instance}.doc->'identifiers') END"
    )
}

/// The view of an instance of a page.
pub fn view(row: &Row) -> Document {
    let instance = object(row.get("document"));
    let links = |column: &str| Json::elements(row.get(column)).into_iter();
    let mut related = Related {
        relationships: links("relationships").filter_map(document).collect(),
        ..Related::default()
    };
    for mut link in links("titles") {
        let (before, after) = (link["before"].take(), link["after"].take());
        let Some(title) = document(link["title"].take()) else { continue };
        let is_here = |name: &str| filled(&title, name) == filled(&instance, "id");
        if is_here("succeedingInstanceId") {
            related.preceding.push(named_after(title, Some(&before).filter(|title| !title.is_null())));
        } else if is_here("precedingInstanceId") {
            related.succeeding.push(named_after(title, Some(&after).filter(|title| !title.is_null())));
        }
    }
    shown(&instance, &related, row.get("is_bound_with"))
}

fn document(value: Value) -> Option<Document> {
    match value {
        Value::Object(document) => Some(document),
        _ => None,
    }
}
