//! Instances in the form of mod-search, found by inventory's own query.

use super::field_prefix::replace_prefix;
use super::{AS_READ, is_asked, titles};
use crate::item_state::{DOCUMENT, FROM};
use crate::records::instances::INSTANCE;
use carrel_platform::record_store::read::{Page, PageRequest};
use carrel_platform::record_store::stream;
use carrel_platform::{Answer, Call};
use carrel_records::Failure;

/// Prefixes of mod-search's fields, and the corresponding fields of instances.
const FIELDS: [(&str, &str); 6] = [
    ("items.", "item."),
    ("holdings.", "holdingsRecords."),
    ("contributors.name", "contributors"),
    ("identifiers.value", "identifiers"),
    ("languages.value", "languages"),
    // Only words of the title have an index over all instances.
    ("keyword", "title"),
];

/// The most instances in one answer.
const MOST: i64 = 500;

/// `GET /search/instances`.
pub async fn list(call: Call) -> Result<Answer, Failure> {
    let mut requested = PageRequest::read(&call.query)?;
    let Some(query) = requested.query else {
        return Err(Failure::Invalid("Required parameter 'query' is missing".into()));
    };
    requested.query =
        Some(FIELDS.iter().fold(query, |query, (theirs, ours)| replace_prefix(query, theirs, ours)));
    requested.limit = call.query.number("limit", 100, 0, MOST)?;
    let is_expanded = is_asked(&call.query, "expandAll");
    let tenant = call.tenant()?.id.clone();
    let select = |page: &str| select(page, &tenant, is_expanded);
    stream::composed(&call, &INSTANCE, &requested, ("instances", Page::closing), select).await
}

/// The id of a tenant has only letters, digits and underscores, so it can be part of the statement.
fn select(page: &str, tenant: &str, is_expanded: bool) -> String {
    let list = |name: &str| format!("'{name}', coalesce(page.document->'{name}', '[]')");
    let flag = |name: &str| format!("'{name}', coalesce(page.document->'{name}', 'false')");
    let document = if is_expanded { "page.document" } else { "'{}'::jsonb" };
    let (holdings, items) = match is_expanded {
        true => (
            "(SELECT coalesce(jsonb_agg(held.doc ORDER BY held.id), '[]') FROM holdings_record held
              WHERE held.instance_id = page.id)"
                .to_owned(),
            format!(
                "(SELECT coalesce(jsonb_agg({DOCUMENT} ORDER BY item.id), '[]')
                  FROM (SELECT one.id FROM holdings_record held JOIN item one ON one.holdings_record_id = held.id
                        WHERE held.instance_id = page.id) wanted JOIN ({FROM}) ON item.id = wanted.id)"
            ),
        ),
        false => ("'[]'::jsonb".to_owned(), "'[]'::jsonb".to_owned()),
    };
    format!(
        "SELECT {document} || jsonb_build_object('id', page.id, 'tenantId', '{tenant}', 'shared', false,
             'title', page.document->'title', {contributors}, {publication}, {staff}, {discovery},
             'isBoundWith', EXISTS (SELECT 1 FROM holdings_record held
                 JOIN bound_with_part part ON part.holdings_record_id = held.id WHERE held.instance_id = page.id),
             {electronic_access}, {notes}, 'items', {items}, 'holdings', {holdings})
         FROM {page} {AS_READ}",
        contributors = list("contributors"),
        publication = list("publication"),
        staff = flag("staffSuppress"),
        discovery = flag("discoverySuppress"),
        electronic_access = list("electronicAccess"),
        notes = list("notes"),
        page = titles(page),
    )
}
