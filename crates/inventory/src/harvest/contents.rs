//! Holdings records and items of instances, with names in place of ids, items bound with the holdings records
//! included.
//!
//! Values: `$1` the ids, `$2` without what is suppressed from discovery.

use super::fragments::{addresses, name, notes, or_empty, place, statistical_codes};
use super::row::{Column, Kind};
use super::updated::suppressed;
use crate::item_state;

/// A row of [`holdings_and_items`].
pub const COLUMNS: [Column; 6] = [
    Column("instanceId", 0, Kind::Id),
    Column("source", 1, Kind::Text),
    Column("modeOfIssuance", 2, Kind::Text),
    Column("natureOfContent", 3, Kind::Document),
    Column("holdings", 4, Kind::Document),
    Column("items", 5, Kind::Document),
];

/// Instances with their holdings records and items.
pub fn holdings_and_items() -> String {
    format!(
        "SELECT instance.id, instance.doc->>'source', {mode},
             coalesce((SELECT jsonb_agg(DISTINCT term.doc->'name') FROM nature_of_content_term term
                       WHERE instance.doc->'natureOfContentTermIds' ? term.id::text), '[]'::jsonb),
             coalesce(({holdings}), '[]'::jsonb), coalesce(({items}), '[]'::jsonb)
         FROM instance WHERE instance.id = ANY($1)",
        mode = name("mode_of_issuance", "instance.mode_of_issuance_id"),
        holdings = holdings(),
        items = items(),
    )
}

/// Holdings records of `instance`.
fn holdings() -> String {
    let texts = texts(
        "holdings_record",
        &[
            "shelvingTitle",
            "acquisitionFormat",
            "acquisitionMethod",
            "receiptStatus",
            "retentionPolicy",
            "digitizationPolicy",
            "copyNumber",
            "numberOfItems",
        ],
    );
    let documents = documents(
        "holdings_record",
        &[
            "formerIds",
            "holdingsStatements",
            "holdingsStatementsForIndexes",
            "holdingsStatementsForSupplements",
            "receivingHistory",
            "tags",
        ],
    );
    format!(
        "SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
             'id', holdings_record.id, 'hrId', holdings_record.doc->>'hrid',
             'suppressFromDiscovery', {of_title} OR {suppressed},
             'holdingsType', {kind},
             'location', jsonb_build_object('permanentLocation', {permanent}, 'temporaryLocation', {temporary},
                 'effectiveLocation', {effective}),
             'callNumber', jsonb_build_object('prefix', holdings_record.doc->>'callNumberPrefix',
                 'suffix', holdings_record.doc->>'callNumberSuffix',
                 'typeId', holdings_record.doc->>'callNumberTypeId', 'typeName', {call_number},
                 'callNumber', holdings_record.doc->>'callNumber'),
             {texts}, {documents},
             'electronicAccess', {access}, 'notes', {notes}, 'illPolicy', {ill}, 'statisticalCodes', {codes}))
             ORDER BY holdings_record.id)
         FROM holdings_record
         WHERE holdings_record.instance_id = instance.id AND NOT ($2::boolean AND {suppressed})",
        of_title = suppressed("instance"),
        suppressed = suppressed("holdings_record"),
        kind = name("holdings_type", "holdings_record.holdings_type_id"),
        permanent = place("holdings_record.permanent_location_id"),
        temporary = place("holdings_record.temporary_location_id"),
        effective = place("holdings_record.effective_location_id"),
        call_number = name("call_number_type", "holdings_record.call_number_type_id"),
        access = or_empty(&addresses("(holdings_record.doc->'electronicAccess')")),
        notes = or_empty(&notes(
            "(holdings_record.doc->'notes')",
            "holdings_note_type",
            "holdingsNoteTypeId",
            "holdingsNoteTypeName"
        )),
        ill = name("ill_policy", "holdings_record.ill_policy_id"),
        codes = or_empty(&statistical_codes("(holdings_record.doc->'statisticalCodeIds')")),
    )
}

