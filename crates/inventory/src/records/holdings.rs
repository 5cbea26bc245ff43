//! Holdings records and bound-with parts.

use carrel_records::{PLAIN, Put, RecordType, boolean, date, joined, text, to, unique};

/// A holdings record: the items of an instance in one location.
pub static HOLDINGS_RECORD: RecordType = RecordType {
    name: "holdingsRecord",
    module: "mod-inventory-storage",
    table: "holdings_record",
    path: "/holdings-storage/holdings",
    collection: "holdingsRecords",
    shape: "
        id:string(uuid)
        _version:integer
        sourceId:string(uuid)*
        hrid:string
        holdingsTypeId:string(uuid)
        formerIds:array<string>(set)
        instanceId:string(uuid)*
        permanentLocationId:string(uuid)*
        temporaryLocationId:string(uuid)
        effectiveLocationId:string(uuid)
        electronicAccess:array<object>
        electronicAccess[].uri:string*
        electronicAccess[].linkText:string
        electronicAccess[].materialsSpecification:string
        electronicAccess[].publicNote:string
        electronicAccess[].relationshipId:string
        additionalCallNumbers:array<object>
        additionalCallNumbers[].typeId:string(uuid)
        additionalCallNumbers[].prefix:string
        additionalCallNumbers[].callNumber:string*
        additionalCallNumbers[].suffix:string
        callNumberTypeId:string(uuid)
        callNumberPrefix:string
        callNumber:string
        callNumberSuffix:string
        shelvingTitle:string
        acquisitionFormat:string
        acquisitionMethod:string
        receiptStatus:string
        administrativeNotes:array<string>
        notes:array<object>
        notes[].holdingsNoteTypeId:string(uuid)
        notes[].note:string
        notes[].staffOnly:boolean=false
        illPolicyId:string(uuid)
        retentionPolicy:string
        digitizationPolicy:string
        holdingsStatements:array<object>
        holdingsStatements[].statement:string
        holdingsStatements[].note:string
        holdingsStatements[].staffNote:string
        holdingsStatementsForIndexes:array<object>
        holdingsStatementsForIndexes[].statement:string
        holdingsStatementsForIndexes[].note:string
        holdingsStatementsForIndexes[].staffNote:string
        holdingsStatementsForSupplements:array<object>
        holdingsStatementsForSupplements[].statement:string
        holdingsStatementsForSupplements[].note:string
        holdingsStatementsForSupplements[].staffNote:string
        copyNumber:string
        numberOfItems:string
        receivingHistory:object
        receivingHistory.displayType:string
        receivingHistory.entries:array<object>
        receivingHistory.entries[].publicDisplay:boolean
        receivingHistory.entries[].enumeration:string
        receivingHistory.entries[].chronology:string
        discoverySuppress:boolean
        statisticalCodeIds:array<string(uuid)>(set)
        tags:object
        tags.tagList:array<string>
    ",
    fields: &[
        text("callNumber").keep_accents().indexed(),
        joined("callNumberAndSuffix", &["callNumber", "callNumberSuffix"]).keep_accents().indexed(),
        joined("fullCallNumber", &["callNumberPrefix", "callNumber", "callNumberSuffix"])
            .keep_accents()
            .indexed(),
        boolean("discoverySuppress").indexed(),
        text("hrid").indexed(),
        date("metadata.updatedDate").indexed(),
    ],
    unique: &[unique(&["hrid"])],
    belongs_to: &[
        to("instanceId", "instance").alias("instance").reverse("holdingsRecords"),
        to("permanentLocationId", "location"),
        to("temporaryLocationId", "location"),
        to("effectiveLocationId", "location").alias("effectiveLocation"),
        to("holdingsTypeId", "holdings_type"),
        to("callNumberTypeId", "call_number_type"),
        to("illPolicyId", "ill_policy"),
        to("sourceId", "holdings_records_source"),
    ],
    optimistic_locking: true,
    events: Some("inventory.holdings-record"),
    result_info: true,
    put: Put::CreatesToo,
    ..PLAIN
};

/// A holdings record whose content is bound into an item.
pub static BOUND_WITH_PART: RecordType = RecordType {
    name: "boundWithPart",
    module: "mod-inventory-storage",
    table: "bound_with_part",
    path: "/inventory-storage/bound-with-parts",
    collection: "boundWithParts",
    shape: "
        id:string(uuid)
        holdingsRecordId:string(uuid)*
        itemId:string(uuid)*
    ",
    unique: &[unique(&["itemId", "holdingsRecordId"])],
    belongs_to: &[to("itemId", "item"), to("holdingsRecordId", "holdings_record")],
    events: Some("inventory.bound-with"),
    ..PLAIN
};
