//! Patron notices.

use carrel_records::{PLAIN, RecordType, boolean, date, mentions, text, unique};

/// Which notices a patron gets, and when.
pub static PATRON_NOTICE_POLICY: RecordType = RecordType {
    name: "patronNoticePolicy",
    module: "mod-circulation-storage",
    table: "patron_notice_policy",
    path: "/patron-notice-policy-storage/patron-notice-policies",
    collection: "patronNoticePolicies",
    shape: "
        id:string(uuid)
        name:string*
        description:string
        active:boolean
        loanNotices:array<object>
        loanNotices[].name:string
        loanNotices[].templateId:string*
        loanNotices[].templateName:string
        loanNotices[].format:string(enum=Email|SMS|Print)*
        loanNotices[].frequency:string(enum=One time|Recurring)
        loanNotices[].realTime:boolean*
        loanNotices[].sendOptions:object
        loanNotices[].sendOptions.sendHow:string(enum=Upon At|Before|After)
        loanNotices[].sendOptions.sendWhen:string(enum=Due date|Renewed|Check in|Check out|\
            Manual due date change|Item recalled|Hold request for item|Aged to lost)*
        loanNotices[].sendOptions.sendBy:object
        loanNotices[].sendOptions.sendBy.duration:integer(min=1,max=100)*
        loanNotices[].sendOptions.sendBy.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)*
        loanNotices[].sendOptions.sendEvery:object
        loanNotices[].sendOptions.sendEvery.duration:integer(min=1,max=100)*
        loanNotices[].sendOptions.sendEvery.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)*
        feeFineNotices:array<object>
        feeFineNotices[].name:string
        feeFineNotices[].templateId:string*
        feeFineNotices[].templateName:string
        feeFineNotices[].format:string(enum=Email|SMS|Print)*
        feeFineNotices[].frequency:string(enum=One time|Recurring)
        feeFineNotices[].realTime:boolean*
        feeFineNotices[].sendOptions:object
        feeFineNotices[].sendOptions.sendHow:string(enum=Upon At|After)
        feeFineNotices[].sendOptions.sendWhen:string(enum=Overdue fine returned|Overdue fine renewed|\
            Aged to lost - fine charged|Aged to lost & item returned - fine adjusted|\
            Aged to lost & item replaced - fine adjusted)*
        feeFineNotices[].sendOptions.sendBy:object
        feeFineNotices[].sendOptions.sendBy.duration:integer(min=1,max=100)*
        feeFineNotices[].sendOptions.sendBy.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)*
        feeFineNotices[].sendOptions.sendEvery:object
        feeFineNotices[].sendOptions.sendEvery.duration:integer(min=1,max=100)*
        feeFineNotices[].sendOptions.sendEvery.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|\
            Years)*
        requestNotices:array<object>
        requestNotices[].name:string
        requestNotices[].templateId:string*
        requestNotices[].templateName:string
        requestNotices[].format:string(enum=Email|SMS|Print)*
        requestNotices[].frequency:string(enum=One time|Recurring)
        requestNotices[].realTime:boolean*
        requestNotices[].sendOptions:object
        requestNotices[].sendOptions.sendHow:string(enum=Upon At|Before|After)
        requestNotices[].sendOptions.sendWhen:string(enum=Recall request|Hold request|Request expiration|\
            Paging request|Available|Hold expiration|Request cancellation)*
        requestNotices[].sendOptions.sendBy:object
        requestNotices[].sendOptions.sendBy.duration:integer(min=1,max=100)*
        requestNotices[].sendOptions.sendBy.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)*
        requestNotices[].sendOptions.sendEvery:object
        requestNotices[].sendOptions.sendEvery.duration:integer(min=1,max=100)*
        requestNotices[].sendOptions.sendEvery.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|\
            Years)*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// A scheduled notice.
pub static SCHEDULED_NOTICE: RecordType = RecordType {
    name: "scheduledNotice",
    module: "mod-circulation-storage",
    table: "scheduled_notice",
    path: "/scheduled-notice-storage/scheduled-notices",
    collection: "scheduledNotices",
    shape: "
        id:string(uuid)
        loanId:string(uuid)
        requestId:string(uuid)
        feeFineActionId:string(uuid)
        recipientUserId:string(uuid)
        sessionId:string(uuid)
        nextRunTime:string(date-time)*
        triggeringEvent:string(enum=Hold expiration|Request expiration|Due date|Overdue fine returned|\
            Overdue fine renewed|Due date - with reminder fee|Aged to lost|Aged to lost - fine charged|\
            Aged to lost & item returned - fine adjusted|Aged to lost & item replaced - fine adjusted|\
            Title level request expiration)
        noticeConfig:object*
        noticeConfig.timing:string(enum=Upon At|Before|After)*
        noticeConfig.recurringPeriod:object
        noticeConfig.recurringPeriod.duration:integer(min=0)*
        noticeConfig.recurringPeriod.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months)*
        noticeConfig.templateId:string(uuid)*
        noticeConfig.format:string(enum=Email|SMS|Print)*
        noticeConfig.sendInRealTime:boolean
    ",
    fields: &[
        date("nextRunTime").indexed(),
        boolean("noticeConfig.sendInRealTime").indexed(),
        text("triggeringEvent").keep_accents().indexed(),
    ],
    belongs_to: &[
        mentions("requestId", "request"),
        mentions("loanId", "loan"),
        mentions("recipientUserId", "users"),
        mentions("sessionId", "patron_action_session"),
    ],
    ..PLAIN
};
