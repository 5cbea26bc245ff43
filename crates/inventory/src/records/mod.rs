//! Record types of inventory.

pub mod authorities;
pub mod holdings;
pub mod holdings_reference;
pub mod instance_reference;
pub mod instances;
pub mod items;
pub mod locations;
pub mod organizations;
pub mod settings;
pub mod tags;

use carrel_records::RecordType;

/// Every record type of this module; a type comes after those that it refers to.
pub static RECORD_TYPES: &[&RecordType] = &[
    &authorities::AUTHORITY_SOURCE_FILE,
    &locations::LOCATION_INSTITUTION,
    &locations::LOCATION_CAMPUS,
    &locations::LOCATION_LIBRARY,
    &locations::LOCATION,
    &locations::SERVICE_POINT,
    &locations::SERVICE_POINTS_USER,
    &instances::MARC_JSON,
    &instance_reference::INSTANCE_TYPE,
    &instance_reference::INSTANCE_FORMAT,
    &instance_reference::INSTANCE_STATUS,
    &instance_reference::ISSUANCE_MODE,
    &instance_reference::INSTANCE_DATE_TYPE,
    &instances::INSTANCE,
    &instances::INSTANCE_PRECEDING_SUCCEEDING_TITLE,
    &instance_reference::NATURE_OF_CONTENT_TERM,
    &instance_reference::INSTANCE_NOTE_TYPE,
    &instance_reference::INSTANCE_RELATIONSHIP_TYPE,
    &instances::INSTANCE_RELATIONSHIP,
    &instance_reference::IDENTIFIER_TYPE,
    &instance_reference::CONTRIBUTOR_TYPE,
    &instance_reference::CONTRIBUTOR_NAME_TYPE,
    &instance_reference::ALTERNATIVE_TITLE_TYPE,
    &instance_reference::CLASSIFICATION_TYPE,
    &instance_reference::SUBJECT_SOURCE,
    &instance_reference::SUBJECT_TYPE,
    &instance_reference::ELECTRONIC_ACCESS_RELATIONSHIP,
    &instance_reference::STATISTICAL_CODE_TYPE,
    &instance_reference::STATISTICAL_CODE,
    &holdings_reference::HOLDINGS_TYPE,
    &holdings_reference::HOLDINGS_NOTE_TYPE,
    &holdings_reference::HOLDINGS_RECORDS_SOURCE,
    &holdings_reference::CALL_NUMBER_TYPE,
    &holdings_reference::ILL_POLICY,
    &holdings::HOLDINGS_RECORD,
    &items::LOAN_TYPE,
    &items::MATERIAL_TYPE,
    &items::ITEM,
    &holdings::BOUND_WITH_PART,
    &items::ITEM_NOTE_TYPE,
    &items::ITEM_DAMAGE_STATUS,
    &settings::HRID_SETTINGS,
    &settings::INVENTORY_SETTING,
    &settings::REINDEX_JOB,
    &settings::ITERATION_JOB,
    &settings::ASYNC_MIGRATION_JOB,
    &tags::TAG,
    &organizations::ORGANIZATION,
];

#[cfg(test)]
mod tests {
    use super::RECORD_TYPES;

    #[test]
    fn the_declarations_hold_together() {
        assert_eq!(carrel_records::soundness::faults(RECORD_TYPES, &[]), [""; 0]);
    }
}
