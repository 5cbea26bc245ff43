//! The vocabularies of holdings records.

use carrel_records::{PLAIN, RecordType, Refusal, RefusalCode, text, unique};

/// A kind of holdings record, such as serial.
pub static HOLDINGS_TYPE: RecordType = RecordType {
    name: "holdingsType",
    module: "mod-inventory-storage",
    table: "holdings_type",
    path: "/holdings-types",
    collection: "holdingsTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    taken: Some(|_| {
        Refusal::new("Cannot create/update entity; name is not unique")
            .with("fieldLabel", "name")
            .code(RefusalCode::NameDuplicate)
    }),
    ..PLAIN
};

/// A kind of note on a holdings record.
pub static HOLDINGS_NOTE_TYPE: RecordType = RecordType {
    name: "holdingsNoteType",
    module: "mod-inventory-storage",
    table: "holdings_note_type",
    path: "/holdings-note-types",
    collection: "holdingsNoteTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// The source of holdings records.
pub static HOLDINGS_RECORDS_SOURCE: RecordType = RecordType {
    name: "holdingsRecordsSource",
    module: "mod-inventory-storage",
    table: "holdings_records_source",
    path: "/holdings-sources",
    collection: "holdingsRecordsSources",
    shape: "
        id:string(uuid)
        name:string*
        source:string(enum=folio|local|consortium)
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// A scheme of call numbers.
pub static CALL_NUMBER_TYPE: RecordType = RecordType {
    name: "callNumberType",
    module: "mod-inventory-storage",
    table: "call_number_type",
    path: "/call-number-types",
    collection: "callNumberTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    events: Some("inventory.call-number-type"),
    ..PLAIN
};

/// Whether a holdings record may be lent to other libraries.
pub static ILL_POLICY: RecordType = RecordType {
    name: "illPolicy",
    module: "mod-inventory-storage",
    table: "ill_policy",
    path: "/ill-policies",
    collection: "illPolicies",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};
