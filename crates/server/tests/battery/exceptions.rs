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
        "staffSlip",
        "a_replacement_of_an_unknown_record_does_what_the_declaration_says",
        "its room creates it, as FOLIO does; the declaration says otherwise",
    ),
];
