//! Items, their types and notes.

use crate::item_state;
use carrel_records::shape::Shape;
use carrel_records::{
    Composed, PLAIN, RecordType, boolean, date, joined, number, text, through, to, unique, uuid,
};

/// An item: one physical or electronic copy that can be lent.
pub static ITEM: RecordType = RecordType {
    name: "item",
    module: "mod-inventory-storage",
    table: "item",
    path: "/item-storage/items",
    collection: "items",
    shape: "
        id:string(uuid)
        _version:integer
        hrid:string
        holdingsRecordId:string(uuid)*
        order:integer
        formerIds:array<string>(set)
        discoverySuppress:boolean
        displaySummary:string
        accessionNumber:string
        barcode:string
        effectiveShelvingOrder:string(ro)
        additionalCallNumbers:array<object>
        additionalCallNumbers[].typeId:string(uuid)
        additionalCallNumbers[].prefix:string
        additionalCallNumbers[].callNumber:string*
        additionalCallNumbers[].suffix:string
        itemLevelCallNumber:string
        itemLevelCallNumberPrefix:string
        itemLevelCallNumberSuffix:string
        itemLevelCallNumberTypeId:string(uuid)
        effectiveCallNumberComponents:object(ro)
        effectiveCallNumberComponents.callNumber:string(ro)
        effectiveCallNumberComponents.prefix:string(ro)
        effectiveCallNumberComponents.suffix:string(ro)
        effectiveCallNumberComponents.typeId:string(uuid,ro)
        volume:string
        enumeration:string
        chronology:string
        yearCaption:array<string>(set)
        itemIdentifier:string
        copyNumber:string
        numberOfPieces:string
        descriptionOfPieces:string
        numberOfMissingPieces:string
        missingPieces:string
        missingPiecesDate:string
        itemDamagedStatusId:string
        itemDamagedStatusDate:string
        administrativeNotes:array<string>
        notes:array<object>
        notes[].itemNoteTypeId:string
        notes[].note:string
        notes[].staffOnly:boolean=false
        circulationNotes:array<object>
        circulationNotes[].id:string
        circulationNotes[].noteType:string(enum=Check in|Check out)
        circulationNotes[].note:string
        circulationNotes[].source:object(open)
        circulationNotes[].source.id:string
        circulationNotes[].source.personal:object(open)
        circulationNotes[].source.personal.lastName:string
        circulationNotes[].source.personal.firstName:string
        circulationNotes[].date:string
        circulationNotes[].staffOnly:boolean=false
        status:object*
        status.name:string(enum=Aged to lost|Available|Awaiting pickup|Awaiting delivery|Checked out|\
            Claimed returned|Declared lost|In process|In process (non-requestable)|In transit|\
            Intellectual item|Long missing|Lost and paid|Missing|On order|Paged|Restricted|Order closed|\
            Unavailable|Unknown|Withdrawn)*
        status.date:string(date-time,ro)
        materialTypeId:string(uuid)*
        materialType:object(ro,virtual)
        permanentLoanTypeId:string(uuid)*
        temporaryLoanTypeId:string(uuid)
        permanentLocationId:string(uuid)
        permanentLocation:object(ro,virtual)
        temporaryLocationId:string(uuid)
        temporaryLocation:object(ro,virtual)
        effectiveLocationId:string(uuid,ro)
        electronicAccess:array<object>
        electronicAccess[].uri:string*
        electronicAccess[].linkText:string
        electronicAccess[].materialsSpecification:string
        electronicAccess[].publicNote:string
        electronicAccess[].relationshipId:string
        inTransitDestinationServicePointId:string(uuid)
        statisticalCodeIds:array<string(uuid)>(set)
        purchaseOrderLineIdentifier:string
        tags:object
        tags.tagList:array<string>
        holdingsRecord2:object(ro,virtual)
        lastCheckIn:object
        lastCheckIn.dateTime:string(date-time)
        lastCheckIn.servicePointId:string(uuid)
        lastCheckIn.staffMemberId:string(uuid)
    ",
    fields: &[
        // Most items lack these and some references below.
        text("accessionNumber").keep_accents().indexed().skip_absent(),
        // A scan changes the status between the two frequent values, which are not indexed. The brackets match the
        // index in the table's SQL file.
        text("status.name")
            .keep_accents()
            .sql("(item_state.status)")
            .indexed()
            .rare_values("(item_state.rare_status)", &["available", "checked out"]),
        joined(
            "callNumberAndSuffix",
            &["effectiveCallNumberComponents.callNumber", "effectiveCallNumberComponents.suffix"],
        )
        .keep_accents()
        .indexed(),
        joined(
            "fullCallNumber",
            &[
                "effectiveCallNumberComponents.prefix",
                "effectiveCallNumberComponents.callNumber",
                "effectiveCallNumberComponents.suffix",
            ],
        )
        .keep_accents()
        .indexed(),
        boolean("discoverySuppress").indexed(),
        text("purchaseOrderLineIdentifier").keep_accents().indexed().skip_absent(),
        text("effectiveCallNumberComponents.callNumber").keep_accents().indexed(),
        number("order").indexed(),
        text("barcode").keep_accents().indexed(),
        text("hrid").indexed(),
        date("status.date").sql("carrel.instant(item_state.status_date)"),
        date("lastCheckIn.dateTime").sql("carrel.instant(item_state.last_check_in->>'dateTime')"),
        uuid("lastCheckIn.servicePointId").sql("(item_state.last_check_in->>'servicePointId')::uuid"),
        uuid("lastCheckIn.staffMemberId").sql("(item_state.last_check_in->>'staffMemberId')::uuid"),
        uuid("inTransitDestinationServicePointId").sql("(item_state.in_transit_destination)"),
        text("effectiveShelvingOrder").indexed(),
        date("metadata.updatedDate").indexed(),
    ],
    unique: &[unique(&["barcode"]).keep_accents().relaxable(), unique(&["hrid"])],
    belongs_to: &[
        to("holdingsRecordId", "holdings_record").alias("holdingsRecords").reverse("item"),
        to("permanentLoanTypeId", "loan_type"),
        to("temporaryLoanTypeId", "loan_type").skip_absent(),
        to("materialTypeId", "material_type"),
        to("permanentLocationId", "location").skip_absent(),
        to("temporaryLocationId", "location").skip_absent(),
        to("effectiveLocationId", "location"),
        to("itemLevelCallNumberTypeId", "call_number_type").skip_absent(),
        to("effectiveCallNumberComponents.typeId", "call_number_type").skip_absent(),
    ],
    reaches: &[through(&["holdingsRecordId", "instanceId"], "instance").alias("instance").reverse("item")],
    optimistic_locking: true,
    composed: Some(Composed {
        from: item_state::FROM,
        document: item_state::DOCUMENT,
        adds: item_state::ADDS,
    }),
    events: Some("inventory.item"),
    result_info: true,
    ..PLAIN
};

