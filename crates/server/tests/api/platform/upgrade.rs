//! The upgrade of a tenant of an older release: missing parts are added, no data is lost.

use carrel_platform::ServerOptions;
use carrel_platform::record_store::upgrade::Step;
use carrel_platform::{Module, Node};
use carrel_records::{PLAIN, RecordType, mentions, text, unique};
use carrel_server::modules;
use carrel_testkit::{TENANT, TestServer};
use std::sync::Arc;

static SHELF_MARK: RecordType = RecordType {
    name: "shelfMark",
    module: "carrel",
    table: "shelf_mark",
    path: "/shelf-marks",
    collection: "shelfMarks",
    shape: "id:string(uuid); name:string*; color:string; groupId:string(uuid)",
    fields: &[text("name").indexed(), text("color").indexed()],
    ..PLAIN
};

/// The record type in a later release: with a reference and unique names, without an index on colors.
static LATER_SHELF_MARK: RecordType = RecordType {
    name: "shelfMark",
    module: "carrel",
    table: "shelf_mark",
    path: "/shelf-marks",
    collection: "shelfMarks",
    shape: "id:string(uuid); name:string*; color:string; groupId:string(uuid)",
    fields: &[text("name").indexed().keep_case(), text("color")],
    unique: &[unique(&["groupId", "name"])],
    belongs_to: &[mentions("groupId", "groups")],
    ..PLAIN
};

/// A table of the later release.
static BAY: RecordType = RecordType {
    name: "bay",
    module: "carrel",
    table: "bay",
    path: "/bays",
    collection: "bays",
    shape: "id:string(uuid); name:string*",
    fields: &[text("name").indexed()],
    ..PLAIN
};

static EARLY: &[&RecordType] = &[&SHELF_MARK];
static EARLY_WITH_BAY: &[&RecordType] = &[&SHELF_MARK, &BAY];
static LATE: &[&RecordType] = &[&LATER_SHELF_MARK, &BAY];
static LATE_WITHOUT_BAY: &[&RecordType] = &[&LATER_SHELF_MARK];

fn module(
    records: &'static [&'static RecordType],
    tables: &'static str,
    steps: &'static [Step],
) -> Vec<Module> {
    let mut modules = modules::modules();
    modules.push(Module {
        name: "shelves",
        records,
        tables,
        cached_tables: &[],
        steps,
        routes: |_| {},
        jobs: &[],
        change_listeners: &[],
        transaction_listeners: |_| (),
    });
    modules
}

async fn opened(server: &TestServer, modules: Vec<Module>) -> Arc<Node> {
    Node::open(server.cluster.address(&server.database), 4, modules, ServerOptions::default(), Vec::new())
        .await
        .expect("the tenant is brought up to date")
}

const GROUP: &str = "3684a786-6671-4268-8ed0-9db82ebca60b";
const STEPS: &[Step] = &[Step {
    name: "2026-11-21 red becomes crimson",
    sql: "UPDATE shelf_mark SET doc = jsonb_set(doc, '{color}', '\"crimson\"') WHERE doc->>'color' = 'red'",
}];

#[tokio::test]
async fn an_upgrade_adds_columns_indexes_and_tables_without_loss() {
    let server = TestServer::start().await;
    opened(&server, module(EARLY, "", &[])).await;
    let database = server.database().await;
    database
        .batch_execute(&format!(
            "INSERT INTO shelf_mark (id, doc) SELECT gen_random_uuid(),
                 jsonb_build_object('name', 'Mark ' || n, 'color', 'red', 'groupId', '{GROUP}') FROM generate_series(1, 50) n"
        ))
        .await
        .expect("the older table takes rows");
    let later = "CREATE TABLE IF NOT EXISTS shelf_count (id integer PRIMARY KEY)";
    opened(&server, module(LATE, later, STEPS)).await;
    let filled =
        format!("SELECT count(*) FROM shelf_mark WHERE group_id = '{GROUP}' AND doc->>'color' = 'crimson'");
    assert_eq!(
        count(&database, &filled).await,
        50,
        "rows stay, the new column is filled, the step was taken"
    );
    let index = "SELECT count(*) FROM pg_indexes WHERE tablename = 'shelf_mark' AND schemaname = current_schema()
                 AND (indexname = 'shelf_mark_group_id_name_key' OR indexdef NOT LIKE '%folded%' AND indexname = 'shelf_mark_name_value')";
    assert_eq!(
        count(&database, index).await,
        2,
        "a new index is made, and one that is defined otherwise made again"
    );
    assert_eq!(count(&database, "SELECT count(*) FROM bay").await, 0);
    assert_eq!(count(&database, "SELECT count(*) FROM shelf_count").await, 0);
}

