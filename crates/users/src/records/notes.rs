//! Notes on users and other things, and their types.

use carrel_records::{Composed, PLAIN, RecordType, date, text, to, unique};

/// A type of note. FOLIO's table is named `type`, which would be ambiguous in the schema that all modules share.
pub static NOTE_TYPE: RecordType = RecordType {
    name: "noteType",
    module: "mod-notes",
    table: "note_type",
    path: "/note-types",
    collection: "noteTypes",
    shape: "
        id:string(uuid)
        name:string(length=..255)*
        usage:object(ro,open)
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"]).exact()],
    composed: Some(Composed {
        from: "note_type",
        document: "note_type.doc || jsonb_build_object('usage', jsonb_build_object('isAssigned', \
                   EXISTS (SELECT 1 FROM note n WHERE n.type_id = note_type.id)))",
        adds: &[],
    }),
    ..PLAIN
};

/// A note, linked to the objects that it is about.
pub static NOTE: RecordType = RecordType {
    name: "note",
    module: "mod-notes",
    table: "note",
    path: "/notes",
    collection: "notes",
    shape: "
        id:string(uuid)
        typeId:string(uuid)*
        type:string
        title:string*
        domain:string*
        content:string
        popUpOnCheckOut:boolean
        popUpOnUser:boolean
        links:array<object>
        links[].id:string*
        links[].type:string*
    ",
    closed: false,
    fields: &[
        text("title").indexed(),
        text("domain").indexed(),
        text("content"),
        date("metadata.updatedDate").indexed(),
        text("type").sql("note_type.doc->>'name'"),
    ],
    belongs_to: &[to("typeId", "note_type")],
    composed: Some(Composed {
        from: "note LEFT JOIN note_type ON note_type.id = note.type_id",
        document: "note.doc || jsonb_build_object('type', note_type.doc->>'name')",
        adds: &[],
    }),
    ..PLAIN
};
