//! Users and what belongs to them: groups, addresses, departments, proxies, PINs, profile pictures.

use carrel_records::{
    Composed, PLAIN, RecordType, Routes, array, boolean, date, joined, mentions, number, text, to, unique,
};

/// A patron, staff member or other account.
pub static USER: RecordType = RecordType {
    name: "user",
    module: "mod-users",
    table: "users",
    path: "/users",
    collection: "users",
    shape: "
        username:string
        id:string(uuid)
        externalSystemId:string
        barcode:string
        active:boolean
        type:string
        patronGroup:string(uuid)
        departments:array<string(uuid)>(set)
        meta:object
        proxyFor:array<string>
        personal:object
        personal.pronouns:string(length=..300)
        personal.lastName:string*
        personal.firstName:string
        personal.middleName:string
        personal.preferredFirstName:string
        personal.email:string
        personal.phone:string
        personal.mobilePhone:string
        personal.dateOfBirth:string(date-time)
        personal.addresses:array<object>
        personal.addresses[].id:string
        personal.addresses[].countryId:string
        personal.addresses[].addressLine1:string
        personal.addresses[].addressLine2:string
        personal.addresses[].city:string
        personal.addresses[].region:string
        personal.addresses[].postalCode:string
        personal.addresses[].addressTypeId:string(uuid)*
        personal.addresses[].primaryAddress:boolean
        personal.preferredContactTypeId:string
        personal.preferredContactTypeIds:array<string>
        personal.profilePictureLink:string
        enrollmentDate:string(date-time)
        expirationDate:string(date-time)
        createdDate:string(date-time)
        updatedDate:string(date-time)
        tags:object
        tags.tagList:array<string>
        customFields:object
        preferredEmailCommunication:array<string(enum=Support|Programs|Services)>(items=..3,set)
    ",
    fields: &[
        text("personal.firstName").indexed().words_within("keywords"),
        text("personal.lastName").indexed().words_within("keywords"),
        text("personal.middleName").indexed().words_within("keywords"),
        text("type").indexed().words(),
        date("expirationDate").indexed(),
        text("username").indexed().words_within("keywords"),
        text("personal.email").indexed().words_within("keywords"),
        // Users who have forgotten their username are found by them.
        text("personal.phone").indexed().skip_absent(),
        text("personal.mobilePhone").indexed().skip_absent(),
        text("barcode").indexed().words_within("keywords"),
        text("externalSystemId").indexed().words_within("keywords"),
        boolean("active").indexed(),
        text("personal.preferredFirstName").words_within("keywords"),
        array("departments"),
        text("customFields").words_within("keywords"),
        // One index over all words instead of ten: each would cost as much as all others of a new user.
        joined(
            "keywords",
            &[
                "username",
                "personal.firstName",
                "personal.preferredFirstName",
                "personal.lastName",
                "personal.middleName",
                "personal.email",
                "barcode",
                "id",
                "externalSystemId",
                "customFields",
            ],
        )
        .words(),
        date("metadata.updatedDate").indexed(),
    ],
    unique: &[unique(&["externalSystemId"]), unique(&["username"]), unique(&["barcode"])],
    belongs_to: &[to("patronGroup", "groups").alias("patronGroup")],
    events: Some("users.users"),
    result_info: true,
    ..PLAIN
};

/// A patron group.
pub static USERGROUP: RecordType = RecordType {
    name: "usergroup",
    module: "mod-users",
    table: "groups",
    path: "/groups",
    collection: "usergroups",
    shape: "
        group:string*
        desc:string
        id:string(uuid)
        expirationOffsetInDays:integer
        source:string
    ",
    closed: false,
    fields: &[text("group").indexed()],
    unique: &[unique(&["group"])],
    events: Some("users.userGroup"),
    ..PLAIN
};

/// A type of postal address, such as home.
pub static ADDRESS_TYPE: RecordType = RecordType {
    name: "addressType",
    module: "mod-users",
    table: "addresstype",
    path: "/addresstypes",
    collection: "addressTypes",
    shape: "
        addressType:string*
        desc:string
        id:string(uuid)
    ",
    fields: &[text("addressType").indexed()],
    unique: &[unique(&["addressType"])],
    ..PLAIN
};

/// A department, to which users may belong.
pub static DEPARTMENT: RecordType = RecordType {
    name: "department",
    module: "mod-users",
    table: "departments",
    path: "/departments",
    collection: "departments",
    shape: "
        id:string(uuid)
        name:string*
        code:string*
        usageNumber:integer(ro)
        source:string
    ",
    fields: &[text("code").indexed(), text("name").indexed()],
    unique: &[unique(&["name"]), unique(&["code"])],
    composed: Some(Composed {
        from: "departments",
        document: "departments.doc || jsonb_build_object('usageNumber', \
                   (SELECT count(*) FROM users u WHERE u.doc->'departments' ? departments.id::text))",
        adds: &[],
    }),
    ..PLAIN
};

