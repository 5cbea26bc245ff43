//! The vocabularies of instances.

use carrel_records::{PLAIN, RecordType, text, to, unique};

/// A type of content (RDA), such as text.
pub static INSTANCE_TYPE: RecordType = RecordType {
    name: "instanceType",
    module: "mod-inventory-storage",
    table: "instance_type",
    path: "/instance-types",
    collection: "instanceTypes",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        source:any*
    ",
    closed: false,
    fields: &[text("code").indexed(), text("name").indexed()],
    unique: &[unique(&["name"]), unique(&["code"])],
    ..PLAIN
};

/// A carrier (RDA), such as volume.
pub static INSTANCE_FORMAT: RecordType = RecordType {
    name: "instanceFormat",
    module: "mod-inventory-storage",
    table: "instance_format",
    path: "/instance-formats",
    collection: "instanceFormats",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        source:string*
    ",
    closed: false,
    fields: &[text("code").indexed(), text("name").indexed()],
    unique: &[unique(&["name"]), unique(&["code"])],
    ..PLAIN
};

/// The cataloging state of an instance.
pub static INSTANCE_STATUS: RecordType = RecordType {
    name: "instanceStatus",
    module: "mod-inventory-storage",
    table: "instance_status",
    path: "/instance-statuses",
    collection: "instanceStatuses",
    shape: "
        id:string(uuid)
        code:string*
        name:string*
        source:string*
    ",
    closed: false,
    fields: &[text("code").indexed(), text("name").indexed()],
    unique: &[unique(&["name"]), unique(&["code"])],
    ..PLAIN
};

/// The mode of issuance of an instance: at once, in parts, continuously.
pub static ISSUANCE_MODE: RecordType = RecordType {
    name: "issuanceMode",
    module: "mod-inventory-storage",
    table: "mode_of_issuance",
    path: "/modes-of-issuance",
    collection: "issuanceModes",
    shape: "
        id:string(uuid)
        name:string*
        source:string
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// The meaning of the two dates of an instance.
pub static INSTANCE_DATE_TYPE: RecordType = RecordType {
    name: "instanceDateType",
    module: "mod-inventory-storage",
    table: "instance_date_type",
    path: "/instance-date-types",
    collection: "instanceDateTypes",
    shape: "
        id:string(uuid)
        name:string
        code:string
        displayFormat:object
        displayFormat.delimiter:string
        displayFormat.keepDelimiter:boolean
        source:string(enum=folio|local)
    ",
    events: Some("inventory.instance-date-type"),
    ..PLAIN
};

/// A nature of content, such as biography.
pub static NATURE_OF_CONTENT_TERM: RecordType = RecordType {
    name: "natureOfContentTerm",
    module: "mod-inventory-storage",
    table: "nature_of_content_term",
    path: "/nature-of-content-terms",
    collection: "natureOfContentTerms",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// A kind of note on an instance.
pub static INSTANCE_NOTE_TYPE: RecordType = RecordType {
    name: "instanceNoteType",
    module: "mod-inventory-storage",
    table: "instance_note_type",
    path: "/instance-note-types",
    collection: "instanceNoteTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// A kind of link between instances.
pub static INSTANCE_RELATIONSHIP_TYPE: RecordType = RecordType {
    name: "instanceRelationshipType",
    module: "mod-inventory-storage",
    table: "instance_relationship_type",
    path: "/instance-relationship-types",
    collection: "instanceRelationshipTypes",
    shape: "
        id:string(uuid)
        name:string*
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// A kind of identifier, such as ISBN.
pub static IDENTIFIER_TYPE: RecordType = RecordType {
    name: "identifierType",
    module: "mod-inventory-storage",
    table: "identifier_type",
    path: "/identifier-types",
    collection: "identifierTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// The role of a contributor, such as translator.
pub static CONTRIBUTOR_TYPE: RecordType = RecordType {
    name: "contributorType",
    module: "mod-inventory-storage",
    table: "contributor_type",
    path: "/contributor-types",
    collection: "contributorTypes",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        source:any*
    ",
    closed: false,
    fields: &[text("code").indexed(), text("name").indexed()],
    unique: &[unique(&["name"]), unique(&["code"])],
    ..PLAIN
};

/// A kind of name: personal, corporate, meeting.
pub static CONTRIBUTOR_NAME_TYPE: RecordType = RecordType {
    name: "contributorNameType",
    module: "mod-inventory-storage",
    table: "contributor_name_type",
    path: "/contributor-name-types",
    collection: "contributorNameTypes",
    shape: "
        id:string(uuid)
        name:string*
        ordering:string
        source:string
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// A kind of alternative title.
pub static ALTERNATIVE_TITLE_TYPE: RecordType = RecordType {
    name: "alternativeTitleType",
    module: "mod-inventory-storage",
    table: "alternative_title_type",
    path: "/alternative-title-types",
    collection: "alternativeTitleTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// A classification scheme.
pub static CLASSIFICATION_TYPE: RecordType = RecordType {
    name: "classificationType",
    module: "mod-inventory-storage",
    table: "classification_type",
    path: "/classification-types",
    collection: "classificationTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    events: Some("inventory.classification-type"),
    ..PLAIN
};

/// A list of subject headings.
pub static SUBJECT_SOURCE: RecordType = RecordType {
    name: "subjectSource",
    module: "mod-inventory-storage",
    table: "subject_source",
    path: "/subject-sources",
    collection: "subjectSources",
    shape: "
        id:string(uuid)
        name:string*
        code:string
        source:string(enum=folio|local|consortium)*
    ",
    closed: false,
    fields: &[text("code").indexed(), text("name").indexed()],
    unique: &[unique(&["name"]), unique(&["code"])],
    events: Some("inventory.subject-source"),
    ..PLAIN
};

/// A kind of subject heading.
pub static SUBJECT_TYPE: RecordType = RecordType {
    name: "subjectType",
    module: "mod-inventory-storage",
    table: "subject_type",
    path: "/subject-types",
    collection: "subjectTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string(enum=folio|local|consortium)*
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    events: Some("inventory.subject-type"),
    ..PLAIN
};

/// The target of a link: the resource, a version of it.
pub static ELECTRONIC_ACCESS_RELATIONSHIP: RecordType = RecordType {
    name: "electronicAccessRelationship",
    module: "mod-inventory-storage",
    table: "electronic_access_relationship",
    path: "/electronic-access-relationships",
    collection: "electronicAccessRelationships",
    shape: "
        id:string(uuid)
        name:string*
        source:string
    ",
    closed: false,
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// A code for the library's statistics.
pub static STATISTICAL_CODE: RecordType = RecordType {
    name: "statisticalCode",
    module: "mod-inventory-storage",
    table: "statistical_code",
    path: "/statistical-codes",
    collection: "statisticalCodes",
    shape: "
        id:string(uuid)
        code:string*
        name:string*
        statisticalCodeTypeId:string(uuid)*
        source:any*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["code", "statisticalCodeTypeId"]), unique(&["name"])],
    belongs_to: &[to("statisticalCodeTypeId", "statistical_code_type")],
    ..PLAIN
};

/// A family of statistical codes.
pub static STATISTICAL_CODE_TYPE: RecordType = RecordType {
    name: "statisticalCodeType",
    module: "mod-inventory-storage",
    table: "statistical_code_type",
    path: "/statistical-code-types",
    collection: "statisticalCodeTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
        code:string
    ",
    closed: false,
    unique: &[unique(&["code"])],
    ..PLAIN
};