#[tokio::test]
async fn an_upgrade_step_runs_once() {
    let server = TestServer::start().await;
    opened(&server, module(EARLY, "", &[])).await;
    opened(&server, module(EARLY, "", STEPS)).await;
    let database = server.database().await;
    database
        .batch_execute("INSERT INTO shelf_mark (id, doc) VALUES (gen_random_uuid(), '{\"color\": \"red\"}')")
        .await
        .expect("a row can be stored");
    opened(&server, module(EARLY_WITH_BAY, "", STEPS)).await;
    let red = "SELECT count(*) FROM shelf_mark WHERE doc->>'color' = 'red'";
    assert_eq!(count(&database, red).await, 1);
}

#[tokio::test]
async fn undeclared_indexes_and_columns_are_dropped_on_request_and_tables_never() {
    let server = TestServer::start().await;
    opened(&server, module(EARLY_WITH_BAY, "", &[])).await;
    let later = opened(&server, module(LATE_WITHOUT_BAY, "", &[])).await;
    let database = server.database().await;
    let color = "SELECT count(*) FROM pg_indexes WHERE indexname = 'shelf_mark_color_value' AND schemaname = current_schema()";
    assert_eq!(count(&database, color).await, 1, "an older program may still use it");
    let tenant = later.tenant(TENANT).expect("the tenant is there");
    let reported = later.drop_obsolete_schema(&tenant).await.expect("the tenant can be tidied");
    assert_eq!(
        reported,
        [
            "table bay is no longer declared; it stays with its rows",
            "index shelf_mark_color_value of table shelf_mark was dropped"
        ]
    );
    assert_eq!(count(&database, color).await, 0);
}

async fn count(database: &tokio_postgres::Client, query: &str) -> i64 {
    database.query_one(query, &[]).await.unwrap_or_else(|error| panic!("{query}: {error:?}")).get(0)
}

#[tokio::test]
async fn renamed_tables_can_be_used_by_older_programs_under_their_former_names() {
    let server = TestServer::start().await;
    let database = server.database().await;
    database
        .batch_execute("ALTER TABLE schema_part RENAME TO made; ALTER TABLE bulk_job_progress RENAME TO walk")
        .await
        .expect("a tenant as an older program made it");
    let later = opened(&server, module(EARLY, "", &[])).await;
    for (now, before) in [("schema_part", "made"), ("bulk_job_progress", "walk")] {
        let same = format!("SELECT (SELECT count(*) FROM {now}) - (SELECT count(*) FROM {before})");
        let row = database.query_one(&same, &[]).await.expect("both names are there");
        assert_eq!(row.get::<_, i64>(0), 0, "{before}");
    }
    database
        .batch_execute(
            "INSERT INTO made (kind, on_table, name, definition) VALUES ('step', '', 'of an older program', '1')
                 ON CONFLICT (kind, on_table, name) DO UPDATE SET definition = EXCLUDED.definition;
             INSERT INTO walk (job_id, reached) VALUES (gen_random_uuid(), gen_random_uuid());
             DELETE FROM walk",
        )
        .await
        .expect("an older program writes under the former names");
    let step = "SELECT count(*) FROM schema_part WHERE name = 'of an older program'";
    assert_eq!(count(&database, step).await, 1);
    let tenant = later.tenant(&server.tenant.id).expect("the tenant is there");
    later.drop_obsolete_schema(&tenant).await.expect("no older program runs any more");
    let views =
        "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v'";
    assert_eq!(count(&database, views).await, 0);
}

#[tokio::test]
async fn a_tenant_of_an_older_release_gets_folios_authority_source_files() {
    let server = TestServer::start().await;
    let database = server.database().await;
    let files = "SELECT count(*) FROM authority_source_file WHERE doc->>'source' = 'folio'";
    database.batch_execute("DELETE FROM authority_source_file").await.expect("they are not there yet");
    opened(&server, module(EARLY, "", &[])).await;
    assert_eq!(count(&database, files).await, 12);
    let without = "DELETE FROM authority_source_file; DELETE FROM instance_type";
    database.batch_execute(without).await.expect("it has no reference records");
    opened(&server, module(EARLY_WITH_BAY, "", &[])).await;
    assert_eq!(count(&database, files).await, 0);
}
