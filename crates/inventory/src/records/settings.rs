//! HRID settings, inventory settings and bulk jobs.

use carrel_records::{PLAIN, RecordType, Routes, text, unique};

/// The numbering of human-readable ids.
pub static HRID_SETTINGS: RecordType = RecordType {
    name: "hridSettings",
    module: "mod-inventory-storage",
    table: "hrid_settings",
    path: "/hrid-settings-storage/hrid-settings",
    shape: "
        id:string(uuid,ro)
        instances:object*
        instances.prefix:string(like=number-prefix)
        instances.startNumber:integer(min=1,max=99999999999)*
        instances.currentNumber:integer(ro,min=0,max=99999999999)
        holdings:object*
        holdings.prefix:string(like=number-prefix)
        holdings.startNumber:integer(min=1,max=99999999999)*
        holdings.currentNumber:integer(ro,min=0,max=99999999999)
        items:object*
        items.prefix:string(like=number-prefix)
        items.startNumber:integer(min=1,max=99999999999)*
        items.currentNumber:integer(ro,min=0,max=99999999999)
        commonRetainLeadingZeroes:boolean=true
    ",
    routes: Routes::Single,
    ..PLAIN
};

/// A setting of mod-inventory-storage.
pub static INVENTORY_SETTING: RecordType = RecordType {
    name: "inventorySetting",
    module: "mod-inventory-storage",
    table: "inventory_settings",
    path: "/inventory-settings",
    shape: "
        id:string(uuid)
        key:string*
        value:string*
        type:string(enum=BOOLEAN|INTEGER|STRING)*
        centralManaged:boolean*
        description:string
        createdDate:string(date-time)
        createdByUserId:string(uuid)
        updatedDate:string(date-time)
        updatedByUserId:string(uuid)
    ",
    fields: &[text("key").keep_case().keep_accents().indexed()],
    unique: &[unique(&["key"]).exact()],
    metadata: false,
    events: Some("inventory.setting"),
    routes: Routes::ByHand,
    ..PLAIN
};

/// A bulk job that publishes an event for every instance, for a search index.
pub static REINDEX_JOB: RecordType = RecordType {
    name: "reindexJob",
    module: "mod-inventory-storage",
    table: "reindex_job",
    path: "/instance-storage/reindex",
    collection: "reindexJobs",
    shape: "
        id:string(uuid)
        published:integer=0
        jobStatus:string(enum=In progress|Id publishing failed|Ids published|Pending cancel|\
            Id publishing cancelled)
        resourceName:string(enum=Instance|Unknown)
        submittedDate:string(date-time)
    ",
    metadata: false,
    routes: Routes::ByHand,
    ..PLAIN
};

/// A bulk job that publishes an event for every instance on a topic of the caller's choice.
pub static ITERATION_JOB: RecordType = RecordType {
    name: "iterationJob",
    module: "mod-inventory-storage",
    table: "iteration_job",
    path: "/instance-storage/instances/iteration",
    shape: "
        id:string(uuid)
        messagesPublished:integer=0
        jobStatus:string(enum=In progress|Failed|Completed|Cancellation pending|Cancelled)
        submittedDate:string(date-time)
        jobParams:object
        jobParams.eventType:string=ITERATE
        jobParams.topicName:string*
    ",
    metadata: false,
    routes: Routes::ByHand,
    ..PLAIN
};

/// A bulk job that updates stored records after an upgrade.
pub static ASYNC_MIGRATION_JOB: RecordType = RecordType {
    name: "asyncMigrationJob",
    module: "mod-inventory-storage",
    table: "async_migration_job",
    path: "/inventory-storage/migrations/jobs",
    collection: "jobs",
    shape: "
        id:string(uuid)
        migrations:array<string>
        affectedEntities:array<string>
        published:array<object>(open)
        published[].migrationName:string
        published[].count:integer=0
        processed:array<object>(open)
        processed[].migrationName:string
        processed[].count:integer=0
        jobStatus:string(enum=In progress|Id publishing failed|Ids published|Pending cancel|Cancelled|\
            Completed)
        submittedDate:string(date-time)
        finishedDate:string(date-time)
    ",
    metadata: false,
    routes: Routes::ByHand,
    ..PLAIN
};
