//! Settings of the tenant: entries by scope and key, the older configuration, addresses, locale, base address.
//!
//! Routes: `/settings/entries…`, `/settings/upload`, `/configurations/entries…` and `/configurations/audit`,
//! `/tenant-addresses…`, `/locale`, `/base-url`, `/user/settings/{id}`. The permission to read and write an entry
//! depends on its scope and owner (`access`). Changes of settings, configuration and locale increment the settings
//! version.

mod access;
mod base_url;
mod configuration;
mod entries;
mod locale;
mod single;
mod tenant_addresses;
mod upload;
mod user_settings;

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    entries::connect(router);
    upload::connect(router);
    configuration::connect(router);
    tenant_addresses::connect(router);
    locale::connect(router);
    base_url::connect(router);
    user_settings::connect(router);
}
