//! Debts of patrons and the actions on them.

use carrel_records::{Composed, PLAIN, RecordType, date, mentions, text};

/// A fee/fine that a patron owes or has settled.
pub static ACCOUNT: RecordType = RecordType {
    name: "account",
    module: "mod-feesfines",
    table: "accounts",
    path: "/accounts",
    collection: "accounts",
    shape: "
        amount:number*
        remaining:number*
        dateCreated:string(date-time)
        dateUpdated:string(date-time)
        status:object(open)*
        status.name:string*
        paymentStatus:object(open)*
        paymentStatus.name:string(enum=Outstanding|Paid partially|Paid fully|Waived partially|Waived fully|\
            Transferred partially|Transferred fully|Refunded partially|Refunded fully|Credited fully|\
            Credited partially|Cancelled item returned|Cancelled item renewed|Cancelled item declared lost|\
            Cancelled as error|Suspended claim returned)*
        feeFineType:string
        feeFineOwner:string
        title:string
        callNumber:string
        barcode:string
        materialType:string
        itemStatus:object(open)
        itemStatus.name:string*
        location:string
        dueDate:string(date-time)
        returnedDate:string(date-time)
        loanId:string(uuid)
        userId:string(uuid)*
        itemId:string(uuid)
        materialTypeId:string(uuid)
        feeFineId:string(uuid)*
        ownerId:string(uuid)*
        id:string(uuid)
        holdingsRecordId:string(uuid,ro)
        instanceId:string(uuid,ro)
        contributors:array<object>=[]
        contributors[].name:string*
        loanPolicyId:string(uuid)
        overdueFinePolicyId:string(uuid)
        lostItemFeePolicyId:string(uuid)
        processId:string(uuid)
    ",
    fields: &[
        text("status.name").indexed(),
        date("dateCreated").indexed(),
        date("metadata.updatedDate").indexed(),
    ],
    belongs_to: &[
        mentions("loanId", "loan"),
        mentions("userId", "users"),
        mentions("ownerId", "owners"),
        mentions("itemId", "item"),
    ],
    composed: Some(Composed {
        from: "accounts LEFT JOIN item ON item.id = accounts.item_id \
               LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id",
        document: "accounts.doc || CASE WHEN holdings_record.id IS NULL THEN '{}' ELSE \
                   jsonb_build_object('holdingsRecordId', holdings_record.id, \
                   'instanceId', holdings_record.instance_id) END",
        adds: &[],
    }),
    result_info: true,
    ..PLAIN
};

/// A charge, payment, waiver, transfer, refund or cancellation of a fee/fine.
pub static FEEFINEACTION: RecordType = RecordType {
    name: "feefineaction",
    module: "mod-feesfines",
    table: "feefineactions",
    path: "/feefineactions",
    collection: "feefineactions",
    shape: "
        dateAction:string(date-time)
        typeAction:string
        comments:string
        notify:boolean
        amountAction:number
        balance:number
        transactionInformation:string
        createdAt:string(uuid)
        originalCreatedAt:string
        source:string
        paymentMethod:string
        accountId:string(uuid)*
        userId:string(uuid)*
        id:string(uuid)
    ",
    fields: &[text("typeAction").indexed(), date("dateAction").indexed()],
    belongs_to: &[mentions("accountId", "accounts"), mentions("userId", "users")],
    metadata: false,
    ..PLAIN
};
