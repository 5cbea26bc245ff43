//! What mod-entities-links stores of authorities: the files that they come from.

use carrel_records::{PLAIN, RecordType, Routes, text};

/// A thesaurus or name file that headings come from.
pub static AUTHORITY_SOURCE_FILE: RecordType = RecordType {
    name: "authoritySourceFile",
    module: "mod-entities-links",
    table: "authority_source_file",
    path: "/authority-source-files",
    collection: "authoritySourceFiles",
    routes: Routes::ByHand,
    shape: "
        id:string(uuid)
        name:string*
        codes:array<string>*
        type:string
        baseUrl:string
        source:string(enum=folio|local)*
        selectable:boolean
        hridManagement:object
        hridManagement.startNumber:integer
    ",
    fields: &[text("name").indexed(), text("type"), text("source")],
    optimistic_locking: true,
    ..PLAIN
};

/// What is sent to make one.
pub static NEW_AUTHORITY_SOURCE_FILE: RecordType = RecordType {
    name: "authoritySourceFilePostDto",
    module: "mod-entities-links",
    table: "authority_source_file_new",
    routes: Routes::ByHand,
    shape: "
        id:string(uuid)
        name:string*
        code:string(length=1..25)*
        type:string
        baseUrl:string
        selectable:boolean=true
        hridManagement:object
        hridManagement.startNumber:integer(min=0)
    ",
    metadata: false,
    ..PLAIN
};

/// What is sent to change one.
pub static AUTHORITY_SOURCE_FILE_PATCH: RecordType = RecordType {
    name: "authoritySourceFilePatchDto",
    module: "mod-entities-links",
    table: "authority_source_file_patch",
    routes: Routes::ByHand,
    shape: "
        name:string
        code:string(length=1..25)
        type:string
        baseUrl:string
        selectable:boolean
        hridManagement:object
        hridManagement.startNumber:integer(min=0)
        _version:integer*
    ",
    metadata: false,
    ..PLAIN
};
