//! Policies, rules and settings of circulation.

use carrel_records::{PLAIN, Put, RecordType, Routes, text, to, unique};

/// For how long an item is lent and whether it may be renewed.
pub static LOAN_POLICY: RecordType = RecordType {
    name: "loanPolicy",
    module: "mod-circulation-storage",
    table: "loan_policy",
    path: "/loan-policy-storage/loan-policies",
    collection: "loanPolicies",
    shape: "
        id:string(uuid)
        name:string*
        description:string
        loanable:boolean*
        loansPolicy:object
        loansPolicy.profileId:string
        loansPolicy.period:object
        loansPolicy.period.duration:integer(min=0)*
        loansPolicy.period.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months)*
        loansPolicy.closedLibraryDueDateManagementId:string
        loansPolicy.gracePeriod:object
        loansPolicy.gracePeriod.duration:integer(min=0)*
        loansPolicy.gracePeriod.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months)*
        loansPolicy.openingTimeOffset:object
        loansPolicy.openingTimeOffset.duration:integer(min=0)*
        loansPolicy.openingTimeOffset.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months)*
        loansPolicy.fixedDueDateScheduleId:string(uuid)
        loansPolicy.itemLimit:integer(min=1,max=9999)
        loansPolicy.forUseAtLocation:boolean
        loansPolicy.holdShelfExpiryPeriodForUseAtLocation:object(open)
        loansPolicy.holdShelfExpiryPeriodForUseAtLocation.duration:integer*
        loansPolicy.holdShelfExpiryPeriodForUseAtLocation.intervalId:string(enum=Minutes|Hours|Days|Weeks|\
            Months)*=Days
        renewable:boolean*
        renewalsPolicy:object(open)
        renewalsPolicy.unlimited:boolean
        renewalsPolicy.numberAllowed:number
        renewalsPolicy.renewFromId:string
        renewalsPolicy.differentPeriod:boolean
        renewalsPolicy.period:object
        renewalsPolicy.period.duration:integer(min=0)*
        renewalsPolicy.period.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months)*
        renewalsPolicy.alternateFixedDueDateScheduleId:string(uuid)
        requestManagement:object
        requestManagement.recalls:object
        requestManagement.recalls.alternateGracePeriod:object
        requestManagement.recalls.alternateGracePeriod.duration:integer(min=0)*
        requestManagement.recalls.alternateGracePeriod.intervalId:string(enum=Minutes|Hours|Days|Weeks|\
            Months)*
        requestManagement.recalls.minimumGuaranteedLoanPeriod:object
        requestManagement.recalls.minimumGuaranteedLoanPeriod.duration:integer(min=0)*
        requestManagement.recalls.minimumGuaranteedLoanPeriod.intervalId:string(enum=Minutes|Hours|Days|\
            Weeks|Months)*
        requestManagement.recalls.recallReturnInterval:object
        requestManagement.recalls.recallReturnInterval.duration:integer(min=0)*
        requestManagement.recalls.recallReturnInterval.intervalId:string(enum=Minutes|Hours|Days|Weeks|\
            Months)*
        requestManagement.recalls.allowRecallsToExtendOverdueLoans:boolean=false
        requestManagement.recalls.alternateRecallReturnInterval:object
        requestManagement.recalls.alternateRecallReturnInterval.duration:integer(min=0)*
        requestManagement.recalls.alternateRecallReturnInterval.intervalId:string(enum=Minutes|Hours|Days|\
            Weeks|Months)*
        requestManagement.holds:object
        requestManagement.holds.alternateCheckoutLoanPeriod:object
        requestManagement.holds.alternateCheckoutLoanPeriod.duration:integer(min=0)*
        requestManagement.holds.alternateCheckoutLoanPeriod.intervalId:string(enum=Minutes|Hours|Days|\
            Weeks|Months)*
        requestManagement.holds.renewItemsWithRequest:boolean
        requestManagement.holds.alternateRenewalLoanPeriod:object
        requestManagement.holds.alternateRenewalLoanPeriod.duration:integer(min=0)*
        requestManagement.holds.alternateRenewalLoanPeriod.intervalId:string(enum=Minutes|Hours|Days|Weeks|\
            Months)*
        requestManagement.pages:object
        requestManagement.pages.alternateCheckoutLoanPeriod:object
        requestManagement.pages.alternateCheckoutLoanPeriod.duration:integer(min=0)*
        requestManagement.pages.alternateCheckoutLoanPeriod.intervalId:string(enum=Minutes|Hours|Days|\
            Weeks|Months)*
        requestManagement.pages.renewItemsWithRequest:boolean
        requestManagement.pages.alternateRenewalLoanPeriod:object
        requestManagement.pages.alternateRenewalLoanPeriod.duration:integer(min=0)*
        requestManagement.pages.alternateRenewalLoanPeriod.intervalId:string(enum=Minutes|Hours|Days|Weeks|\
            Months)*
    ",
    belongs_to: &[
        to("loansPolicy.fixedDueDateScheduleId", "fixed_due_date_schedule"),
        to("renewalsPolicy.alternateFixedDueDateScheduleId", "fixed_due_date_schedule"),
    ],
    put: Put::CreatesToo,
    ..PLAIN
};

/// Due dates that are the same for all loans of a term.
pub static FIXED_DUE_DATE_SCHEDULE: RecordType = RecordType {
    name: "fixedDueDateSchedule",
    module: "mod-circulation-storage",
    table: "fixed_due_date_schedule",
    path: "/fixed-due-date-schedule-storage/fixed-due-date-schedules",
    collection: "fixedDueDateSchedules",
    shape: "
        id:string(uuid)
        name:string*
        description:string
        schedules:array<object>
        schedules[].from:string(date-time)*
        schedules[].to:string(date-time)*
        schedules[].due:string(date-time)*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    put: Put::CreatesToo,
    ..PLAIN
};

/// Which types of request are allowed.
pub static REQUEST_POLICY: RecordType = RecordType {
    name: "requestPolicy",
    module: "mod-circulation-storage",
    table: "request_policy",
    path: "/request-policy-storage/request-policies",
    collection: "requestPolicies",
    shape: "
        id:string(uuid)
        name:string*
        description:string
        requestTypes:array<string(enum=Hold|Recall|Page)>
        allowedServicePoints:object
        allowedServicePoints.Page:array<string(uuid)>|null(items=1..,set)
        allowedServicePoints.Hold:array<string(uuid)>|null(items=1..,set)
        allowedServicePoints.Recall:array<string(uuid)>|null(items=1..,set)
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    put: Put::CreatesToo,
    ..PLAIN
};

/// The rules that choose the policies of a loan or request.
pub static CIRCULATION_RULES: RecordType = RecordType {
    name: "circulationRules",
    module: "mod-circulation-storage",
    table: "circulation_rules",
    path: "/circulation-rules-storage",
    shape: "
        id:string(uuid)
        rulesAsText:string*
    ",
    events: Some("circulation.rules"),
    routes: Routes::Single,
    ..PLAIN
};

/// A setting of circulation.
pub static CIRCULATION_SETTING: RecordType = RecordType {
    name: "circulationSetting",
    module: "mod-circulation-storage",
    table: "circulation_settings",
    path: "/circulation-settings-storage/circulation-settings",
    collection: "circulationSettings",
    shape: "
        id:string(uuid)*
        name:string*
        value:object*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    events: Some("circulation.circulation-settings"),
    ..PLAIN
};
