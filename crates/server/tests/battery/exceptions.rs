//! Checks that a record type does not pass, and why. The list only shrinks: an exception that is no longer
//! needed fails its test.

/// Record type, check, reason.
pub const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "permission",
        "every_property_of_the_shape_is_stored",
        "the list of permissions determines whether a permission is deprecated or a dummy",
    ),
    (
        "permission",
        "a_value_of_the_wrong_type_is_refused",
        "childOf and grantedTo are computed, so a sent value is ignored",
    ),
    (
        "permissionUser",
        "every_property_of_the_shape_is_stored",
        "permissions that do not exist cannot be granted",
    ),
    (
        "permissionUser",
        "a_value_of_the_wrong_type_is_refused",
        "permissions that are not a list count as none",
    ),
    ("instance", "every_property_of_the_shape_is_stored", "statusUpdatedDate is written by the server"),
    (
        "holdingsRecord",
        "a_reference_to_a_missing_record_is_refused",
        "effectiveLocationId is computed, so a sent value is ignored",
    ),
    (
        "requestPolicy",
        "every_property_of_the_shape_is_stored",
        "allowed service points must exist and be pickup locations",
    ),
    ("requestPolicy", "bounds_are_enforced", "allowed service points must exist and be pickup locations"),
    (
        "staffSlip",
        "a_replacement_of_an_unknown_record_follows_the_declaration",
        "its module creates it, as FOLIO does, contrary to the declaration",
    ),
    (
        "user",
        "every_property_of_the_shape_is_stored",
        "createdDate and updatedDate are written by the server",
    ),
    (
        "user",
        "a_value_of_the_wrong_type_is_refused",
        "the server sets createdDate and updatedDate, so a sent value is ignored",
    ),
    ("customField", "a_duplicate_unique_value_is_refused", "the server derives refId from the name"),
    (
        "note",
        "a_value_of_the_wrong_type_is_refused",
        "type is the name of the type with the id typeId, so a sent value is ignored",
    ),
    (
        "circulationSetting",
        "a_duplicate_unique_value_is_refused",
        "a setting with the same name is replaced, as in FOLIO",
    ),
    ("calendar", "what_is_created_can_be_read", "mod-calendar generates the ids"),
    ("calendar", "every_property_of_the_shape_is_stored", "mod-calendar generates the ids"),
    ("calendar", "every_field_can_be_searched_and_sorted", "mod-calendar has no CQL"),
    ("calendar", "a_deleted_record_is_not_found", "mod-calendar has no CQL"),
    ("calendar", "an_unknown_property_is_refused", "mod-calendar drops unknown properties"),
    ("calendar", "a_value_of_the_wrong_type_is_refused", "mod-calendar writes metadata itself"),
    (
        "reserve",
        "every_property_of_the_shape_is_stored",
        "its item must exist, and what is shown of the item is copied by the server",
    ),
];
