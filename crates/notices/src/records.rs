//! Templates, mail settings, and the notices of events.

use carrel_records::{PLAIN, RecordType, boolean, date, number, text, unique};

/// Every record type of this module.
pub static RECORD_TYPES: &[&RecordType] =
    &[&TEMPLATE, &SMTP_CONFIGURATION, &EMAIL_SETTING, &EVENT_CONFIGURATION, &EMAIL, &NOTIFICATION];

/// A template of notices in its languages and formats.
pub static TEMPLATE: RecordType = RecordType {
    name: "template",
    module: "mod-template-engine",
    table: "template",
    path: "/templates",
    collection: "templates",
    shape: "
        id:string(uuid)
        description:string
        outputFormats:array<string>=[]
        templateResolver:string*
        localizedTemplates:object*
        localizedTemplates{}.header:string(like=visible-line)*
        localizedTemplates{}.body:string(like=visible-text)*
        localizedTemplates{}.attachments:array<object>(open)=[]
        scope:string
    ",
    closed: false,
    ..PLAIN
};

/// The mail server of the library.
pub static SMTP_CONFIGURATION: RecordType = RecordType {
    name: "smtpConfiguration",
    module: "mod-email",
    table: "smtp_configuration",
    path: "/smtp-configuration",
    collection: "smtpConfigurations",
    shape: "
        id:string(uuid)
        host:string*
        port:integer*
        username:string*
        password:string*
        ssl:boolean
        trustAll:boolean
        loginOption:string(enum=DISABLED|NONE|REQUIRED|XOAUTH2)
        startTlsOptions:string(enum=DISABLED|OPTIONAL|REQUIRED)
        expirationHours:integer
        authMethods:string
        from:string
        identities:array<object>
        identities[].address:string*
        identities[].name:string
        emailHeaders:array<object>
        emailHeaders[].name:string*
        emailHeaders[].value:string*
        idleTimeout:integer
        connectTimeout:integer
    ",
    ..PLAIN
};

/// Other settings of sending mail.
pub static EMAIL_SETTING: RecordType = RecordType {
    name: "setting",
    module: "mod-email",
    // FOLIO's table is named `settings`, like a table of another module.
    table: "email_settings",
    path: "/email/settings",
    collection: "settings",
    shape: "
        id:string(uuid)*
        scope:string(enum=mod-email)*
        key:string*
        value:any*
        userId:string(uuid)
    ",
    fields: &[text("key")],
    unique: &[unique(&["key"])],
    optimistic_locking: true,
    ..PLAIN
};

/// The templates for an event.
pub static EVENT_CONFIGURATION: RecordType = RecordType {
    name: "eventConfigEntity",
    module: "mod-event-config",
    table: "event_configurations",
    path: "/eventConfig",
    collection: "eventEntity",
    shape: "
        id:string
        name:string*
        active:boolean*
        templates:array<object>
        templates[].templateId:string*
        templates[].outputFormat:string*
        templates[].deliveryChannel:string*
    ",
    fields: &[text("name")],
    unique: &[unique(&["name"]).keep_accents()],
    metadata: false,
    ..PLAIN
};

/// An e-mail and the state of its delivery.
pub static EMAIL: RecordType = RecordType {
    name: "emailEntity",
    module: "mod-email",
    table: "email_statistics",
    path: "/email",
    collection: "emailEntity",
    shape: "
        id:string(uuid)
        notificationId:string*
        from:string
        to:string*
        bcc:string
        header:string*
        outputFormat:string
        body:string*
        attachments:array<object>
        attachments[].contentType:string*
        attachments[].name:string*
        attachments[].description:string
        attachments[].data:string*
        attachments[].disposition:string
        attachments[].contentId:string
        status:string(enum=NEW|DELIVERED|FAILURE)
        shouldRetry:boolean
        attemptCount:integer
        message:string
        date:string(date-time)
    ",
    fields: &[
        text("notificationId"),
        text("status"),
        text("to"),
        boolean("shouldRetry"),
        number("attemptCount"),
        date("date").indexed(),
        date("metadata.createdDate").indexed(),
    ],
    ..PLAIN
};

/// A message to a user of the system.
pub static NOTIFICATION: RecordType = RecordType {
    name: "notification",
    module: "mod-notify",
    table: "notify_data",
    path: "/notify",
    collection: "notifications",
    shape: "
        id:string(uuid)
        recipientId:string
        senderId:string
        text:string*
        link:string
        eventConfigName:string
        lang:string
        context:object(open)
        seen:boolean
    ",
    fields: &[text("recipientId").indexed(), boolean("seen"), text("text"), text("link")],
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
