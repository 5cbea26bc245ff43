//! Indexes of a new release: those of large tables are built while desks work.

use carrel_platform::ServerOptions;
use carrel_platform::jobs::{self, Pace};
use carrel_platform::node::INDEX_BUILDS;
use carrel_platform::{Module, Node};
use carrel_records::{PLAIN, RecordType, text};
use carrel_server::modules;
use carrel_testkit::{TENANT, TestServer};
use std::sync::Arc;
use std::time::Duration;

const SHELF_MARK: RecordType = RecordType {
    name: "shelfMark",
    module: "carrel",
    table: "shelf_mark",
    path: "/shelf-marks",
    collection: "shelfMarks",
    shape: "id:string(uuid); name:string*; color:string",
    fields: &[text("name").indexed(), text("color")],
    ..PLAIN
};

/// Colors are queried now, and names case-sensitively.
const LATER_SHELF_MARK: RecordType =
    RecordType { fields: &[text("name").indexed().keep_case(), text("color").indexed()], ..SHELF_MARK };

static EARLY: &[&RecordType] = &[&SHELF_MARK];
static LATE: &[&RecordType] = &[&LATER_SHELF_MARK];

async fn opened(server: &TestServer, records: &'static [&'static RecordType]) -> Arc<Node> {
    let mut modules = modules::modules();
    modules.push(Module {
        name: "shelves",
        records,
        tables: "",
        cached_tables: &[],
        steps: &[],
        routes: |_| {},
        jobs: &[],
        change_listeners: &[],
        transaction_listeners: |_| (),
    });
    let address = server.cluster.address(&server.database);
    Node::open(address, 6, modules, ServerOptions::default(), Vec::new())
        .await
        .expect("the tenant is brought up to date")
}

/// Some 20 MB of shelf marks.
async fn fill(database: &tokio_postgres::Client) {
    database
        .batch_execute(
            "INSERT INTO shelf_mark (id, doc) SELECT gen_random_uuid(), jsonb_build_object('name', 'Mark ' || n,
                 'color', 'red', 'note', (SELECT string_agg(md5(n::text || m::text), '') FROM generate_series(1, 40) m))
             FROM generate_series(1, 14000) n",
        )
        .await
        .expect("the table takes rows");
}

/// The definition of an existing, valid index.
async fn index(database: &tokio_postgres::Client, name: &str) -> Option<String> {
    let row = database
        .query_opt(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indexrelid = to_regclass($1) AND indisvalid",
            &[&name],
        )
        .await
        .expect("indexes can be listed");
    row.map(|row| row.get(0))
}

#[tokio::test]
async fn indexes_of_a_large_table_are_built_by_the_job_without_blocking_writers() {
    let server = TestServer::start().await;
    opened(&server, EARLY).await;
    let database = server.database().await;
    fill(&database).await;
    // An index build that blocks writers would have to wait for this transaction.
    let writer = server.database().await;
    let writing = "BEGIN; UPDATE shelf_mark SET doc = doc WHERE doc->>'name' = 'Mark 1'";
    writer.batch_execute(writing).await.expect("a row can be changed");

    let later = tokio::time::timeout(Duration::from_secs(20), opened(&server, LATE))
        .await
        .expect("the start does not wait for whoever writes");
    let tenant = later.tenant(TENANT).expect("the tenant is there");
    let missing = tenant.missing_indexes().await.expect("the query succeeds");
    let names: Vec<&str> = missing.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names, ["shelf_mark_name_value", "shelf_mark_color_value"]);
    let old = index(&database, "shelf_mark_name_value").await.expect("the old index serves until then");
    assert!(old.contains("folded"), "{old}");

    writer.batch_execute("COMMIT").await.expect("the writer goes on");
    let pace = Pace { poll: Duration::from_millis(50), ..Pace::default() };
    let runner = jobs::start_with(&later, vec![&INDEX_BUILDS], pace);
    for _ in 0..400 {
        if tenant.missing_indexes().await.expect("the query succeeds").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    runner.stop().await;
    assert!(index(&database, "shelf_mark_color_value").await.is_some(), "the new one stands");
    let new = index(&database, "shelf_mark_name_value").await.expect("it took the old one's name");
    assert!(!new.contains("folded"), "{new}");
    assert_eq!(index(&database, "shelf_mark_name_value_new").await, None);
}

#[tokio::test]
async fn an_interrupted_index_build_is_repeated() {
    let server = TestServer::start().await;
    let open_node = opened(&server, EARLY).await;
    let tenant = open_node.tenant(TENANT).expect("the tenant is there");
    assert_eq!(tenant.missing_indexes().await.expect("the query succeeds"), []);
    let database = server.database().await;
    // The remains of a concurrent build whose node died, under its temporary name; and an index that became invalid
    // later.
    database
        .batch_execute(
            "CREATE INDEX shelf_mark_name_value_new ON shelf_mark (id);
             UPDATE pg_index SET indisvalid = false
             WHERE indexrelid IN ('shelf_mark_name_value_new'::regclass, 'shelf_mark_name_value'::regclass)",
        )
        .await
        .expect("an index can be spoilt");
    let missing = tenant.missing_indexes().await.expect("the query succeeds");
    assert_eq!(missing.len(), 1, "{missing:?}");
    let words = tenant.build_missing_indexes().await.expect("it is built");
    assert_eq!(words, "1 built");
    assert!(index(&database, "shelf_mark_name_value").await.is_some_and(|made| made.contains("folded")));
    assert_eq!(tenant.build_missing_indexes().await.expect("the query succeeds"), "all indexes stand");
}

#[tokio::test]
async fn indexes_of_small_tables_are_built_at_start() {
    let server = TestServer::start().await;
    opened(&server, EARLY).await;
    let later = opened(&server, LATE).await;
    let tenant = later.tenant(TENANT).expect("the tenant is there");
    assert_eq!(tenant.missing_indexes().await.expect("the query succeeds"), []);
}

#[tokio::test]
async fn an_operator_sees_which_indexes_are_missing() {
    let server = TestServer::start().await;
    let whole = server.get("/admin/index-builds").await.expect(200);
    assert_eq!(
        (whole["totalRecords"].as_u64(), whole["missing"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
    let database = server.database().await;
    database
        .batch_execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = (SELECT indexrelid FROM pg_index
                 JOIN pg_class ON pg_class.oid = indexrelid WHERE relname = 'groups_group_key' AND relnamespace = current_schema()::regnamespace)",
        )
        .await
        .expect("an index can be spoilt");
    let missing = server.get("/admin/index-builds").await.expect(200);
    let names: Vec<&str> = missing["missing"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|index| index["index"].as_str())
        .collect();
    assert!(names.contains(&"groups_group_key"), "{missing}");
}
