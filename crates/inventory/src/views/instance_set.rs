//! A few instances with the related records that a client asks for.

use super::{is_asked, titles};
use crate::item_state::{DOCUMENT, FROM};
use crate::records::instances::INSTANCE;
use carrel_platform::database::Json;
use carrel_platform::http::Query;
use carrel_platform::record_store::read::{self, Count, PageRequest};
use carrel_platform::{Answer, Call};
use carrel_records::Failure;

/// The most instances in one answer; FOLIO refuses more as well.
const MOST_TITLES: i64 = 10;

/// `GET /inventory-view/instance-set`.
pub async fn list(call: Call) -> Result<Answer, Failure> {
    let query = &call.query;
    if query.get("limit").is_none_or(str::is_empty) {
        return Err(Failure::Invalid(
            "'limit' parameter is incorrect. parameter value {null} is not valid: must not be null".into(),
        ));
    }
    let text = query.get("query").map(str::trim).filter(|text| !text.is_empty());
    let requested = PageRequest {
        query: text.map(read::parse).transpose()?,
        limit: query.number("limit", 1, 1, MOST_TITLES)?,
        offset: query.number("offset", 0, 0, i64::from(i32::MAX))?,
        count: Count::Unwanted,
    };
    let condition = read::condition(requested.query.as_ref(), &INSTANCE, &call.node.records)?;
    let (page, binds) = read::page_of(&condition, requested.limit, requested.offset);
    let (parts, titles) = (parts(query), titles(&page));
    let sql = format!("SELECT jsonb_build_object('id', page.id{parts}) FROM {titles} ORDER BY page.place");
    let connection = call.tenant()?.reader().await?;
    let sets = connection.query(sql, binds).await?;
    let sets: Vec<String> = sets.iter().map(|row| row.get::<_, Json>(0).0).collect();
    Ok(Answer::json_bytes(format!("{{\"instanceSets\":[\n{}\n]}}", sets.join(",\n")).into_bytes()))
}

/// The requested parts, as pairs of name and SQL.
fn parts(query: &Query) -> String {
    let links = |table: &str, column: &str| {
        format!(
            "(SELECT jsonb_agg(link.doc ORDER BY link.id) FROM {table} link WHERE link.{column} = page.id)"
        )
    };
    let titles = "preceding_succeeding_title";
    let relationships = "instance_relationship";
    [
        ("instance", "page.document".to_owned()),
        ("holdingsRecords", links("holdings_record", "instance_id")),
        (
            "items",
            format!(
                "(SELECT jsonb_agg({DOCUMENT} ORDER BY item.id) FROM {FROM} WHERE item.holdings_record_id IN
                      (SELECT held.id FROM holdings_record held WHERE held.instance_id = page.id))"
            ),
        ),
        ("precedingTitles", links(titles, "succeeding_instance_id")),
        ("succeedingTitles", links(titles, "preceding_instance_id")),
        ("superInstanceRelationships", links(relationships, "sub_instance_id")),
        ("subInstanceRelationships", links(relationships, "super_instance_id")),
    ]
    .into_iter()
    .filter(|(name, _)| is_asked(query, name))
    .map(|(name, sql)| format!(", '{name}', coalesce({sql}, '[]'::jsonb)"))
    .collect()
}
