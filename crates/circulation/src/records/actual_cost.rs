//! Requests to settle an actual cost: only shapes for their validation, no tables.

use carrel_records::{PLAIN, RecordType, Routes};

/// A bill for a lost item.
pub static BILL: RecordType = RecordType {
    name: "actualCostFeeFineBill",
    module: "mod-feesfines",
    table: "actual_cost_fee_fine_bill",
    path: "/actual-cost-fee-fine/bill",
    shape: "
        actualCostRecordId:string(uuid)*
        amount:number(min=0)*
        servicePointId:string(uuid)
        additionalInfoForStaff:string
        additionalInfoForPatron:string
    ",
    metadata: false,
    routes: Routes::ByHand,
    ..PLAIN
};

/// The decision not to bill a lost item.
pub static CANCELLATION: RecordType = RecordType {
    name: "actualCostFeeFineCancel",
    module: "mod-feesfines",
    table: "actual_cost_fee_fine_cancel",
    path: "/actual-cost-fee-fine/cancel",
    shape: "
        actualCostRecordId:string(uuid)*
        additionalInfoForStaff:string
        additionalInfoForPatron:string
    ",
    metadata: false,
    routes: Routes::ByHand,
    ..PLAIN
};
