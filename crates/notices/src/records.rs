//! Texts of notices.

use carrel_records::{PLAIN, RecordType};

/// Every record type of this wing.
pub static RECORD_TYPES: &[&RecordType] = &[&TEMPLATE];

/// A text of notices in its languages and formats.
pub static TEMPLATE: RecordType = RecordType {
    name: "template",
    module: "mod-template-engine",
    table: "template",
    path: "/templates",
    collection: "templates",
    shape: "
        id:string(uuid)
        description:string
        outputFormats:array<string>*
        templateResolver:string*
        localizedTemplates:object*
        scope:string
    ",
    closed: false,
    ..PLAIN
};

#[cfg(test)]
mod tests {
    use super::RECORD_TYPES;

    #[test]
    fn the_declarations_hold_together() {
        assert_eq!(carrel_records::soundness::faults(RECORD_TYPES, &[]), [""; 0]);
    }
}
