//! Notes on patrons and other things, by type.

use carrel_records::{PLAIN, RecordType, date, text, to, unique};

/// A kind of note.
pub static NOTE_TYPE: RecordType = RecordType {
    name: "noteType",
    module: "mod-notes",
    table: "note_type",
    path: "/note-types",
    collection: "noteTypes",
    shape: "
        id:string(uuid)
        name:string*
        usage:object(ro)
        usage.isAssigned:boolean(ro)
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// What staff wrote on somebody or something.
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
    fields: &[
        text("title").indexed(),
        text("domain").indexed(),
        text("type").indexed(),
        date("metadata.updatedDate").indexed(),
    ],
    belongs_to: &[to("typeId", "note_type")],
    ..PLAIN
};
