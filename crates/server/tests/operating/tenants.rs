//! Tenants from the command line: made, written to a file, dropped, and restored elsewhere.

use crate::program::{
    ADMIN, PASSWORD, TENANT, admin_of, carrel, carrel_refused, carrel_said, library_data, serve,
};
use carrel_testkit::{OwnPostgres, Scratch};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_dumped_tenant_is_restored_in_another_library_with_all_that_it_had() {
    let (here, there) = (library_data("dumped"), Scratch::named("restored"));
    std::fs::create_dir_all(&there.folder).expect("a folder can be made");
    let (from, to) =
        (here.folder.to_string_lossy().into_owned(), there.folder.to_string_lossy().into_owned());
    let file = here.folder.join("harbor.carrel").to_string_lossy().into_owned();
    let group = json!({"id": uuid::Uuid::new_v4(), "group": "Pilots"});
    {
        let program = serve(&here.folder, &["--data", &from]);
        admin_of(&program).await.post("/groups", &group).await.expect(201);
        // Beside the running server, as a nightly job does it.
        let reported = carrel_said(&["tenant", "dump", TENANT, "--to", &file, "--data", &from]);
        assert!(reported.contains("'harbor' is written"), "{reported}");
        program.signal("TERM");
        let mut program = program;
        program.ends(std::time::Duration::from_secs(30));
    }
    let refused = carrel_refused(&["tenant", "dump", TENANT, "--to", &file, "--data", &from]);
    assert!(refused.contains("exists"), "a file is not written over: {refused}");
    let refused = carrel_refused(&["tenant", "restore", &file, "--data", &from]);
    assert!(refused.contains("'harbor' is there already"), "{refused}");

    let reported = carrel_said(&["tenant", "restore", &file, "--data", &to]);
    assert!(reported.contains("'harbor' is restored"), "{reported}");
    let program = serve(&there.folder, &["--data", &to]);
    let admin = admin_of(&program).await;
    let path = format!("/groups/{}", group["id"].as_str().unwrap_or_default());
    assert_eq!(admin.get(&path).await.expect(200)["group"], "Pilots");
    admin.post("/groups", &json!({"group": "Deckhands"})).await.expect(201);
    let jobs = admin.get("/admin/jobs").await.expect(200);
    assert!(jobs["totalRecords"].as_u64() > Some(0), "its work in the background goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_moves_to_another_postgresql_and_nothing_is_written_that_is_not_carried() {
    let here = library_data("moved");
    let from = here.folder.to_string_lossy().into_owned();
    let there = OwnPostgres::start(&here.folder, "other", "");
    let to = there.by_network("postgres");
    let program = serve(&here.folder, &["--data", &from]);
    let admin = admin_of(&program).await;
    // A desk that works on while the tenant moves.
    let desk = tokio::spawn(async move {
        let mut acknowledged = 0;
        for number in 0.. {
            let reply = admin.post("/groups", &json!({"group": format!("Crew {number}")})).await;
            match reply.status {
                201 => acknowledged += 1,
                503 => {}
                400 => {
                    assert_eq!(reply.text(), "No such Tenant harbor", "after the move");
                    return acknowledged;
                }
                other => panic!("{other}: {}", reply.text()),
            }
        }
        acknowledged
    });
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let reported = tokio::task::spawn_blocking({
        let (from, to) = (from.clone(), to.clone());
        move || carrel_said(&["tenant", "move", TENANT, "--to", &to, "--data", &from])
    });
    let reported = reported.await.expect("the command does not panic");
    assert!(reported.contains("'harbor' has moved"), "{reported}");
    let acknowledged = desk.await.expect("the desk gets a valid answer");
    assert!(acknowledged > 0, "the desk worked before");
    let looker = there.connect("postgres").await;
    let row = looker
        .query_one("SELECT count(*) FROM library_harbor.groups WHERE doc->>'group' LIKE 'Crew %'", &[])
        .await
        .expect("the tenant is there");
    assert_eq!(row.get::<_, i64>(0), acknowledged, "all that was acknowledged was carried");
    assert!(!has_role(&here.folder).await, "the role goes with the tenant");
    let other_folder = Scratch::named("moved-there");
    std::fs::create_dir_all(&other_folder.folder).expect("a folder can be made");
    let program = serve(&other_folder.folder, &["--database", &to]);
    admin_of(&program).await.get("/groups").await.expect(200);

    let again = carrel_refused(&["tenant", "move", TENANT, "--to", &to, "--data", &from]);
    assert!(again.contains("there is no tenant"), "{again}");
}

/// Whether the private server of a data directory, which must run, has the tenant's role.
async fn has_role(data: &std::path::Path) -> bool {
    let socket = carrel_embedded_postgres::socket_of(data).expect("the directory is there");
    let mut config = tokio_postgres::Config::new();
    config.host_path(socket).user("carrel").dbname("postgres");
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.expect("the server runs");
    tokio::spawn(connection);
    let role = "SELECT 1 FROM pg_roles WHERE rolname = 'library_harbor'";
    !client.query(role, &[]).await.expect("roles can be read").is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_fails_leaves_the_tenant_here_and_no_role_there() {
    let here = library_data("not-moved");
    let from = here.folder.to_string_lossy().into_owned();
    let there = OwnPostgres::start(&here.folder, "other", "");
    let looker = there.connect("postgres").await;
    // What stands in the way of the restore.
    looker.batch_execute("CREATE SCHEMA library_harbor").await.expect("a schema can be made");
    let refused =
        carrel_refused(&["tenant", "move", TENANT, "--to", &there.by_network("postgres"), "--data", &from]);
    assert!(refused.contains("pg_restore failed"), "{refused}");
    let role = "SELECT 1 FROM pg_roles WHERE rolname = 'library_harbor'";
    assert!(looker.query(role, &[]).await.expect("roles can be read").is_empty(), "the role went again");
    assert!(carrel_said(&["tenant", "list", "--data", &from]).starts_with(TENANT));
}

#[test]
fn what_is_no_dump_and_what_is_half_a_dump_changes_nothing() {
    let data = library_data("not-restored");
    let folder = data.folder.to_string_lossy().into_owned();
    let file = data.folder.join("file").to_string_lossy().into_owned();
    std::fs::write(&file, "something else").expect("a file can be written");
    let refused = carrel_refused(&["tenant", "restore", &file, "--data", &folder]);
    assert!(refused.contains("was not written by"), "{refused}");

    let whole = data.folder.join("whole").to_string_lossy().into_owned();
    carrel_said(&["tenant", "dump", TENANT, "--to", &whole, "--data", &folder]);
    let bytes = std::fs::read(&whole).expect("the dump can be read");
    std::fs::write(&file, &bytes[..bytes.len() * 3 / 4]).expect("a file can be written");
    carrel_said(&["tenant", "drop", TENANT, "--yes", "--data", &folder]);
    let refused = carrel_refused(&["tenant", "restore", &file, "--data", &folder]);
    assert!(refused.contains("pg_restore failed"), "{refused}");
    assert_eq!(carrel_said(&["tenant", "list", "--data", &folder]), "");
    carrel_said(&["tenant", "restore", &whole, "--data", &folder]);
    assert!(carrel_said(&["tenant", "list", "--data", &folder]).starts_with(TENANT));

    let refused = carrel_refused(&["tenant", "dump", "nobody", "--to", &file, "--data", &folder]);
    assert!(refused.contains("there is no tenant 'nobody'"), "{refused}");
}

#[test]
fn a_tenant_is_made_once_and_dropped_on_a_word() {
    let data = library_data("made");
    let folder = data.folder.to_string_lossy().into_owned();
    let again = carrel_refused(&["tenant", "create", TENANT, "--admin", ADMIN, "--data", &folder]);
    assert!(again.contains("there already") && !again.contains(PASSWORD), "{again}");
    let without_a_word = carrel_refused(&["tenant", "drop", TENANT, "--data", &folder]);
    assert!(without_a_word.contains("--yes"), "{without_a_word}");
    assert!(carrel(&["tenant", "drop", TENANT, "--yes", "--data", &folder]).status.success());
    carrel_refused(&["tenant", "drop", TENANT, "--yes", "--data", &folder]);
}