/// A sponsor and the user who may act as their proxy.
pub static PROXIES_FOR: RecordType = RecordType {
    name: "proxiesFor",
    module: "mod-users",
    table: "proxyfor",
    path: "/proxiesfor",
    collection: "proxiesFor",
    shape: "
        userId:string(uuid)
        proxyUserId:string(uuid)
        id:string(uuid)
        requestForSponsor:string
        createdDate:string(date-time)
        notificationsTo:string
        accrueTo:string
        status:string
        expirationDate:string(date-time)
    ",
    belongs_to: &[mentions("userId", "users"), mentions("proxyUserId", "users")],
    ..PLAIN
};

/// A self-registered patron who waits to become a user.
pub static STAGING_USER: RecordType = RecordType {
    name: "stagingUser",
    module: "mod-users",
    table: "staging_users",
    path: "/staging-users",
    collection: "staging_users",
    shape: "
        id:string(uuid)
        isEmailVerified:boolean
        minor:boolean
        status:string(enum=TIER-1|TIER-2)
        externalSystemId:string
        generalInfo:object*
        generalInfo.firstName:string*
        generalInfo.preferredFirstName:string
        generalInfo.middleName:string
        generalInfo.lastName:string*
        addressInfo:object
        addressInfo.addressLine0:string
        addressInfo.addressLine1:string
        addressInfo.city:string
        addressInfo.province:string
        addressInfo.zip:string
        addressInfo.country:string
        contactInfo:object*
        contactInfo.phone:string
        contactInfo.mobilePhone:string
        contactInfo.email:string*
        preferredEmailCommunication:array<string(enum=Support|Programs|Services)>(items=..3,set)
    ",
    fields: &[
        text("contactInfo.email").indexed(),
        text("generalInfo.firstName").indexed(),
        text("generalInfo.lastName").indexed(),
        text("generalInfo.middleName").indexed(),
        text("externalSystemId").indexed(),
        joined(
            "keywords",
            &[
                "generalInfo.firstName",
                "generalInfo.preferredFirstName",
                "generalInfo.middleName",
                "generalInfo.lastName",
                "contactInfo.phone",
                "contactInfo.mobilePhone",
                "contactInfo.email",
                "preferredEmailCommunication",
                "id",
                "isEmailVerified",
                "externalSystemId",
            ],
        )
        .words(),
    ],
    unique: &[unique(&["externalSystemId"])],
    result_info: true,
    routes: Routes::ByHand,
    ..PLAIN
};

/// Which tenant of a consortium a user belongs to.
pub static USER_TENANT: RecordType = RecordType {
    name: "userTenant",
    module: "mod-users",
    table: "user_tenant",
    path: "/user-tenants",
    collection: "userTenants",
    shape: "
        id:string(uuid)
        userId:string(uuid)*
        username:string
        tenantId:string*
        centralTenantId:string
        phoneNumber:string
        mobilePhoneNumber:string
        email:string
        barcode:string
        externalSystemId:string
        consortiumId:string(uuid)
    ",
    fields: &[text("username").indexed(), text("tenantId").indexed()],
    belongs_to: &[mentions("userId", "users")],
    metadata: false,
    ..PLAIN
};

/// A patron's PIN, hashed.
pub static PATRON_PIN: RecordType = RecordType {
    name: "patronPin",
    module: "mod-users",
    table: "patronpin",
    path: "/patron-pin",
    shape: "
        id:string(uuid)
        pin:string
    ",
    closed: false,
    routes: Routes::ByHand,
    ..PLAIN
};

/// The profile picture of a user.
pub static PROFILE_PICTURE: RecordType = RecordType {
    name: "profilePicture",
    module: "mod-users",
    table: "profile_picture",
    path: "/users/profile-picture",
    shape: "
        id:string(uuid)*
        profile_picture_blob:string*
        hmac:string
    ",
    closed: false,
    metadata: false,
    routes: Routes::ByHand,
    ..PLAIN
};

/// The definition of a custom field of the user record.
pub static CUSTOM_FIELD: RecordType = RecordType {
    name: "customField",
    module: "mod-users",
    table: "custom_fields",
    path: "/custom-fields",
    collection: "customFields",
    shape: "
        id:string(uuid)
        name:string*
        refId:string(ro)
        type:string(enum=RADIO_BUTTON|SINGLE_CHECKBOX|SINGLE_SELECT_DROPDOWN|MULTI_SELECT_DROPDOWN|\
            TEXTBOX_SHORT|TEXTBOX_LONG|DATE_PICKER)*
        entityType:string*
        visible:boolean=true
        required:boolean=false
        isRepeatable:boolean=false
        order:integer(ro)
        helpText:string
        checkboxField:object
        checkboxField.default:boolean=false
        selectField:object
        selectField.multiSelect:boolean*
        selectField.options:object*
        selectField.options.values:array<object>*
        selectField.options.values[].id:string
        selectField.options.values[].value:string*
        selectField.options.values[].default:boolean=false
        selectField.options.sortingOrder:string(enum=ASC|DESC|CUSTOM)=CUSTOM
        textField:object
        textField.fieldFormat:string(enum=TEXT|EMAIL|URL|NUMBER)*=TEXT
        displayInAccordion:string
    ",
    fields: &[text("refId").indexed(), text("entityType").indexed(), number("order").indexed()],
    unique: &[unique(&["refId"])],
    ..PLAIN
};