/// Items of `instance`: those of its holdings records, then those bound with them, each once.
fn items() -> String {
    let texts = texts(
        "item",
        &[
            "accessionNumber",
            "barcode",
            "copyNumber",
            "volume",
            "enumeration",
            "chronology",
            "displaySummary",
            "itemIdentifier",
            "numberOfPieces",
            "descriptionOfPieces",
            "numberOfMissingPieces",
            "missingPieces",
            "missingPiecesDate",
            "itemDamagedStatusDate",
        ],
    );
    let documents = documents("item", &["formerIds", "yearCaption", "tags"]);
    format!(
        "SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
             'id', item.id, 'hrId', item.doc->>'hrid', 'holdingsRecordId', held.holdings_id,
             'order', CASE WHEN held.bound THEN NULL ELSE (item.doc->>'order')::integer END,
             'suppressFromDiscovery', {of_title} OR held.suppressed OR {suppressed},
             'status', item_state.status,
             'location', jsonb_build_object('location', {effective}, 'permanentLocation', {permanent},
                 'temporaryLocation', {temporary}),
             'callNumber', item.doc->'effectiveCallNumberComponents' || jsonb_build_object('typeName', {call_number}),
             {texts}, {documents},
             'itemDamagedStatus', (SELECT damage.doc->>'name' FROM item_damaged_status damage
                 WHERE damage.id::text = lower(item.doc->>'itemDamagedStatusId')),
             'materialType', {material}, 'materialTypeId', item.doc->>'materialTypeId',
             'permanentLoanType', {permanent_loan}, 'temporaryLoanType', {temporary_loan},
             'electronicAccess', {access}, 'notes', {notes}, 'statisticalCodes', {codes}))
             ORDER BY held.bound, held.holdings_id, item.id)
         FROM (SELECT DISTINCT ON (every.item_id) every.* FROM (
                   SELECT one.id AS item_id, holdings_record.id AS holdings_id, {of_holdings} AS suppressed,
                       false AS bound
                   FROM holdings_record JOIN item one ON one.holdings_record_id = holdings_record.id
                   WHERE holdings_record.instance_id = instance.id
                   UNION ALL
                   SELECT part.item_id, holdings_record.id, {of_holdings}, true
                   FROM holdings_record JOIN bound_with_part part ON part.holdings_record_id = holdings_record.id
                   WHERE holdings_record.instance_id = instance.id) every
               ORDER BY every.item_id, every.bound, every.holdings_id) held
             JOIN ({from}) ON item.id = held.item_id
         WHERE NOT ($2::boolean AND (held.suppressed OR {suppressed}))",
        of_title = suppressed("instance"),
        of_holdings = suppressed("holdings_record"),
        suppressed = suppressed("item"),
        effective = place("item.effective_location_id"),
        permanent = place("item.permanent_location_id"),
        temporary = place("item.temporary_location_id"),
        call_number = name("call_number_type", "item.effective_call_number_components_type_id"),
        material = name("material_type", "item.material_type_id"),
        permanent_loan = name("loan_type", "item.permanent_loan_type_id"),
        temporary_loan = name("loan_type", "item.temporary_loan_type_id"),
        access = or_empty(&addresses("(item.doc->'electronicAccess')")),
        notes = or_empty(&notes("(item.doc->'notes')", "item_note_type", "itemNoteTypeId", "itemNoteTypeName")),
        codes = or_empty(&statistical_codes("(item.doc->'statisticalCodeIds')")),
        from = item_state::FROM,
    )
}

/// Properties that are returned unchanged, as text.
fn texts(table: &str, names: &[&str]) -> String {
    names.iter().map(|name| format!("'{name}', {table}.doc->>'{name}'")).collect::<Vec<_>>().join(", ")
}

/// Properties that are returned unchanged.
fn documents(table: &str, names: &[&str]) -> String {
    names.iter().map(|name| format!("'{name}', {table}.doc->'{name}'")).collect::<Vec<_>>().join(", ")
}
