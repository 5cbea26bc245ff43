//! What mod-courses stores.

use carrel_records::{Field, PLAIN, RecordType, Routes, mentions, text, to};

/// Every record type of this module, those referred to before those that refer.
pub static RECORD_TYPES: &[&RecordType] = &[
    &TERM,
    &COURSE_TYPE,
    &DEPARTMENT,
    &PROCESSING_STATUS,
    &COPYRIGHT_STATUS,
    &ROLE,
    &COURSE_LISTING,
    &INSTRUCTOR,
    &COURSE,
    &RESERVE,
];

const MODULE: &str = "mod-courses";
const NAMED: &str = "
        id:string(uuid)
        name:string*
        description:string
    ";
const BY_NAME: &[Field] = &[text("name").indexed()];

/// A period in which courses are held.
pub static TERM: RecordType = RecordType {
    name: "term",
    module: MODULE,
    table: "coursereserves_terms",
    path: "/coursereserves/terms",
    collection: "terms",
    shape: "
        id:string(uuid)
        name:string*
        startDate:string*
        endDate:string*
    ",
    fields: BY_NAME,
    ..PLAIN
};

/// How a course is held.
pub static COURSE_TYPE: RecordType = RecordType {
    name: "courseType",
    module: MODULE,
    table: "coursereserves_coursetypes",
    path: "/coursereserves/coursetypes",
    collection: "courseTypes",
    shape: NAMED,
    fields: BY_NAME,
    ..PLAIN
};

/// The department that offers a course; it has nothing to do with the departments of users.
pub static DEPARTMENT: RecordType = RecordType {
    name: "courseDepartment",
    module: MODULE,
    table: "coursereserves_departments",
    path: "/coursereserves/departments",
    collection: "departments",
    shape: NAMED,
    fields: BY_NAME,
    ..PLAIN
};

/// How far the library is with a reserve.
pub static PROCESSING_STATUS: RecordType = RecordType {
    name: "processingStatus",
    module: MODULE,
    table: "coursereserves_processingstates",
    path: "/coursereserves/processingstatuses",
    collection: "processingStatuses",
    shape: NAMED,
    fields: BY_NAME,
    ..PLAIN
};

/// Whether a reserve may be used under copyright.
pub static COPYRIGHT_STATUS: RecordType = RecordType {
    name: "copyrightStatus",
    module: MODULE,
    table: "coursereserves_copyrightstates",
    path: "/coursereserves/copyrightstatuses",
    collection: "copyrightStatuses",
    shape: NAMED,
    fields: BY_NAME,
    ..PLAIN
};

/// What somebody does in a course.
pub static ROLE: RecordType = RecordType {
    name: "role",
    module: MODULE,
    table: "coursereserves_roles",
    path: "/coursereserves/roles",
    collection: "roles",
    shape: NAMED,
    fields: BY_NAME,
    ..PLAIN
};

/// What courses of one term share: instructors, location and reserves.
pub static COURSE_LISTING: RecordType = RecordType {
    name: "courseListing",
    module: MODULE,
    table: "coursereserves_courselistings",
    path: "/coursereserves/courselistings",
    collection: "courseListings",
    shape: "
        id:string(uuid)
        registrarId:string
        externalId:string
        servicepointId:string(uuid)
        servicepointObject:object(open)
        locationId:string(uuid)
        locationObject:object(open)
        termId:string(uuid)*
        termObject:object(open)
        courseTypeId:string(uuid)
        courseTypeObject:object(open)
        instructorObjects:array<object>(open)
    ",
    fields: &[text("externalId").indexed()],
    belongs_to: &[to("termId", "coursereserves_terms"), to("courseTypeId", "coursereserves_coursetypes")],
    ..PLAIN
};

/// Who teaches the courses of a listing; read and written below the listing only.
pub static INSTRUCTOR: RecordType = RecordType {
    name: "instructor",
    module: MODULE,
    table: "coursereserves_instructors",
    path: "/coursereserves/courselistings/{id}/instructors",
    collection: "instructors",
    routes: Routes::ByHand,
    shape: "
        id:string(uuid)
        userId:string(uuid)
        name:string*
        barcode:string
        patronGroup:string
        patronGroupObject:object(open)
        courseListingId:string(uuid)*
    ",
    fields: BY_NAME,
    belongs_to: &[to("courseListingId", "coursereserves_courselistings"), mentions("userId", "users")],
    ..PLAIN
};

/// A course of a department.
pub static COURSE: RecordType = RecordType {
    name: "course",
    module: MODULE,
    table: "coursereserves_courses",
    path: "/coursereserves/courses",
    collection: "courses",
    shape: "
        id:string(uuid)
        name:string*
        description:string
        departmentId:string(uuid)*
        departmentObject:object(open)
        courseListingId:string(uuid)*
        courseListingObject:object(open)
        courseNumber:string
        sectionName:string
        numberOfStudents:integer
    ",
    fields: &[text("name").words(), text("courseNumber").indexed()],
    belongs_to: &[
        to("departmentId", "coursereserves_departments"),
        to("courseListingId", "coursereserves_courselistings"),
    ],
    ..PLAIN
};

/// An item that is reserved for the courses of a listing.
pub static RESERVE: RecordType = RecordType {
    name: "reserve",
    module: MODULE,
    table: "coursereserves_reserves",
    path: "/coursereserves/reserves",
    collection: "reserves",
    shape: "
        id:string(uuid)
        courseListingId:string(uuid)*
        itemId:string(uuid)
        processingStatusId:string(uuid)
        processingStatusObject:object(open)
        startDate:string
        endDate:string
        copiedItem:object(open)
        copiedItem.barcode:string
        copiedItem.title:string
        copiedItem.temporaryLocationId:string
        temporaryLoanTypeId:string(uuid)
        temporaryLoanTypeObject:object(open)
        copyrightTracking:object(open)
    ",
    fields: &[text("itemId").indexed(), text("copiedItem.barcode").indexed()],
    belongs_to: &[
        to("courseListingId", "coursereserves_courselistings"),
        to("processingStatusId", "coursereserves_processingstates"),
    ],
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
