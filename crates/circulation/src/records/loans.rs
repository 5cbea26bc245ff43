//! Loans, their history, and other records of the desk.

use carrel_records::{PLAIN, Put, RecordType, Routes, boolean, date, mentions, text, unique};

/// Condition that a loan is open: the column of the index that finds the open loan of an item. Statements that look
/// for the open loans of a patron use `is_open`, as the index on patrons does.
pub const OPEN: &str = "holds_item";

/// The index that prevents a second open loan of an item.
pub const ONE_OPEN_LOAN: &str = "loan_of_item";

/// A loan of an item to a patron, open or closed.
pub static LOAN: RecordType = RecordType {
    name: "loan",
    module: "mod-circulation-storage",
    table: "loan",
    path: "/loan-storage/loans",
    collection: "loans",
    shape: "
        id:string(uuid)
        userId:string(uuid)
        proxyUserId:string(uuid)
        itemId:string(uuid)*
        itemEffectiveLocationIdAtCheckOut:string(uuid)
        status:object
        status.name:string
        forUseAtLocation:object(open)
        forUseAtLocation.status:string(enum=In use|Held|Returned)
        forUseAtLocation.statusDate:string(date-time)
        forUseAtLocation.holdShelfExpirationDate:string(date-time)
        loanDate:string(date-time)*
        dueDate:string(date-time)
        returnDate:string(date-time)
        systemReturnDate:string(date-time)
        action:string*
        actionComment:string
        itemStatus:string
        renewalCount:integer
        loanPolicyId:string
        checkoutServicePointId:string(uuid)
        checkinServicePointId:string(uuid)
        patronGroupIdAtCheckout:string
        dueDateChangedByRecall:boolean
        isDcb:boolean
        declaredLostDate:string(date-time)
        claimedReturnedDate:string(date-time)
        overdueFinePolicyId:string(uuid)
        lostItemPolicyId:string(uuid)
        agedToLostDelayedBilling:object(open)
        agedToLostDelayedBilling.lostItemHasBeenBilled:boolean
        agedToLostDelayedBilling.dateLostItemShouldBeBilled:string(date-time)
        agedToLostDelayedBilling.agedToLostDate:string(date-time)
        reminders:object
        reminders.lastFeeBilled:object
        reminders.lastFeeBilled.number:integer
        reminders.lastFeeBilled.date:string(date-time)
    ",
    // Every scan updates every index. This one serves jobs and lists, which search open loans by due date; otherwise a
    // loan is found by patron or item.
    fields: &[
        date("dueDate"),
        text("status.name").keep_accents().indexed().then("dueDate"),
        text("metadata.createdByUsername"),
        date("loanDate"),
        date("returnDate"),
        date("systemReturnDate"),
        text("itemStatus"),
        boolean("agedToLostDelayedBilling.lostItemHasBeenBilled"),
        text("action"),
        date("dateLostItemShouldBeBilled").at("agedToLostDelayedBilling.dateLostItemShouldBeBilled"),
        text("proxyUserId"),
        date("metadata.updatedDate"),
    ],
    belongs_to: &[
        mentions("userId", "users").indexed_by_module(),
        mentions("itemId", "item").indexed_by_module(),
    ],
    events: Some("circulation.loan"),
    put: Put::CreatesToo,
    ..PLAIN
};

/// One state of a loan, with its action and time.
pub static LOAN_HISTORY_ITEM: RecordType = RecordType {
    name: "loanHistoryItem",
    module: "mod-circulation-storage",
    table: "audit_loan",
    path: "/loan-storage/loan-history",
    collection: "loansHistory",
    shape: "
        id:string(uuid)*
        operation:string*
        createdDate:string(date-time)*
        loan:object*
        loan.id:string(uuid)
        loan.action:string
    ",
    closed: false,
    // Every scan writes a row: only the history of a loan has an index.
    fields: &[text("operation"), text("loan.action"), date("createdDate")],
    belongs_to: &[mentions("loan.id", "loan")],
    metadata: false,
    ..PLAIN
};

