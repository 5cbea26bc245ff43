//! Settings of the tenant: entries, the older configuration, addresses, locale.

use carrel_records::{PLAIN, RecordType, Routes, boolean, mentions, text, unique};

/// Whether and how profile pictures are stored.
pub static PROFILE_PICTURE_CONFIGURATION: RecordType = RecordType {
    name: "profilePictureConfiguration",
    module: "mod-users",
    table: "configuration",
    path: "/users/configurations/entry",
    shape: "
        id:string(uuid)
        configName:string*
        enabled:boolean=false
        enabledObjectStorage:boolean=false
        encryptionKey:string
        maxFileSize:number
    ",
    fields: &[text("configName").keep_case().keep_accents().indexed()],
    unique: &[unique(&["configName"]).exact()],
    routes: Routes::ByHand,
    ..PLAIN
};

/// A setting of mod-users.
pub static USER_SETTING: RecordType = RecordType {
    name: "userSetting",
    module: "mod-users",
    table: "user_settings",
    path: "/user/settings",
    collection: "settings",
    shape: "
        id:string(uuid)
        scope:string(enum=mod-users)*
        key:string*
        value:any*
        userId:string(uuid)
        _version:integer
    ",
    fields: &[text("key").indexed()],
    unique: &[unique(&["key"])],
    optimistic_locking: true,
    ..PLAIN
};

/// A setting of mod-patron.
pub static PATRON_SETTING: RecordType = RecordType {
    name: "patronSetting",
    module: "mod-patron",
    table: "patron_settings",
    path: "/patron/settings",
    collection: "settings",
    shape: "
        id:string(uuid)
        scope:string(enum=mod-patron)*
        key:string*
        value:any*
        userId:string(uuid)
        _version:integer
    ",
    fields: &[text("key").indexed()],
    unique: &[unique(&["key"])],
    optimistic_locking: true,
    ..PLAIN
};

/// An entry of the older configuration, still read by clients.
pub static CONFIG: RecordType = RecordType {
    name: "config",
    module: "mod-configuration",
    table: "config_data",
    path: "/configurations/entries",
    collection: "configs",
    shape: "
        id:string(uuid)
        module:string*
        configName:string*
        code:string
        description:string
        default:boolean
        enabled:boolean
        value:string
        userId:string
    ",
    fields: &[
        text("module").keep_accents().indexed(),
        boolean("default").indexed(),
        text("value").indexed(),
        text("configName").keep_accents().indexed(),
        text("code").keep_accents().indexed(),
        text("userId").indexed(),
    ],
    unique: &[unique(&["module", "configName", "code", "userId"]).absent_too()],
    result_info: true,
    ..PLAIN
};

/// A recorded change of a configuration entry.
pub static CONFIG_AUDIT: RecordType = RecordType {
    name: "configAudit",
    module: "mod-configuration",
    table: "audit_config_data",
    path: "/configurations/audit",
    collection: "audits",
    shape: "
        id:string(uuid)
        orig_id:string
        operation:string
        jsonb:object
        jsonb.content:array<object>
        createdDate:string
    ",
    closed: false,
    metadata: false,
    ..PLAIN
};

/// A setting of the tenant or of one of its users.
pub static SETTINGS_ENTRY: RecordType = RecordType {
    name: "settingsEntry",
    module: "mod-settings",
    table: "settings",
    path: "/settings/entries",
    collection: "items",
    shape: "
        id:string(uuid)*
        scope:string*
        key:string*
        value:any*
        userId:string(uuid)
    ",
    fields: &[
        text("scope").keep_case().keep_accents().indexed(),
        text("key").keep_case().keep_accents().indexed(),
    ],
    unique: &[unique(&["scope", "key", "userId"]).exact().absent_too()],
    belongs_to: &[mentions("userId", "users")],
    metadata: false,
    result_info: true,
    ..PLAIN
};

/// A postal address of the library itself.
pub static TENANT_ADDRESS: RecordType = RecordType {
    name: "tenantAddress",
    module: "mod-settings",
    table: "tenant_addresses",
    path: "/tenant-addresses",
    collection: "addresses",
    shape: "
        id:string(uuid)
        name:string*
        address:string*
    ",
    fields: &[text("name").keep_case().keep_accents().indexed()],
    unique: &[unique(&["name"]).exact()],
    result_info: true,
    ..PLAIN
};

/// Language, currency and time zone of the tenant.
pub static LOCALE: RecordType = RecordType {
    name: "locale",
    module: "mod-settings",
    table: "locale",
    path: "/locale",
    shape: "
        locale:string*
        currency:string*
        timezone:string*
        numberingSystem:string
    ",
    metadata: false,
    routes: Routes::Single,
    ..PLAIN
};

/// The address of the library's user interface.
pub static BASE_URL: RecordType = RecordType {
    name: "baseUrl",
    module: "mod-settings",
    table: "baseurl",
    path: "/base-url",
    shape: "
        baseUrl:string*
    ",
    metadata: false,
    routes: Routes::Single,
    ..PLAIN
};
