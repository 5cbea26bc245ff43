//! Checks that a record type does not pass, and why. The list only shrinks: an exception that is no longer
//! needed fails its test.

/// Record type, check, reason.
pub const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "permission",
        "everything_that_the_shape_names_is_kept",
        "whether a permission is deprecated or a dummy is the surface's to say",
    ),
    (
        "permission",
        "a_value_of_the_wrong_type_is_refused",
        "childOf and grantedTo are computed, so what is sent there is not looked at",
    ),
    (
        "permissionUser",
        "everything_that_the_shape_names_is_kept",
        "permissions that do not exist cannot be given",
    ),
    ("permissionUser", "a_value_of_the_wrong_type_is_refused", "permissions that are no list count as none"),
    ("instance", "everything_that_the_shape_names_is_kept", "statusUpdatedDate is written by the server"),
    (
        "holdingsRecord",
        "a_reference_into_nothing_is_refused",
        "effectiveLocationId is computed, so what is sent there is not looked at",
    ),
    (
        "requestPolicy",
        "everything_that_the_shape_names_is_kept",
        "allowed service points must exist and be pickup locations",
    ),
    (
        "requestPolicy",
        "a_bound_is_kept_and_not_passed",
        "allowed service points must exist and be pickup locations",
    ),
    (
        "staffSlip",
        "a_replacement_of_an_unknown_record_does_what_the_declaration_says",
        "its room creates it, as FOLIO does; the declaration says otherwise",
    ),
    (
        "user",
        "everything_that_the_shape_names_is_kept",
        "createdDate and updatedDate are written by the server",
    ),
    (
        "user",
        "a_value_of_the_wrong_type_is_refused",
        "createdDate and updatedDate are the server's, so what is sent there is not looked at",
    ),
    (
        "customField",
        "a_value_that_must_be_unique_is_refused_twice",
        "refId is made by the server from the name",
    ),
    (
        "note",
        "a_value_of_the_wrong_type_is_refused",
        "type is the name of the type that typeId leads to, so what is sent there is not looked at",
    ),
    (
        "circulationSetting",
        "a_value_that_must_be_unique_is_refused_twice",
        "a setting of the same name is replaced, as in FOLIO",
    ),
    ("calendar", "what_is_created_can_be_read", "mod-calendar gives ids of its own"),
    ("calendar", "everything_that_the_shape_names_is_kept", "mod-calendar gives ids of its own"),
    ("calendar", "every_field_can_be_searched_and_sorted", "mod-calendar has no CQL"),
    ("calendar", "what_is_deleted_is_gone", "mod-calendar has no CQL to ask with"),
    ("calendar", "an_unknown_property_is_refused", "mod-calendar leaves out what it does not know"),
    ("calendar", "a_value_of_the_wrong_type_is_refused", "mod-calendar writes metadata itself"),
    (
        "reserve",
        "everything_that_the_shape_names_is_kept",
        "its item must exist, and what is shown of the item is copied by the server",
    ),
];
