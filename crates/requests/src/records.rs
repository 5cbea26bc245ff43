//! Record types around requests. The request itself is a record type of circulation, whose scans read and change it.

use carrel_records::{PLAIN, RecordType, Routes, mentions, text, unique};

/// Every record type of this module; a type comes after those that it refers to.
pub static RECORD_TYPES: &[&RecordType] =
    &[&REQUEST_PREFERENCE, &PRINT_EVENT, &TLR_FEATURE_TOGGLE_JOB, &STAFF_SLIP];

/// How a patron wants to receive requested items.
pub static REQUEST_PREFERENCE: RecordType = RecordType {
    name: "requestPreference",
    module: "mod-circulation-storage",
    table: "user_request_preference",
    path: "/request-preference-storage/request-preference",
    collection: "requestPreferences",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        holdShelf:boolean*
        delivery:boolean*
        defaultServicePointId:string(uuid)
        defaultDeliveryAddressTypeId:string(uuid)
        fulfillment:string(enum=Delivery|Hold Shelf)
    ",
    unique: &[unique(&["userId"])],
    belongs_to: &[mentions("userId", "users")],
    ..PLAIN
};

/// A pick slip was printed for a request.
pub static PRINT_EVENT: RecordType = RecordType {
    name: "printEvent",
    module: "mod-circulation-storage",
    table: "print_events",
    path: "/print-events-storage/print-events-entry",
    shape: "
        id:string(uuid)
        requestId:string(uuid)*
        requesterId:string(uuid)*
        requesterName:string(like=not-blank)*
        printEventDate:string(date-time)*
    ",
    closed: false,
    belongs_to: &[mentions("requestId", "request")],
    routes: Routes::ByHand,
    ..PLAIN
};

/// A run that converts item-level queues to title-level ones or back.
pub static TLR_FEATURE_TOGGLE_JOB: RecordType = RecordType {
    name: "tlrFeatureToggleJob",
    module: "mod-circulation-storage",
    table: "tlr_feature_toggle_job",
    path: "/tlr-feature-toggle-job-storage/tlr-feature-toggle-jobs",
    collection: "tlrFeatureToggleJobs",
    shape: "
        id:string(uuid)
        status:string(enum=open|in-progress|done|failed)
        numberOfUpdatedRequests:integer
        errors:array<string>
    ",
    ..PLAIN
};

/// A slip that staff print, such as for the hold shelf.
pub static STAFF_SLIP: RecordType = RecordType {
    name: "staffSlip",
    module: "mod-circulation-storage",
    table: "staff_slips",
    path: "/staff-slips-storage/staff-slips",
    collection: "staffSlips",
    shape: "
        id:string(uuid)
        name:string*
        description:string
        active:boolean
        isRawHtml:boolean
        template:string*
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    ..PLAIN
};

#[cfg(test)]
mod tests {
    use super::RECORD_TYPES;

    #[test]
    fn the_declarations_hold_together() {
        assert_eq!(carrel_records::soundness::faults(RECORD_TYPES, &[]), [""; 0]);
    }
}
