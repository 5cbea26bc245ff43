//! Instances and what links them.

use carrel_records::{PLAIN, RecordType, Routes, array, boolean, date, mentions, objects, text, to, unique};

/// An instance: one edition of a work.
pub static INSTANCE: RecordType = RecordType {
    name: "instance",
    module: "mod-inventory-storage",
    table: "instance",
    path: "/instance-storage/instances",
    collection: "instances",
    shape: "
        id:string(uuid)
        _version:integer
        hrid:string
        matchKey:string
        sourceUri:string
        source:string*
        title:string*
        indexTitle:string
        alternativeTitles:array<object>(open,set)
        alternativeTitles[].alternativeTitleTypeId:string(uuid)
        alternativeTitles[].alternativeTitle:string
        alternativeTitles[].authorityId:string(uuid)
        editions:array<string>(set)
        series:array<object>(set)
        series[].value:string*
        series[].authorityId:string(uuid)
        identifiers:array<object>
        identifiers[].value:string*
        identifiers[].identifierTypeId:string(uuid)*
        identifiers[].identifierTypeObject:object(ro,virtual)
        contributors:array<object>
        contributors[].name:string*
        contributors[].contributorTypeId:string(uuid)
        contributors[].contributorTypeText:string
        contributors[].contributorNameTypeId:string(uuid)*
        contributors[].authorityId:string(uuid)
        contributors[].contributorNameType:object(ro,virtual)
        contributors[].primary:boolean
        subjects:array<object>(set)
        subjects[].value:string*
        subjects[].authorityId:string(uuid)
        subjects[].sourceId:string(uuid)
        subjects[].typeId:string(uuid)
        classifications:array<object>
        classifications[].classificationNumber:string*
        classifications[].classificationTypeId:string(uuid)*
        classifications[].classificationType:object(ro,virtual)
        publication:array<object>(open)
        publication[].publisher:string
        publication[].place:string
        publication[].dateOfPublication:string
        publication[].role:string
        publicationFrequency:array<string>(set)
        publicationRange:array<string>(set)
        electronicAccess:array<object>
        electronicAccess[].uri:string*
        electronicAccess[].linkText:string
        electronicAccess[].materialsSpecification:string
        electronicAccess[].publicNote:string
        electronicAccess[].relationshipId:string
        dates:object
        dates.dateTypeId:string(uuid)
        dates.date1:string(length=..4)
        dates.date2:string(length=..4)
        instanceTypeId:string(uuid)*
        instanceFormatIds:array<string(uuid)>
        instanceFormats:array<object>(ro,virtual)
        physicalDescriptions:array<string>
        languages:array<string>
        notes:array<object>
        notes[].instanceNoteTypeId:string(uuid)
        notes[].note:string
        notes[].staffOnly:boolean=false
        administrativeNotes:array<string>
        modeOfIssuanceId:string(uuid)
        catalogedDate:string
        previouslyHeld:boolean=false
        staffSuppress:boolean
        discoverySuppress:boolean=false
        deleted:boolean=false
        statisticalCodeIds:array<string>(set)
        sourceRecordFormat:string(ro,enum=MARC-JSON)
        statusId:string(uuid)
        statusUpdatedDate:string
        tags:object
        tags.tagList:array<string>
        holdingsRecords2:array<object>(ro,virtual)
        natureOfContentTermIds:array<string(uuid)>(set)
    ",
    fields: &[
        text("matchKey").indexed(),
        text("source").keep_accents().indexed(),
        text("indexTitle").indexed(),
        text("sourceUri").indexed(),
        boolean("staffSuppress").indexed(),
        boolean("discoverySuppress").indexed(),
        date("metadata.updatedDate").indexed(),
        objects("identifiers", "value", &["identifierTypeId"]).words(),
        text("invalidIsbn").sql(INVALID_ISBNS).ignore_hyphens().words(),
        text("isbn").sql(ISBNS).ignore_hyphens().words(),
        text("hrid").indexed(),
        text("title").indexed().words(),
        objects("contributors", "name", &["contributorNameTypeId", "contributorTypeId"]).words(),
        array("statisticalCodeIds").words(),
    ],
    unique: &[unique(&["hrid"]), unique(&["matchKey"])],
    belongs_to: &[
        to("modeOfIssuanceId", "mode_of_issuance"),
        to("dates.dateTypeId", "instance_date_type"),
        to("instanceTypeId", "instance_type"),
        mentions("statusId", "instance_status"),
    ],
    optimistic_locking: true,
    events: Some("inventory.instance"),
    result_info: true,
    ..PLAIN
};

/// A link between two instances, such as a volume and its series.
pub static INSTANCE_RELATIONSHIP: RecordType = RecordType {
    name: "instanceRelationship",
    module: "mod-inventory-storage",
    table: "instance_relationship",
    path: "/instance-storage/instance-relationships",
    collection: "instanceRelationships",
    shape: "
        id:string(uuid)
        superInstanceId:string(uuid)*
        subInstanceId:string(uuid)*
        instanceRelationshipTypeId:string(uuid)*
    ",
    belongs_to: &[
        to("superInstanceId", "instance"),
        to("subInstanceId", "instance"),
        to("instanceRelationshipTypeId", "instance_relationship_type"),
    ],
    ..PLAIN
};

/// The preceding or succeeding title of a serial.
pub static INSTANCE_PRECEDING_SUCCEEDING_TITLE: RecordType = RecordType {
    name: "instancePrecedingSucceedingTitle",
    module: "mod-inventory-storage",
    table: "preceding_succeeding_title",
    path: "/preceding-succeeding-titles",
    collection: "precedingSucceedingTitles",
    shape: "
        id:string(uuid)
        precedingInstanceId:string(uuid)
        succeedingInstanceId:string(uuid)
        title:string
        hrid:string
        identifiers:array<object>
        identifiers[].value:string*
        identifiers[].identifierTypeId:string(uuid)*
        identifiers[].identifierTypeObject:object(ro,virtual)
    ",
    belongs_to: &[to("precedingInstanceId", "instance"), to("succeedingInstanceId", "instance")],
    ..PLAIN
};

/// The MARC record of an instance.
pub static MARC_JSON: RecordType = RecordType {
    name: "marcJson",
    module: "mod-inventory-storage",
    table: "instance_source_marc",
    path: "/instance-storage/instances/{id}/source-record/marc-json",
    shape: "
        id:string(uuid)
        leader:string(length=24..24)*
        fields:array(items=2..)*
    ",
    metadata: false,
    routes: Routes::ByHand,
    ..PLAIN
};

/// Valid ISBNs, as text; the id is FOLIO's for the identifier type ISBN.
const ISBNS: &str = "jsonb_path_query_array(instance.doc, '$.identifiers[*] ? (@.identifierTypeId == \
     \"8261054f-be78-422d-bd51-4ed9f33c3422\").value')::text";

/// Invalid ISBNs, as text; the id is FOLIO's for the identifier type Invalid ISBN.
const INVALID_ISBNS: &str = "jsonb_path_query_array(instance.doc, '$.identifiers[*] ? (@.identifierTypeId == \
     \"fcca2643-406a-482a-b760-7a7f8aec640e\").value')::text";
