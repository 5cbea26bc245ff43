//! The facts of a summary, in one round trip.

use super::decide::{Facts, Holdings, Item, Named};
use carrel_platform::database::Json;
use carrel_platform::{Connection, Pipeline};
use carrel_records::Failure;
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

/// The facts of an instance; `None` if it does not exist.
pub async fn gather(connection: &Connection, id: Uuid) -> Result<Option<Facts>, Failure> {
    let mut pipeline = Pipeline::new();
    let title = pipeline.add(
        "SELECT instance.doc,
             (SELECT jsonb_build_array(kind.id, kind.doc->'name') FROM instance_type kind
              WHERE kind.id = instance.instance_type_id) AS instance_type,
             (SELECT jsonb_build_array(mode.id, mode.doc->'name') FROM mode_of_issuance mode
              WHERE mode.id = instance.mode_of_issuance_id) AS mode_of_issuance,
             (SELECT jsonb_agg(jsonb_build_array(format.id, format.doc->'name')) FROM instance_format format
              WHERE instance.doc->'instanceFormatIds' ? format.id::text) AS formats,
             (SELECT jsonb_agg(jsonb_build_array(term.id, term.doc->'name')) FROM nature_of_content_term term
              WHERE instance.doc->'natureOfContentTermIds' ? term.id::text) AS nature_of_content
         FROM instance WHERE instance.id = $1",
        vec![id.into()],
    );
    let holdings = pipeline.add(
        "SELECT coalesce((doc->>'discoverySuppress')::boolean, false) AS suppressed,
             doc->'electronicAccess' AS electronic_access,
             EXISTS (SELECT 1 FROM bound_with_part part WHERE part.holdings_record_id = holdings_record.id) AS is_bound
         FROM holdings_record WHERE instance_id = $1 ORDER BY id",
        vec![id.into()],
    );
    let items = pipeline.add(
        "SELECT DISTINCT ON (item.id) coalesce((item.doc->>'discoverySuppress')::boolean, false) AS suppressed,
             of_title.suppressed AS holdings_suppressed,
             nullif(item.doc->>'effectiveShelvingOrder', '') AS shelving_order,
             item.doc->'electronicAccess' AS electronic_access,
             (SELECT jsonb_build_array(kind.id, kind.doc->'name') FROM material_type kind
              WHERE kind.id = item.material_type_id) AS material_type
         FROM (SELECT one.id, coalesce((held.doc->>'discoverySuppress')::boolean, false) AS suppressed, 1 AS place
               FROM holdings_record held JOIN item one ON one.holdings_record_id = held.id
               WHERE held.instance_id = $1
               UNION ALL
               SELECT part.item_id, coalesce((held.doc->>'discoverySuppress')::boolean, false), 2
               FROM holdings_record held JOIN bound_with_part part ON part.holdings_record_id = held.id
               WHERE held.instance_id = $1) of_title
             JOIN item ON item.id = of_title.id
         ORDER BY item.id, of_title.place",
        vec![id.into()],
    );
    let results = connection.send(pipeline).await?;
    let Some(row) = results.first(title) else { return Ok(None) };
    Ok(Some(Facts {
        instance: row.get::<_, Json>("doc").parse(),
        instance_type: named(row, "instance_type"),
        mode_of_issuance: named(row, "mode_of_issuance"),
        formats: Json::elements(row.get("formats")).iter().filter_map(pair).collect(),
        nature_of_content: Json::elements(row.get("nature_of_content")).iter().filter_map(pair).collect(),
        holdings: results
            .rows(holdings)
            .iter()
            .map(|row| Holdings {
                is_suppressed: row.get("suppressed"),
                addresses: Json::elements(row.get("electronic_access")),
                is_bound: row.get("is_bound"),
            })
            .collect(),
        items: results
            .rows(items)
            .iter()
            .map(|row| Item {
                is_suppressed: row.get("suppressed"),
                holdings_are_suppressed: row.get("holdings_suppressed"),
                shelving_order: row.get("shelving_order"),
                addresses: Json::elements(row.get("electronic_access")),
                material_type: named(row, "material_type"),
            })
            .collect(),
    }))
}

fn named(row: &Row, column: &str) -> Option<Named> {
    pair(&row.get::<_, Option<Json>>(column)?.parse())
}

fn pair(pair: &Value) -> Option<Named> {
    Some(Named { name: pair[1].as_str()?.to_owned(), id: pair[0].as_str()?.to_owned() })
}
