//! Instances with what belongs to them beside their documents, in one statement.

use super::related::{Related, named_after};
use super::shape::shown;
use crate::fields::filled;
use crate::items::facts::object;
use crate::records::instances::INSTANCE;
use carrel_cql::Where;
use carrel_platform::database::Json;
use carrel_platform::record_store::read::{self, Asked};
use carrel_platform::record_store::write::Document;
use carrel_platform::{Bind, Connection};
use carrel_records::{Failure, RecordType};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

/// Views of the instances that a query finds, and the number of all of them.
pub async fn page(
    connection: &Connection,
    all: &[&'static RecordType],
    asked: &Asked,
) -> Result<(Vec<Document>, i64), Failure> {
    let condition = read::condition(asked.query.as_ref(), &INSTANCE, all)?;
    let found = read::found(connection, &INSTANCE, &condition, asked, page_of(&condition, asked)).await?;
    Ok((found.rows().iter().map(view).collect(), found.total))
}

/// The statement that reads a page of instances with what belongs to them, with its values; its rows are read by
/// [`view`].
pub fn page_sql(all: &[&'static RecordType], asked: &Asked) -> Result<(String, Vec<Bind>), Failure> {
    Ok(page_of(&read::condition(asked.query.as_ref(), &INSTANCE, all)?, asked))
}

/// The view of one instance.
pub async fn one(connection: &Connection, id: Uuid) -> Result<Option<Document>, Failure> {
    let rows = connection.query(select("instance.id = $1", "instance.id"), vec![id.into()]).await?;
    Ok(rows.first().map(view))
}

fn page_of(condition: &Where, asked: &Asked) -> (String, Vec<Bind>) {
    let mut binds = read::binds(&condition.arguments);
    binds.extend([asked.limit.into(), asked.offset.into()]);
    let (limit, offset) = (binds.len() - 1, binds.len());
    let found = format!(
        "{} ORDER BY {} LIMIT ${limit}::bigint OFFSET ${offset}::bigint",
        condition.conditions, condition.order_by
    );
    (select(&found, &condition.order_by), binds)
}

/// Finds the instances first and looks at what belongs to them afterwards.
fn select(found: &str, order: &str) -> String {
    format!(
        "SELECT page.document,
             (SELECT jsonb_agg(link.doc ORDER BY link.doc->'metadata'->>'createdDate', link.id)
              FROM instance_relationship link
              WHERE link.sub_instance_id = page.id OR link.super_instance_id = page.id),
             (SELECT jsonb_agg(jsonb_build_object('title', link.doc, 'before', {before}, 'after', {after})
                  ORDER BY link.doc->'metadata'->>'createdDate', link.id)
              FROM preceding_succeeding_title link
                  LEFT JOIN instance before ON before.id = link.preceding_instance_id
                  LEFT JOIN instance after ON after.id = link.succeeding_instance_id
              WHERE link.preceding_instance_id = page.id OR link.succeeding_instance_id = page.id),
             EXISTS (SELECT 1 FROM holdings_record held
                         JOIN bound_with_part part ON part.holdings_record_id = held.id
                     WHERE held.instance_id = page.id)
         FROM (SELECT instance.id, {document} AS document, row_number() OVER (ORDER BY {order}) AS place
               FROM {from} WHERE {found}) page
         ORDER BY page.place",
        before = named("before"),
        after = named("after"),
        document = read::document_sql(&INSTANCE),
        from = read::from_sql(&INSTANCE),
    )
}

/// What a title tells of the instance that it is connected with.
fn named(instance: &str) -> String {
    format!(
        "CASE WHEN {instance}.id IS NULL THEN NULL ELSE jsonb_build_object('title', {instance}.doc->'title',
             'hrid', {instance}.doc->'hrid', 'identifiers', {instance}.doc->'identifiers') END"
    )
}

/// The view of an instance of a page.
pub fn view(row: &Row) -> Document {
    let instance = object(row.get(0));
    let links = |place: usize| Json::elements(row.get(place)).into_iter();
    let mut related =
        Related { relationships: links(1).filter_map(document).collect(), ..Related::default() };
    for mut link in links(2) {
        let (before, after) = (link["before"].take(), link["after"].take());
        let Some(title) = document(link["title"].take()) else { continue };
        let is_here = |name: &str| filled(&title, name) == filled(&instance, "id");
        if is_here("succeedingInstanceId") {
            related.preceding.push(named_after(title, Some(&before).filter(|title| !title.is_null())));
        } else if is_here("precedingInstanceId") {
            related.succeeding.push(named_after(title, Some(&after).filter(|title| !title.is_null())));
        }
    }
    shown(&instance, &related, row.get(3))
}

fn document(value: Value) -> Option<Document> {
    match value {
        Value::Object(document) => Some(document),
        _ => None,
    }
}
