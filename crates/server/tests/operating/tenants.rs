//! Tenants from the command line: created, dumped, dropped, and restored elsewhere.

use crate::program::{
    ADMIN, PASSWORD, TENANT, admin_of, carrel, carrel_output, carrel_refused, library_data, serve,
};
use carrel_testkit::Scratch;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_dumped_tenant_is_restored_completely_in_another_database() {
    let (here, there) = (library_data("dumped"), Scratch::named("restored"));
    std::fs::create_dir_all(&there.folder).expect("a folder can be made");
    let (from, to) =
        (here.folder.to_string_lossy().into_owned(), there.folder.to_string_lossy().into_owned());
    let file = here.folder.join("harbor.carrel").to_string_lossy().into_owned();
    let group = json!({"id": uuid::Uuid::new_v4(), "group": "Pilots"});
    {
        let program = serve(&here.folder, &["--data", &from]);
        let admin = admin_of(&program).await;
        admin.post("/groups", &group).await.expect(201);
        let timers = "/_/proxy/tenants/harbor/timers";
        let changed = json!({"id": "mod-circulation_0", "routingEntry": {"unit": "hour", "delay": "7"}});
        admin.call("PATCH", timers, Some(changed.to_string().into())).await.expect_status(204);
        // While the server runs, as in a nightly job.
        let reported = carrel_output(&["tenant", "dump", TENANT, "--to", &file, "--data", &from]);
        assert!(reported.contains("'harbor' is written"), "{reported}");
        program.signal("TERM");
        let mut program = program;
        program.ends(std::time::Duration::from_secs(30));
    }
    let refused = carrel_refused(&["tenant", "dump", TENANT, "--to", &file, "--data", &from]);
    assert!(refused.contains("exists"), "a file is not written over: {refused}");
    let refused = carrel_refused(&["tenant", "restore", &file, "--data", &from]);
    assert!(refused.contains("'harbor' exists already"), "{refused}");

    let reported = carrel_output(&["tenant", "restore", &file, "--data", &to]);
    assert!(reported.contains("'harbor' is restored"), "{reported}");
    let program = serve(&there.folder, &["--data", &to]);
    let admin = admin_of(&program).await;
    let path = format!("/groups/{}", group["id"].as_str().unwrap_or_default());
    assert_eq!(admin.get(&path).await.expect(200)["group"], "Pilots");
    admin.post("/groups", &json!({"group": "Deckhands"})).await.expect(201);
    let timers = admin.get("/_/proxy/tenants/harbor/timers").await.expect(200);
    let timer = timers.as_array().and_then(|all| all.iter().find(|one| one["id"] == "mod-circulation_0"));
    assert_eq!(
        timer.map(|timer| &timer["routingEntry"]["delay"]),
        Some(&json!("7")),
        "a changed interval stays"
    );
    let jobs = admin.get("/admin/jobs").await.expect(200);
    assert!(jobs["totalRecords"].as_u64() > Some(0), "its work in the background goes on");
}

#[test]
fn invalid_and_partial_dumps_change_nothing() {
    let data = library_data("not-restored");
    let folder = data.folder.to_string_lossy().into_owned();
    let file = data.folder.join("file").to_string_lossy().into_owned();
    std::fs::write(&file, "something else").expect("a file can be written");
    let refused = carrel_refused(&["tenant", "restore", &file, "--data", &folder]);
    assert!(refused.contains("was not written by"), "{refused}");

    let whole = data.folder.join("whole").to_string_lossy().into_owned();
    carrel_output(&["tenant", "dump", TENANT, "--to", &whole, "--data", &folder]);
    let bytes = std::fs::read(&whole).expect("the dump can be read");
    std::fs::write(&file, &bytes[..bytes.len() * 3 / 4]).expect("a file can be written");
    carrel_output(&["tenant", "drop", TENANT, "--yes", "--data", &folder]);
    let refused = carrel_refused(&["tenant", "restore", &file, "--data", &folder]);
    assert!(refused.contains("pg_restore failed"), "{refused}");
    assert_eq!(carrel_output(&["tenant", "list", "--data", &folder]), "");
    carrel_output(&["tenant", "restore", &whole, "--data", &folder]);
    assert!(carrel_output(&["tenant", "list", "--data", &folder]).starts_with(TENANT));

    let refused = carrel_refused(&["tenant", "dump", "nobody", "--to", &file, "--data", &folder]);
    assert!(refused.contains("there is no tenant 'nobody'"), "{refused}");
}

#[test]
fn a_tenant_is_created_once_and_dropped_after_confirmation() {
    let data = library_data("made");
    let folder = data.folder.to_string_lossy().into_owned();
    let again = carrel_refused(&["tenant", "create", TENANT, "--admin", ADMIN, "--data", &folder]);
    assert!(again.contains("exists already") && !again.contains(PASSWORD), "{again}");
    let without_a_word = carrel_refused(&["tenant", "drop", TENANT, "--data", &folder]);
    assert!(without_a_word.contains("--yes"), "{without_a_word}");
    assert!(carrel(&["tenant", "drop", TENANT, "--yes", "--data", &folder]).status.success());
    carrel_refused(&["tenant", "drop", TENANT, "--yes", "--data", &folder]);
}
