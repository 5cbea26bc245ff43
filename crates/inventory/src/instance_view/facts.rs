//! What belongs to instances beside their documents, in one flight.

use super::related::{Related, named_after};
use crate::fields::id;
use crate::items::facts::object;
use carrel_platform::database::Json;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Connection, Flight};
use carrel_records::Failure;
use std::collections::HashSet;
use uuid::Uuid;

/// Links of the instances, and which of them have a holdings record that is bound into an item.
#[derive(Default)]
pub struct Around {
    pub related: Related,
    pub bound_with: HashSet<Uuid>,
}

pub async fn gather(connection: &Connection, instances: &[Document]) -> Result<Around, Failure> {
    let ids: Vec<Uuid> = instances.iter().filter_map(|instance| id(instance, "id")).collect();
    if ids.is_empty() {
        return Ok(Around::default());
    }
    let mut flight = Flight::new();
    let relationships = flight.add(
        "SELECT doc FROM instance_relationship
         WHERE sub_instance_id = ANY($1) OR super_instance_id = ANY($1)
         ORDER BY doc->'metadata'->>'createdDate', id",
        vec![ids.clone().into()],
    );
    let titles = flight.add(
        "SELECT title.doc,
             CASE WHEN before.id IS NULL THEN NULL ELSE jsonb_build_object('title', before.doc->'title',
                 'hrid', before.doc->'hrid', 'identifiers', before.doc->'identifiers') END,
             CASE WHEN after.id IS NULL THEN NULL ELSE jsonb_build_object('title', after.doc->'title',
                 'hrid', after.doc->'hrid', 'identifiers', after.doc->'identifiers') END
         FROM preceding_succeeding_title title
             LEFT JOIN instance before ON before.id = title.preceding_instance_id
             LEFT JOIN instance after ON after.id = title.succeeding_instance_id
         WHERE title.preceding_instance_id = ANY($1) OR title.succeeding_instance_id = ANY($1)
         ORDER BY title.doc->'metadata'->>'createdDate', title.id",
        vec![ids.clone().into()],
    );
    let bound = flight.add(
        "SELECT DISTINCT held.instance_id FROM holdings_record held
             JOIN bound_with_part part ON part.holdings_record_id = held.id
         WHERE held.instance_id = ANY($1)",
        vec![ids.clone().into()],
    );
    let landed = connection.fly(flight).await?;
    let mut around = Around::default();
    around.related.relationships = landed.documents(relationships).into_iter().map(object).collect();
    for row in landed.rows(titles) {
        let title = object(row.get(0));
        let (before, after): (Option<Json>, Option<Json>) = (row.get(1), row.get(2));
        let (before, after) = (before.map(|json| json.parse()), after.map(|json| json.parse()));
        let is_here = |name: &str| id(&title, name).is_some_and(|id| ids.contains(&id));
        // A title between two of these instances is told twice, each time after the other one.
        if is_here("succeedingInstanceId") {
            around.related.preceding.push(named_after(title.clone(), before.as_ref()));
        }
        if is_here("precedingInstanceId") {
            around.related.succeeding.push(named_after(title.clone(), after.as_ref()));
        }
    }
    around.bound_with = landed.rows(bound).iter().map(|row| row.get(0)).collect();
    Ok(around)
}
