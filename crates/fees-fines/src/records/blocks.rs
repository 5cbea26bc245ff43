//! Manual patron blocks.

use carrel_records::{PLAIN, RecordType, mentions};

/// A block that staff have put on a patron.
pub static MANUALBLOCK: RecordType = RecordType {
    name: "manualblock",
    module: "mod-feesfines",
    table: "manualblocks",
    path: "/manualblocks",
    collection: "manualblocks",
    shape: "
        type:string
        desc:string*
        code:string
        staffInformation:string
        patronMessage:string
        expirationDate:string(date-time)
        borrowing:boolean
        renewals:boolean
        requests:boolean
        userId:string(uuid)*
        id:string(uuid)
    ",
    belongs_to: &[mentions("userId", "users")],
    ..PLAIN
};

/// A prepared manual block.
pub static MANUAL_BLOCK_TEMPLATE: RecordType = RecordType {
    name: "manualBlockTemplate",
    module: "mod-feesfines",
    table: "manual_block_templates",
    path: "/manual-block-templates",
    collection: "manualBlockTemplates",
    shape: "
        name:string*
        code:string
        desc:string
        blockTemplate:object(open)
        blockTemplate.desc:string
        blockTemplate.patronMessage:string
        blockTemplate.borrowing:boolean
        blockTemplate.renewals:boolean
        blockTemplate.requests:boolean
        id:string(uuid)
    ",
    ..PLAIN
};
