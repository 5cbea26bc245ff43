//! Requests and cancellation reasons.

use carrel_records::{PLAIN, Put, RecordType, boolean, date, joined, mentions, text, to, unique};

/// The flag of requests that were placed at a desk or by a patron: their copies of barcodes, names, call number and title
/// come from item, instance and requester, which still exist. It is null for requests that a client of the storage API
/// wrote.
pub const KEEPS_COPIES: &str = "keeps_copies";

/// A patron's request for an item or instance.
pub static REQUEST: RecordType = RecordType {
    name: "request",
    module: "mod-circulation-storage",
    table: "request",
    path: "/request-storage/requests",
    collection: "requests",
    shape: "
        id:string(uuid)
        requestLevel:string(enum=Item|Title)*
        requestType:string(enum=Hold|Recall|Page)*
        ecsRequestPhase:string(enum=Primary|Secondary|Intermediate)
        requestDate:string(date-time)*
        patronComments:string
        requesterId:string(uuid)*
        proxyUserId:string(uuid)
        instanceId:string(uuid)*
        holdingsRecordId:string(uuid)
        itemId:string(uuid)
        status:string(enum=Open - Not yet filled|Open - Awaiting pickup|Open - In transit|\
            Open - Awaiting delivery|Closed - Filled|Closed - Cancelled|Closed - Unfilled|\
            Closed - Pickup expired)*
        cancellationReasonId:string(uuid)
        cancelledByUserId:string
        cancellationAdditionalInformation:string
        cancelledDate:string(date-time)
        position:integer
        instance:object(open)
        instance.title:string
        instance.identifiers:array<object>
        instance.identifiers[].value:string*
        instance.identifiers[].identifierTypeId:string(uuid)*
        item:object
        item.barcode:string
        item.itemEffectiveLocationId:string(uuid)
        item.itemEffectiveLocationName:string
        item.retrievalServicePointId:string(uuid)
        item.retrievalServicePointName:string
        requester:object
        requester.firstName:string
        requester.lastName:string
        requester.middleName:string
        requester.barcode:string
        requester.patronGroup:string
        proxy:object
        proxy.firstName:string
        proxy.lastName:string
        proxy.middleName:string
        proxy.barcode:string
        proxy.patronGroup:string
        fulfillmentPreference:string(enum=Hold Shelf|Delivery)*
        deliveryAddressTypeId:string(uuid)
        requestExpirationDate:string(date-time)
        holdShelfExpirationDate:string(date-time)
        pickupServicePointId:string(uuid)
        tags:object
        tags.tagList:array<string>
        printDetails:object
        printDetails.printCount:integer
        printDetails.requesterId:string
        printDetails.isPrinted:boolean
        printDetails.printEventDate:string(date-time)
        awaitingPickupRequestClosedDate:string(date-time,ro)
        searchIndex:object
        searchIndex.callNumberComponents:object
        searchIndex.callNumberComponents.callNumber:string
        searchIndex.callNumberComponents.prefix:string
        searchIndex.callNumberComponents.suffix:string
        searchIndex.shelvingOrder:string
        searchIndex.pickupServicePointName:string
        itemLocationCode:string
        isDcbReRequestCancellation:boolean
    ",
    // Every change of a request rewrites all its index entries, and renumbering a queue changes all its requests. So
    // indexed is what staff search requests by, and their status; the rest narrows those further. What a request
    // repeats of item, title and requester is found by the indexes of those records.
    fields: &[
        text("requestType").keep_accents(),
        text("status").keep_accents().indexed(),
        text("requestLevel").keep_accents(),
        text("searchIndex.pickupServicePointName").keep_accents(),
        text("searchIndex.shelvingOrder").keep_accents(),
        text("item.itemEffectiveLocationId").keep_accents(),
        text("item.itemEffectiveLocationName").keep_accents(),
        text("item.retrievalServicePointId").keep_accents(),
        text("item.retrievalServicePointName").keep_accents(),
        text("searchIndex.callNumberComponents.callNumber").keep_accents().indexed().copy_of(
            "itemId",
            "effectiveCallNumberComponents.callNumber",
            KEEPS_COPIES,
        ),
        joined(
            "fullCallNumberIndex",
            &[
                "searchIndex.callNumberComponents.prefix",
                "searchIndex.callNumberComponents.callNumber",
                "searchIndex.callNumberComponents.suffix",
            ],
        )
        .keep_accents()
        .indexed()
        .copy_of("itemId", "fullCallNumber", KEEPS_COPIES),
        text("itemIdEq").at("itemId").keep_case().keep_accents(),
        text("itemIsbn").sql(ISBNS_OF_THE_TITLE).words().ignore_hyphens().copy_of(
            "instanceId",
            "isbn",
            KEEPS_COPIES,
        ),
        date("requestDate").indexed(),
        date("requestExpirationDate"),
        date("holdShelfExpirationDate"),
        text("item.barcode").indexed().copy_of("itemId", "barcode", KEEPS_COPIES),
        text("requester.barcode").indexed().copy_of("requesterId", "barcode", KEEPS_COPIES),
        text("requester.lastName").indexed().copy_of("requesterId", "personal.lastName", KEEPS_COPIES),
        text("instance.title").words().copy_of("instanceId", "title", KEEPS_COPIES),
        // Few requests have them.
        text("proxy.lastName").indexed().skip_absent(),
        boolean("printDetails.isPrinted").indexed().skip_absent(),
        date("metadata.updatedDate"),
    ],
    flags: &[KEEPS_COPIES],
    // A constraint in `tables.sql` ensures that no two requests of a queue have the same position.
    belongs_to: &[
        to("cancellationReasonId", "cancellation_reason").skip_absent(),
        mentions("itemId", "item").indexed_by_module(),
        mentions("pickupServicePointId", "service_point"),
        mentions("requesterId", "users"),
        mentions("instanceId", "instance").indexed_by_module(),
    ],
    events: Some("circulation.request"),
    put: Put::CreatesToo,
    ..PLAIN
};

/// Why a request is cancelled.
pub static CANCELLATION_REASON: RecordType = RecordType {
    name: "cancellationReason",
    module: "mod-circulation-storage",
    table: "cancellation_reason",
    path: "/cancellation-reason-storage/cancellation-reasons",
    collection: "cancellationReasons",
    shape: "
        id:string(uuid)
        name:string*
        description:string
        publicDescription:string
        requiresAdditionalInformation:boolean
        source:string
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// Valid ISBNs of the requested title, as text; the id is FOLIO's for the identifier type ISBN.
const ISBNS_OF_THE_TITLE: &str = "jsonb_path_query_array(request.doc, \
     '$.instance.identifiers[*] ? (@.identifierTypeId == \
     \"8261054f-be78-422d-bd51-4ed9f33c3422\").value')::text";
