//! Tags, as mod-tags stores them.

use carrel_records::{PLAIN, RecordType, Routes, text, unique};

/// A label that staff attach to records.
pub static TAG: RecordType = RecordType {
    name: "tag",
    module: "mod-tags",
    table: "tags",
    path: "/tags",
    collection: "tags",
    shape: "
        id:string(uuid)
        label:string(length=..255)*
        description:string(length=..255)
    ",
    closed: false,
    fields: &[text("label").keep_accents().indexed(), text("description").keep_accents()],
    unique: &[unique(&["label"]).exact()],
    routes: Routes::ByHand,
    ..PLAIN
};
