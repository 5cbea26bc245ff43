//! Institutions, campuses, libraries, locations, service points and the users of service points.

use carrel_records::{PLAIN, RecordType, Refusal, boolean, mentions, text, to, unique};

/// An institution, the first level above a location.
pub static LOCATION_INSTITUTION: RecordType = RecordType {
    name: "locationInstitution",
    module: "mod-inventory-storage",
    table: "locinstitution",
    path: "/location-units/institutions",
    collection: "locinsts",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        isShadow:boolean=false
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    events: Some("inventory.institution"),
    ..PLAIN
};

/// A campus of an institution.
pub static LOCATION_CAMPUS: RecordType = RecordType {
    name: "locationCampus",
    module: "mod-inventory-storage",
    table: "loccampus",
    path: "/location-units/campuses",
    collection: "loccamps",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        institutionId:string(uuid)*
        isShadow:boolean=false
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    belongs_to: &[to("institutionId", "locinstitution")],
    events: Some("inventory.campus"),
    ..PLAIN
};

/// A library of a campus.
pub static LOCATION_LIBRARY: RecordType = RecordType {
    name: "locationLibrary",
    module: "mod-inventory-storage",
    table: "loclibrary",
    path: "/location-units/libraries",
    collection: "loclibs",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        campusId:string(uuid)*
        isShadow:boolean=false
    ",
    fields: &[text("name").indexed()],
    unique: &[unique(&["name"])],
    belongs_to: &[to("campusId", "loccampus")],
    events: Some("inventory.library"),
    ..PLAIN
};

/// A location, where items are shelved.
pub static LOCATION: RecordType = RecordType {
    name: "location",
    module: "mod-inventory-storage",
    table: "location",
    path: "/locations",
    collection: "locations",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        description:string
        discoveryDisplayName:string
        isActive:boolean
        institutionId:string(uuid)*
        institution:object(ro,virtual)
        campusId:string(uuid)*
        campus:object(ro,virtual)
        libraryId:string(uuid)*
        library:object(ro,virtual)
        details:object
        primaryServicePoint:string(uuid)*
        primaryServicePointObject:object(ro,virtual)
        servicePointIds:array<string(uuid)>
        isFloatingCollection:boolean
        servicePoints:array<object>(ro,virtual)
        isShadow:boolean=false
    ",
    fields: &[text("code").indexed(), text("name").indexed(), boolean("isShadow").indexed()],
    unique: &[unique(&["name"]), unique(&["code"])],
    belongs_to: &[
        to("institutionId", "locinstitution"),
        to("campusId", "loccampus"),
        to("libraryId", "loclibrary"),
        mentions("primaryServicePoint", "service_point"),
    ],
    events: Some("inventory.location"),
    ..PLAIN
};

/// A service point, where items are checked out, checked in or picked up.
pub static SERVICE_POINT: RecordType = RecordType {
    name: "servicePoint",
    module: "mod-inventory-storage",
    table: "service_point",
    path: "/service-points",
    collection: "servicepoints",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        discoveryDisplayName:string*
        description:string
        shelvingLagTime:integer
        pickupLocation:boolean
        holdShelfExpiryPeriod:object
        holdShelfExpiryPeriod.duration:integer*
        holdShelfExpiryPeriod.intervalId:string(enum=Minutes|Hours|Days|Weeks|Months)*=Days
        holdShelfClosedLibraryDateManagement:string(enum=Keep_the_current_due_date|\
            Move_to_the_end_of_the_previous_open_day|Move_to_the_end_of_the_next_open_day|\
            Keep_the_current_due_date_time|Move_to_end_of_current_service_point_hours|\
            Move_to_beginning_of_next_open_service_point_hours)=Keep_the_current_due_date
        defaultCheckInActionForUseAtLocation:string(enum=Keep_on_hold_shelf|Close_loan_and_return_item|\
            Ask_for_action)
        staffSlips:array<object>
        staffSlips[].id:string(uuid)*
        staffSlips[].printByDefault:boolean*
        ecsRequestRouting:boolean=false
    ",
    fields: &[text("code").indexed(), text("name").indexed(), boolean("pickupLocation").indexed()],
    unique: &[unique(&["name"]), unique(&["code"])],
    // FOLIO quirk: the same text if the code is in use.
    taken: Some(|name| Refusal::new("Service Point Exists").with("name", name).of_storage()),
    events: Some("inventory.service-point"),
    ..PLAIN
};

/// The service points at which a user works.
pub static SERVICE_POINTS_USER: RecordType = RecordType {
    name: "servicePointsUser",
    module: "mod-inventory-storage",
    table: "service_point_user",
    path: "/service-points-users",
    collection: "servicePointsUsers",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        servicePointsIds:array<string(uuid)>
        defaultServicePointId:string(uuid)
    ",
    unique: &[unique(&["userId"])],
    belongs_to: &[to("defaultServicePointId", "service_point"), mentions("userId", "users")],
    ..PLAIN
};