/// Every status that an item can have.
pub fn statuses() -> Vec<String> {
    let shape = Shape::parse(ITEM.shape, ITEM.closed);
    shape.properties["status"].inner.properties["name"].allowed.clone()
}

/// A loan type, a criterion of the circulation rules.
pub static LOAN_TYPE: RecordType = RecordType {
    name: "loanType",
    module: "mod-inventory-storage",
    table: "loan_type",
    path: "/loan-types",
    collection: "loantypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string=local
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    events: Some("inventory.loan-type"),
    ..PLAIN
};

/// A material type, such as book or video.
pub static MATERIAL_TYPE: RecordType = RecordType {
    name: "materialType",
    module: "mod-inventory-storage",
    table: "material_type",
    path: "/material-types",
    collection: "mtypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    events: Some("inventory.material-type"),
    ..PLAIN
};

/// A kind of note on an item.
pub static ITEM_NOTE_TYPE: RecordType = RecordType {
    name: "itemNoteType",
    module: "mod-inventory-storage",
    table: "item_note_type",
    path: "/item-note-types",
    collection: "itemNoteTypes",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// The damage of an item.
pub static ITEM_DAMAGE_STATUS: RecordType = RecordType {
    name: "itemDamageStatus",
    module: "mod-inventory-storage",
    table: "item_damaged_status",
    path: "/item-damaged-statuses",
    collection: "itemDamageStatuses",
    shape: "
        id:string(uuid)
        name:string*
        source:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};
