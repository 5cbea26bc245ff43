//! Record types of users and of the tenant's settings.

pub mod notes;
pub mod people;
pub mod settings;

use carrel_records::RecordType;

/// Every record type of this module; a type comes after those that it refers to.
pub static RECORD_TYPES: &[&RecordType] = &[
    &crate::permissions::PERMISSION,
    &crate::permissions::PERMISSION_USER,
    &crate::login::events::LOG_EVENT,
    &people::USERGROUP,
    &people::USER,
    &people::ADDRESS_TYPE,
    &people::DEPARTMENT,
    &people::PROXIES_FOR,
    &people::STAGING_USER,
    &people::USER_TENANT,
    &people::PATRON_PIN,
    &people::PROFILE_PICTURE,
    &people::CUSTOM_FIELD,
    &notes::NOTE_TYPE,
    &notes::NOTE,
    &settings::PROFILE_PICTURE_CONFIGURATION,
    &settings::USER_SETTING,
    &settings::PATRON_SETTING,
    &settings::CONFIG,
    &settings::CONFIG_AUDIT,
    &settings::SETTINGS_ENTRY,
    &settings::TENANT_ADDRESS,
    &settings::LOCALE,
    &settings::BASE_URL,
];

#[cfg(test)]
mod tests {
    use super::RECORD_TYPES;

    #[test]
    fn the_declarations_hold_together() {
        assert_eq!(carrel_records::soundness::faults(RECORD_TYPES, &[]), [""; 0]);
    }
}
