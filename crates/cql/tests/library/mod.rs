//! A small library of record types for the tests.

use carrel_records::{
    Composed, PLAIN, RecordType, array, boolean, date, joined, mentions, number, objects, text, through, to,
    unique,
};

pub static INSTANCE: RecordType = RecordType {
    name: "instance",
    table: "instance",
    shape: "title:string*; source:string; identifiers:array<object>; identifiers[].value:string; \
            statisticalCodeIds:array<string>; dates:object; dates.date1:string; catalogedDate:string(date-time); \
            copies:integer; staffSuppress:boolean; sourceRecordId:string(uuid)",
    fields: &[
        text("title").indexed().words(),
        objects("identifiers", "value", &["identifierTypeId"]).indexed().words(),
        array("statisticalCodeIds").indexed(),
        text("isbn").sql("instance.doc->>'isbns'").ignore_hyphens().words(),
    ],
    unique: &[unique(&["hrid"])],
    ..PLAIN
};

pub static HOLDINGS: RecordType = RecordType {
    name: "holdingsRecord",
    table: "holdings_record",
    shape: "instanceId:string(uuid); callNumber:string",
    fields: &[text("callNumber").keep_accents().indexed()],
    belongs_to: &[to("instanceId", "instance").alias("instance").reverse("holdingsRecords")],
    ..PLAIN
};

pub static ITEM: RecordType = RecordType {
    name: "item",
    table: "item",
    shape: "barcode:string; status:object; status.name:string; position:integer; holdingsRecordId:string(uuid); \
            lastCheckIn:object; lastCheckIn.dateTime:string(date-time)",
    fields: &[
        text("barcode").indexed(),
        text("status.name").sql("item_state.status_name").keep_case().keep_accents().indexed(),
        text("note").words(),
        number("position").indexed(),
        boolean("discoverySuppress").indexed(),
        date("dueDate").indexed(),
        joined("fullCallNumber", &["prefix", "callNumber"]).indexed(),
    ],
    belongs_to: &[
        to("holdingsRecordId", "holdings_record").alias("holdingsRecords").reverse("item"),
        mentions("loanTypeId", "loan_type"),
    ],
    reaches: &[through(&["holdingsRecordId", "instanceId"], "instance").alias("instance").reverse("item")],
    unique: &[unique(&["module", "code"]).absent_too(), unique(&["hrid"]).when("doc ? 'hrid'")],
    composed: Some(Composed {
        from: "item JOIN item_state ON item_state.id = item.id",
        document: "item.doc || item_state.doc",
        adds: &[],
    }),
    ..PLAIN
};

pub static ALL: &[&RecordType] = &[&INSTANCE, &HOLDINGS, &ITEM];
