//! Automated patron blocks.

use carrel_records::{PLAIN, RecordType, Routes, mentions, to, unique};

/// A condition of automated blocks, with the actions that it blocks.
pub static PATRON_BLOCK_CONDITION: RecordType = RecordType {
    name: "patronBlockCondition",
    module: "mod-patron-blocks",
    table: "patron_block_conditions",
    path: "/patron-block-conditions",
    collection: "patronBlockConditions",
    shape: "
        id:string(uuid)*
        name:string*
        blockBorrowing:boolean*
        blockRenewals:boolean*
        blockRequests:boolean*
        valueType:string(enum=Integer|Double)*
        message:string
    ",
    closed: false,
    ..PLAIN
};

/// The value of a condition above which patrons of a group are blocked.
pub static PATRON_BLOCK_LIMIT: RecordType = RecordType {
    name: "patronBlockLimit",
    module: "mod-patron-blocks",
    table: "patron_block_limits",
    path: "/patron-block-limits",
    collection: "patronBlockLimits",
    shape: "
        id:string(uuid)*
        patronGroupId:string(uuid)*
        conditionId:string(uuid)*
        value:number*
    ",
    closed: false,
    belongs_to: &[to("conditionId", "patron_block_conditions"), mentions("patronGroupId", "groups")],
    ..PLAIN
};

/// A patron's open loans and fees/fines as the blocks count them.
pub static USER_SUMMARY: RecordType = RecordType {
    name: "userSummary",
    module: "mod-patron-blocks",
    table: "user_summary",
    path: "/user-summary",
    shape: "
        id:string(uuid)*
        _version:integer
        userId:string(uuid)*
        openLoans:array<object>*
        openLoans[].loanId:string(uuid)*
        openLoans[].dueDate:string(date-time)*
        openLoans[].recall:boolean*=false
        openLoans[].itemLost:boolean=false
        openLoans[].itemClaimedReturned:boolean=false
        openLoans[].gracePeriod:object(open)
        openLoans[].gracePeriod.duration:integer(min=1)*
        openLoans[].gracePeriod.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months)*
        openFeesFines:array<object>*
        openFeesFines[].feeFineId:string(uuid)*
        openFeesFines[].feeFineTypeId:string(uuid)*
        openFeesFines[].loanId:string(uuid)
        openFeesFines[].balance:number*
    ",
    unique: &[unique(&["userId"])],
    belongs_to: &[mentions("userId", "users")],
    optimistic_locking: true,
    routes: Routes::ByHand,
    ..PLAIN
};

/// A run that recomputes the summaries.
pub static SYNCHRONIZATION_JOB: RecordType = RecordType {
    name: "synchronizationJob",
    module: "mod-patron-blocks",
    table: "synchronization_jobs",
    path: "/automated-patron-blocks/synchronization/job",
    shape: "
        id:string(uuid)
        scope:string(enum=user|full)*
        userId:string(uuid)
        status:string
        totalNumberOfLoans:integer
        totalNumberOfFeesFines:integer
        numberOfProcessedLoans:integer
        numberOfProcessedFeesFines:integer
        errors:array<string>
    ",
    routes: Routes::ByHand,
    ..PLAIN
};
