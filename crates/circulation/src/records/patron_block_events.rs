//! Events for FOLIO's patron blocks, as mod-patron-blocks stores them.

use carrel_records::{PLAIN, RecordType, Routes, mentions};

/// The balance of a fee/fine changed, as an event for mod-patron-blocks.
pub static FEE_FINE_BALANCE_CHANGED_EVENT: RecordType = RecordType {
    name: "feeFineBalanceChangedEvent",
    module: "mod-patron-blocks",
    table: "fee_fine_balance_changed_event",
    path: "/automated-patron-blocks/handlers/fee-fine-balance-changed",
    shape: "
        id:string(uuid)
        feeFineId:string(uuid)*
        userId:string(uuid)
        feeFineTypeId:string(uuid)
        loanId:string(uuid)
        balance:number*
    ",
    closed: false,
    belongs_to: &[mentions("userId", "users")],
    routes: Routes::ByHand,
    ..PLAIN
};

/// An item was checked out, as an event for mod-patron-blocks.
pub static ITEM_CHECKED_OUT_EVENT: RecordType = RecordType {
    name: "itemCheckedOutEvent",
    module: "mod-patron-blocks",
    table: "item_checked_out_event",
    path: "/automated-patron-blocks/handlers/item-checked-out",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        loanId:string(uuid)*
        dueDate:string(date-time)*
        gracePeriod:object(open)
        gracePeriod.duration:integer(min=1)*
        gracePeriod.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months)*
    ",
    closed: false,
    belongs_to: &[mentions("userId", "users")],
    routes: Routes::ByHand,
    ..PLAIN
};

/// An item was checked in, as an event for mod-patron-blocks.
pub static ITEM_CHECKED_IN_EVENT: RecordType = RecordType {
    name: "itemCheckedInEvent",
    module: "mod-patron-blocks",
    table: "item_checked_in_event",
    path: "/automated-patron-blocks/handlers/item-checked-in",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        loanId:string(uuid)*
        returnDate:string(date-time)
    ",
    closed: false,
    belongs_to: &[mentions("userId", "users")],
    routes: Routes::ByHand,
    ..PLAIN
};

/// An item was declared lost, as an event for mod-patron-blocks.
pub static ITEM_DECLARED_LOST_EVENT: RecordType = RecordType {
    name: "itemDeclaredLostEvent",
    module: "mod-patron-blocks",
    table: "item_declared_lost_event",
    path: "/automated-patron-blocks/handlers/item-declared-lost",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        loanId:string(uuid)*
    ",
    closed: false,
    belongs_to: &[mentions("userId", "users")],
    routes: Routes::ByHand,
    ..PLAIN
};

/// An item aged to lost, as an event for mod-patron-blocks.
pub static ITEM_AGED_TO_LOST_EVENT: RecordType = RecordType {
    name: "itemAgedToLostEvent",
    module: "mod-patron-blocks",
    table: "item_aged_to_lost_event",
    path: "/automated-patron-blocks/handlers/item-aged-to-lost",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        loanId:string(uuid)*
    ",
    closed: false,
    belongs_to: &[mentions("userId", "users")],
    routes: Routes::ByHand,
    ..PLAIN
};

/// An item was claimed returned, as an event for mod-patron-blocks.
pub static ITEM_CLAIMED_RETURNED_EVENT: RecordType = RecordType {
    name: "itemClaimedReturnedEvent",
    module: "mod-patron-blocks",
    table: "item_claimed_returned_event",
    path: "/automated-patron-blocks/handlers/item-claimed-returned",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        loanId:string(uuid)*
    ",
    closed: false,
    belongs_to: &[mentions("userId", "users")],
    routes: Routes::ByHand,
    ..PLAIN
};

/// A due date changed, as an event for mod-patron-blocks.
pub static LOAN_DUE_DATE_CHANGED_EVENT: RecordType = RecordType {
    name: "loanDueDateChangedEvent",
    module: "mod-patron-blocks",
    table: "loan_due_date_changed_event",
    path: "/automated-patron-blocks/handlers/loan-due-date-changed",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        loanId:string(uuid)*
        dueDate:string(date-time)*
        dueDateChangedByRecall:boolean*
    ",
    closed: false,
    belongs_to: &[mentions("userId", "users")],
    routes: Routes::ByHand,
    ..PLAIN
};

/// A loan was closed, as an event for mod-patron-blocks.
pub static LOAN_CLOSED_EVENT: RecordType = RecordType {
    name: "loanClosedEvent",
    module: "mod-patron-blocks",
    table: "loan_closed_event",
    path: "/automated-patron-blocks/handlers/loan-closed",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        loanId:string(uuid)*
    ",
    closed: false,
    belongs_to: &[mentions("userId", "users")],
    routes: Routes::ByHand,
    ..PLAIN
};