/// A check-in, whether it closed a loan or not.
pub static CHECK_IN: RecordType = RecordType {
    name: "checkIn",
    module: "mod-circulation-storage",
    table: "check_in",
    path: "/check-in-storage/check-ins",
    collection: "checkIns",
    shape: "
        id:string(uuid)
        occurredDateTime:string(date-time)*
        itemId:string(uuid)*
        itemStatusPriorToCheckIn:string
        requestQueueSize:integer(min=0)
        itemLocationId:string(uuid)
        servicePointId:string(uuid)*
        performedByUserId:string(uuid)*
    ",
    // Every check-in writes a row, and an index on each of these would cost it a fifth more of the database's time.
    // What happened when and where is found in the circulation log.
    fields: &[date("occurredDateTime")],
    belongs_to: &[
        mentions("itemId", "item").unindexed(),
        mentions("servicePointId", "service_point").unindexed(),
    ],
    events: Some("circulation.check-in"),
    ..PLAIN
};

/// A lost item whose actual cost waits to be billed.
pub static ACTUAL_COST_RECORD: RecordType = RecordType {
    name: "actualCostRecord",
    module: "mod-circulation-storage",
    table: "actual_cost_record",
    path: "/actual-cost-record-storage/actual-cost-records",
    collection: "actualCostRecords",
    shape: "
        id:string(uuid)
        lossType:string(enum=Aged to lost|Declared lost)*
        lossDate:string(date-time)*
        expirationDate:string(date-time)
        user:object*
        user.id:string(uuid)*
        user.barcode:string
        user.firstName:string
        user.lastName:string*
        user.middleName:string
        user.patronGroupId:string(uuid)
        user.patronGroup:string
        loan:object*
        loan.id:string(uuid)*
        item:object*
        item.id:string(uuid)*
        item.barcode:string
        item.materialTypeId:string(uuid)*
        item.materialType:string*
        item.permanentLocationId:string(uuid)
        item.permanentLocation:string
        item.effectiveLocationId:string(uuid)
        item.effectiveLocation:string
        item.loanTypeId:string(uuid)*
        item.loanType:string*
        item.holdingsRecordId:string(uuid)*
        item.effectiveCallNumberComponents:object
        item.effectiveCallNumberComponents.callNumber:string
        item.effectiveCallNumberComponents.prefix:string
        item.effectiveCallNumberComponents.suffix:string
        item.volume:string
        item.enumeration:string
        item.chronology:string
        item.displaySummary:string
        item.copyNumber:string
        instance:object*
        instance.id:string(uuid)*
        instance.title:string*
        instance.identifiers:array<object>
        instance.identifiers[].value:string*
        instance.identifiers[].identifierType:string*
        instance.identifiers[].identifierTypeId:string(uuid)*
        instance.contributors:array<object>
        instance.contributors[].name:string*
        feeFine:object*
        feeFine.accountId:string(uuid)
        feeFine.billedAmount:number(min=0)
        feeFine.ownerId:string(uuid)*
        feeFine.owner:string*
        feeFine.typeId:string(uuid)*
        feeFine.type:string*
        status:string(enum=Open|Billed|Cancelled|Expired)*=Open
        additionalInfoForStaff:string
        additionalInfoForPatron:string
    ",
    fields: &[
        text("lossType").indexed(),
        text("instance.title").indexed().words(),
        text("item.permanentLocation").indexed(),
        text("feeFine.type").indexed(),
        text("feeFine.owner").indexed(),
        text("status").indexed(),
        date("expirationDate").indexed(),
        text("user.firstName").words(),
        text("user.lastName").words(),
        date("lossDate").indexed(),
    ],
    belongs_to: &[mentions("loan.id", "loan")],
    ..PLAIN
};

/// A lock on check-outs to a patron.
pub static CHECK_OUT_LOCK: RecordType = RecordType {
    name: "checkOutLock",
    module: "mod-circulation-storage",
    table: "check_out_lock",
    path: "/check-out-lock-storage",
    collection: "checkoutLocks",
    shape: "
        id:string(uuid)
        userId:string(uuid)
        creationDate:string(date-time)
    ",
    closed: false,
    unique: &[unique(&["userId"]).exact()],
    belongs_to: &[mentions("userId", "users")],
    metadata: false,
    routes: Routes::ByHand,
    ..PLAIN
};

/// A patron's action at the desk, for the notice at the end of the session.
pub static PATRON_ACTION_SESSION: RecordType = RecordType {
    name: "patronActionSession",
    module: "mod-circulation-storage",
    table: "patron_action_session",
    path: "/patron-action-session-storage/patron-action-sessions",
    collection: "patronActionSessions",
    shape: "
        id:string(uuid)
        sessionId:string(uuid)
        patronId:string(uuid)*
        loanId:string(uuid)*
        actionType:string(enum=Check-out|Check-in)*
    ",
    belongs_to: &[mentions("patronId", "users")],
    ..PLAIN
};
