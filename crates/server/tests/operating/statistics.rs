//! A PostgreSQL with `pg_stat_statements`: operators see the slow statements.

use crate::program::{ADMIN, TENANT, admin_of, carrel_output, library_data, serve};
use carrel_testkit::{OwnPostgres, Scratch};

#[tokio::test(flavor = "multi_thread")]
async fn the_slowest_statements_of_a_tenant_are_shown() {
    let scratch = Scratch::named("statistics");
    let settings = "shared_preload_libraries = 'pg_stat_statements'";
    let postgres = OwnPostgres::start(&scratch.folder, "counting", settings);
    let looker = postgres.connect("postgres").await;
    // As a user who is not a superuser of the database.
    for statement in ["CREATE ROLE modest LOGIN CREATEROLE", "CREATE DATABASE modest OWNER modest"] {
        looker.batch_execute(statement).await.expect("a role and its database can be made");
    }
    let extension = "CREATE EXTENSION pg_stat_statements";
    postgres.connect("modest").await.batch_execute(extension).await.expect("the extension is there");
    let address = postgres.by_network("modest").replace("user=carrel", "user=modest");
    carrel_output(&["tenant", "create", TENANT, "--admin", ADMIN, "--database", &address]);
    let program = serve(&scratch.folder, &["--database", &address]);
    let admin = admin_of(&program).await;
    for _ in 0..7 {
        admin.get("/groups?query=group==\"a secret name\"").await.expect(200);
    }
    let hidden = admin.get("/admin/slow-statements").await.expect(200);
    assert!(hidden["reason"].as_str().is_some_and(|reason| reason.contains("pg_read_all_stats")), "{hidden}");
    looker.batch_execute("GRANT pg_read_all_stats TO modest").await.expect("a right can be given");
    let shown = admin.get("/admin/slow-statements?limit=500").await.expect(200);
    let statements = shown["statements"].as_array().expect("a list");
    let of_groups = statements.iter().find(|one| {
        one["statement"].as_str().is_some_and(|text| text.contains("groups")) && one["calls"] == 7
    });
    let texts: Vec<&str> = statements.iter().filter_map(|one| one["statement"].as_str()).collect();
    assert!(of_groups.is_some(), "{texts:#?}");
    assert!(
        texts.iter().all(|text| !text.contains("CREATE ")),
        "what made the tables is not shown: {texts:#?}"
    );
    assert!(!shown.to_string().contains("a secret name"), "values are not shown");
    let times: Vec<f64> = statements.iter().filter_map(|one| one["totalMilliseconds"].as_f64()).collect();
    assert!(times.is_sorted_by(|one, next| one >= next), "the slowest first: {times:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_postgresql_counts_statements_by_default() {
    let data = library_data("counting");
    let folder = data.folder.to_string_lossy().into_owned();
    let program = serve(&data.folder, &["--data", &folder]);
    let admin = admin_of(&program).await;
    admin.get("/groups").await.expect(200);
    let shown = admin.get("/admin/slow-statements").await.expect(200);
    assert!(shown["totalRecords"].as_u64() > Some(0), "{shown}");
}
