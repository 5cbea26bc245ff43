//! The records of this module.

use carrel_records::{Composed, PLAIN, RecordType, Routes, date, objects, text, uuid};

pub static RECORD_TYPES: &[&RecordType] = &[&LOG_RECORD, &AUDIT_DATA];

/// A record of a call, as other programs send it.
pub static AUDIT_DATA: RecordType = RecordType {
    name: "audit",
    module: "mod-audit",
    table: "audit_data",
    path: "/audit-data",
    collection: "audit",
    shape: "
        id:string(uuid)
        timestamp:string(date-time)
        tenant:string*
        user:string
        login:string
        uri:string
        path:string
        params:object(open)
        path_params:object(open)
        request_id:string
        auth_result:string
        auth_error:object(open)
        module_result:string
        module_error:object(open)
        target_type:string
        target_id:string
        method:string
        extra_targets:object(open)
        ip:string
        extra_headers:object(open)
    ",
    closed: false,
    fields: &[text("target_id").indexed()],
    ..PLAIN
};

/// An entry of the circulation log, written with the action that it reports.
pub static LOG_RECORD: RecordType = RecordType {
    name: "logRecord",
    module: "mod-audit",
    table: "circulation_log",
    path: "/audit-data/circulation/logs",
    collection: "logRecords",
    shape: "
        id:string(uuid)
        eventId:string(uuid)
        userBarcode:string
        items:array<object>
        items[].itemBarcode:string
        items[].itemId:string(uuid)
        items[].instanceId:string(uuid)
        items[].holdingId:string(uuid)
        items[].loanId:string(uuid)
        object:string
        action:string
        date:string(date-time)
        servicePointId:string(uuid)
        source:string
        description:string
        linkToIds:object
        linkToIds.userId:string(uuid)
        linkToIds.requestId:string(uuid)
        linkToIds.feeFineId:string(uuid)
        linkToIds.templateId:string(uuid)
        linkToIds.noticePolicyId:string(uuid)
    ",
    // The brackets prevent the declaration from creating the indexes, which are in `tables.sql` after the columns.
    fields: &[
        date("date").sql("(circulation_log.at)").indexed(),
        text("userBarcode").sql("(circulation_log.user_barcode)").keep_accents().indexed(),
        text("object").sql("circulation_log.object"),
        text("action").sql("circulation_log.action"),
        text("source").sql(SOURCE),
        text("description").sql("circulation_log.description"),
        uuid("servicePointId").sql("circulation_log.service_point_id"),
        objects("items", "itemBarcode", &["loanId", "itemId", "instanceId", "holdingId"]).sql(ITEMS),
        uuid("linkToIds.userId").sql("circulation_log.user_id"),
        uuid("linkToIds.requestId").sql("(circulation_log.request_id)").indexed(),
    ],
    metadata: false,
    composed: Some(Composed { from: FROM, document: DOCUMENT, adds: &[] }),
    routes: Routes::ByHand,
    ..PLAIN
};

const FROM: &str =
    "circulation_log LEFT JOIN users acting_user ON acting_user.id = circulation_log.by_user_id";

macro_rules! source {
    () => {
        "coalesce(circulation_log.source, CASE \
            WHEN btrim(acting_user.doc->'personal'->>'lastName') <> '' \
                AND btrim(acting_user.doc->'personal'->>'firstName') <> '' \
            THEN (acting_user.doc->'personal'->>'lastName') || ', ' || (acting_user.doc->'personal'->>'firstName') \
            ELSE acting_user.doc->>'username' END)"
    };
}
const SOURCE: &str = source!();

macro_rules! items {
    () => {
        "(CASE WHEN coalesce(circulation_log.item_id, circulation_log.instance_id, circulation_log.loan_id) IS NULL \
            AND circulation_log.item_barcode IS NULL THEN '[]' \
          ELSE jsonb_build_array(jsonb_strip_nulls(jsonb_build_object( \
            'itemBarcode', circulation_log.item_barcode, 'itemId', circulation_log.item_id, \
            'instanceId', circulation_log.instance_id, 'holdingId', circulation_log.holdings_id, \
            'loanId', circulation_log.loan_id))) END || coalesce(circulation_log.doc->'items', '[]'))"
    };
}
const ITEMS: &str = items!();

// FOLIO quirk: an entry without a patron's barcode shows a hyphen, which no query finds.
const DOCUMENT: &str = concat!(
    "jsonb_strip_nulls(jsonb_build_object('id', circulation_log.id, \
        'userBarcode', coalesce(circulation_log.user_barcode, '-'), 'items', ",
    items!(),
    ", 'object', circulation_log.object, 'action', circulation_log.action, \
        'date', to_char(circulation_log.at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"+00:00\"'), \
        'servicePointId', circulation_log.service_point_id, 'source', ",
    source!(),
    ", 'description', circulation_log.description, \
        'linkToIds', jsonb_build_object('userId', circulation_log.user_id, 'requestId', circulation_log.request_id) \
            || coalesce(circulation_log.doc->'links', '{}')))"
);
