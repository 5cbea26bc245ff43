//! Kinds of fees/fines, owners, and how they are settled.

use carrel_records::{PLAIN, RecordType, mentions, to, unique};

/// A kind of fee/fine, manual or automatic.
pub static FEEFINE: RecordType = RecordType {
    name: "feefine",
    module: "mod-feesfines",
    table: "feefines",
    path: "/feefines",
    collection: "feefines",
    shape: "
        automatic:boolean*=false
        feeFineType:string*
        defaultAmount:number
        chargeNoticeId:string(uuid)
        actionNoticeId:string(uuid)
        ownerId:string(uuid)
        id:string(uuid)
    ",
    unique: &[unique(&["feeFineType", "ownerId"])],
    belongs_to: &[to("ownerId", "owners")],
    result_info: true,
    ..PLAIN
};

/// The owner of fees/fines, to whom they are owed.
pub static OWNER: RecordType = RecordType {
    name: "owner",
    module: "mod-feesfines",
    table: "owners",
    path: "/owners",
    collection: "owners",
    shape: "
        owner:string
        desc:string
        servicePointOwner:array<object>(open)=[]
        servicePointOwner[].value:string(uuid)*
        servicePointOwner[].label:string
        defaultChargeNoticeId:string(uuid)
        defaultActionNoticeId:string(uuid)
        id:string(uuid)
    ",
    ..PLAIN
};

/// A method of payment.
pub static PAYMENT: RecordType = RecordType {
    name: "payment",
    module: "mod-feesfines",
    table: "payments",
    path: "/payments",
    collection: "payments",
    shape: "
        nameMethod:string*
        allowedRefundMethod:boolean
        ownerId:string(uuid)
        id:string(uuid)
    ",
    belongs_to: &[mentions("ownerId", "owners")],
    result_info: true,
    ..PLAIN
};

/// A reason for refunds.
pub static REFUND: RecordType = RecordType {
    name: "refund",
    module: "mod-feesfines",
    table: "refunds",
    path: "/refunds",
    collection: "refunds",
    shape: "
        nameReason:string*
        description:string
        accountId:string(uuid)
        id:string(uuid)
    ",
    result_info: true,
    ..PLAIN
};

/// A reason for waivers.
pub static WAIVE: RecordType = RecordType {
    name: "waive",
    module: "mod-feesfines",
    table: "waives",
    path: "/waives",
    collection: "waivers",
    shape: "
        nameReason:string*
        description:string
        accountId:string(uuid)
        id:string(uuid)
    ",
    result_info: true,
    ..PLAIN
};

/// An account, such as the bursar's, to which fees/fines are transferred.
pub static TRANSFER: RecordType = RecordType {
    name: "transfer",
    module: "mod-feesfines",
    table: "transfers",
    path: "/transfers",
    collection: "transfers",
    shape: "
        accountName:string*
        desc:string
        ownerId:string(uuid)
        id:string(uuid)
    ",
    belongs_to: &[mentions("ownerId", "owners")],
    result_info: true,
    ..PLAIN
};

/// When fees/fines are transferred.
pub static TRANSFER_CRITERIA: RecordType = RecordType {
    name: "transferCriteria",
    module: "mod-feesfines",
    table: "transfer_criteria",
    path: "/transfer-criterias",
    collection: "transferCriterias",
    shape: "
        criteria:string
        type:string
        value:number
        interval:string
        id:string(uuid)
    ",
    ..PLAIN
};

/// Which actions require a comment.
pub static COMMENT: RecordType = RecordType {
    name: "comment",
    module: "mod-feesfines",
    table: "comments",
    path: "/comments",
    collection: "comments",
    shape: "
        paid:boolean
        waived:boolean
        refunded:boolean
        transferredManually:boolean
        id:string(uuid)
    ",
    result_info: true,
    ..PLAIN
};
