//! Instances for OAI-PMH, each with its items as discovery shows them. FOLIO writes these property names in lower case.

use super::fragments::{addresses, name, notes};
use super::row::{Column, Kind};
use super::updated::{Parts, suppressed};

/// A row of [`super::updated::ids`], without the source.
pub const ID_COLUMNS: [Column; 4] = [
    Column("instanceid", 0, Kind::Id),
    Column("updateddate", 2, Kind::Instant),
    Column("suppressfromdiscovery", 3, Kind::Truth),
    Column("deleted", 4, Kind::Truth),
];

/// A row of [`updated`].
pub const UPDATED_COLUMNS: [Column; 4] = [
    Column("instanceid", 0, Kind::Id),
    Column("updateddate", 1, Kind::Instant),
    Column("deleted", 2, Kind::Truth),
    Column("itemsandholdingsfields", 3, Kind::Document),
];

/// A row of [`enriched`].
pub const ENRICHED_COLUMNS: [Column; 2] =
    [Column("instanceid", 0, Kind::Id), Column("itemsandholdingsfields", 1, Kind::Document)];

/// Changed instances with their items.
pub fn updated() -> Parts {
    let of_title = suppressed("instance");
    let items = items("instance.id", "$3::boolean", &of_title);
    Parts {
        present: format!(
            "instance.id, found.changed, false,
             (SELECT jsonb_build_object('instanceid', instance.id, 'suppressfromdiscovery', {of_title},
                  'items', all_items.list) FROM ({items}) all_items WHERE all_items.list IS NOT NULL)"
        ),
        gone: "deletion.instance_id, deletion.deleted, true, NULL::jsonb",
    }
}

/// Named instances with their items. Values: `$1` the ids, `$2` without what is suppressed from discovery.
pub fn enriched() -> String {
    format!(
        "SELECT requested.id,
             (SELECT jsonb_build_object('instanceid', requested.id, 'items', all_items.list)
              FROM ({}) all_items WHERE all_items.list IS NOT NULL)
         FROM unnest($1::uuid[]) WITH ORDINALITY AS requested (id, position) ORDER BY requested.position",
        items("requested.id", "$2::boolean", "false")
    )
}

/// The items of an instance in active locations, as one list; `NULL` if there are none.
fn items(title: &str, without_suppressed: &str, title_is_suppressed: &str) -> String {
    let (of_holdings, of_item) = (suppressed("holdings_record"), suppressed("item"));
    format!(
        "SELECT jsonb_agg(jsonb_build_object(
             'id', item.id,
             'callNumber', item.doc->'effectiveCallNumberComponents' || jsonb_build_object('typeName', {call_number}),
             'location', jsonb_build_object(
                 'location', jsonb_build_object(
                     'institutionId', institution.id, 'institutionName', institution.doc->>'name',
                     'campusId', campus.id, 'campusName', campus.doc->>'name',
                     'libraryId', building.id, 'libraryName', building.doc->>'name'),
                 'name', coalesce(place.doc->>'discoveryDisplayName', place.doc->>'name')),
             'volume', item.doc->'volume', 'enumeration', item.doc->'enumeration',
             'materialType', {material},
             'electronicAccess', {access},
             'suppressFromDiscovery', {title_is_suppressed} OR {of_holdings} OR {of_item},
             'notes', {notes},
             'barcode', item.doc->>'barcode', 'chronology', item.doc->>'chronology',
             'copyNumber', item.doc->>'copyNumber', 'holdingsRecordId', holdings_record.id)
             ORDER BY holdings_record.id, item.id) AS list
         FROM holdings_record
             JOIN item ON item.holdings_record_id = holdings_record.id
             JOIN location place ON place.id = item.effective_location_id AND (place.doc->>'isActive')::boolean
             JOIN locinstitution institution ON institution.id = place.institution_id
             JOIN loccampus campus ON campus.id = place.campus_id
             JOIN loclibrary building ON building.id = place.library_id
         WHERE holdings_record.instance_id = {title} AND NOT ({without_suppressed} AND ({of_holdings} OR {of_item}))",
        call_number = name("call_number_type", "item.effective_call_number_components_type_id"),
        material = name("material_type", "item.material_type_id"),
        access = addresses(
            "(coalesce(item.doc->'electronicAccess', '[]'::jsonb)
                 || coalesce(holdings_record.doc->'electronicAccess', '[]'::jsonb))"
        ),
        notes = notes("(item.doc->'notes')", "item_note_type", "itemNoteTypeId", "itemNoteTypeName"),
    )
}
