//! Policies of overdue fines and lost item fees.

use carrel_records::{PLAIN, RecordType, text, unique};

/// The fine for an overdue item.
pub static OVERDUE_FINE_POLICY: RecordType = RecordType {
    name: "overdueFinePolicy",
    module: "mod-feesfines",
    table: "overdue_fine_policy",
    path: "/overdue-fines-policies",
    collection: "overdueFinePolicies",
    shape: "
        name:string*
        description:string
        overdueFine:object
        overdueFine.quantity:number
        overdueFine.intervalId:string(enum=minute|hour|day|week|month|year)
        countClosed:boolean
        maxOverdueFine:number
        forgiveOverdueFine:boolean
        overdueRecallFine:object
        overdueRecallFine.quantity:number
        overdueRecallFine.intervalId:string(enum=minute|hour|day|week|month|year)
        gracePeriodRecall:boolean
        maxOverdueRecallFine:number
        reminderFeesPolicy:object
        reminderFeesPolicy.countClosed:boolean
        reminderFeesPolicy.ignoreGracePeriodRecall:boolean
        reminderFeesPolicy.ignoreGracePeriodHolds:boolean
        reminderFeesPolicy.allowRenewalOfItemsWithReminderFees:boolean
        reminderFeesPolicy.clearPatronBlockWhenPaid:boolean
        reminderFeesPolicy.reminderSchedule:array<object>
        reminderFeesPolicy.reminderSchedule[].interval:integer*
        reminderFeesPolicy.reminderSchedule[].timeUnitId:string(enum=day|week|minute)*
        reminderFeesPolicy.reminderSchedule[].reminderFee:number*
        reminderFeesPolicy.reminderSchedule[].noticeFormat:string(enum=Email|Print|None)
        reminderFeesPolicy.reminderSchedule[].noticeTemplateId:string(uuid)*
        reminderFeesPolicy.reminderSchedule[].blockTemplateId:string(uuid)
        id:string(uuid)
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

/// When an item counts as lost, and the fees for it.
pub static LOST_ITEM_FEE_POLICY: RecordType = RecordType {
    name: "lostItemFeePolicy",
    module: "mod-feesfines",
    table: "lost_item_fee_policy",
    path: "/lost-item-fees-policies",
    collection: "lostItemFeePolicies",
    shape: "
        name:string*
        description:string
        itemAgedLostOverdue:object
        itemAgedLostOverdue.duration:integer(min=1)
        itemAgedLostOverdue.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)
        patronBilledAfterAgedLost:object
        patronBilledAfterAgedLost.duration:integer(min=1)
        patronBilledAfterAgedLost.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)
        recalledItemAgedLostOverdue:object
        recalledItemAgedLostOverdue.duration:integer(min=1)
        recalledItemAgedLostOverdue.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)
        patronBilledAfterRecalledItemAgedLost:object
        patronBilledAfterRecalledItemAgedLost.duration:integer(min=1)
        patronBilledAfterRecalledItemAgedLost.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)
        chargeAmountItem:object
        chargeAmountItem.chargeType:string
        chargeAmountItem.amount:number
        lostItemProcessingFee:number
        chargeAmountItemPatron:boolean
        chargeAmountItemSystem:boolean
        lostItemChargeFeeFine:object
        lostItemChargeFeeFine.duration:integer(min=1)
        lostItemChargeFeeFine.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)
        returnedLostItemProcessingFee:boolean
        replacedLostItemProcessingFee:boolean
        replacementProcessingFee:number
        replacementAllowed:boolean
        lostItemReturned:string
        feesFinesShallRefunded:object
        feesFinesShallRefunded.duration:integer(min=1)
        feesFinesShallRefunded.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months|Years)
        id:string(uuid)
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};
