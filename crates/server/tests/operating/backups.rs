//! Base backup, write-ahead log and recovery to a moment, by the program's commands.

use crate::program::{admin_of, carrel_output, carrel_refused, library_data, serve};
use carrel_testkit::{Client, OwnPostgres, Program, Scratch, free_port};
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Starts `carrel backup --follow` and waits for its base backup.
fn follow(data: &str, to: &Path) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carrel"));
    command.args(["backup", "--follow", "--data", data, "--to"]).arg(to);
    let mut program = Program::start(command, to.parent().expect("a folder"), free_port());
    program.wait_until("it follows", Duration::from_secs(120), |program| {
        program.log_text().contains("following the write-ahead log")
    });
    program
}

async fn groups(admin: &Client) -> Vec<String> {
    let groups = admin.get("/groups?limit=100&query=group==Crew*").await.expect(200);
    let groups = groups["usergroups"].as_array().cloned().unwrap_or_default();
    groups.iter().filter_map(|group| group["group"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_is_restored_as_of_any_moment_since_its_base_backup() {
    let here = library_data("backed-up");
    let from = here.folder.to_string_lossy().into_owned();
    let backup = Scratch::named("backup");
    let folder = backup.folder.join("copy");
    std::fs::create_dir_all(&backup.folder).expect("a folder can be made");
    let program = serve(&here.folder, &["--data", &from]);
    let admin = admin_of(&program).await;
    let mut follower = follow(&from, &folder);
    // The name of a base backup has whole seconds and is never early.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    admin.post("/groups", &json!({"group": "Crew before"})).await.expect(201);
    let moment = jiff::Timestamp::now();
    // The next commit has a later time.
    tokio::time::sleep(Duration::from_millis(50)).await;
    admin.post("/groups", &json!({"group": "Crew after"})).await.expect(201);
    follower.signal("TERM");
    follower.ends(Duration::from_secs(60));
    drop(program);

    let backup_folder = folder.to_string_lossy().into_owned();
    for (name, until, expected) in
        [("until", Some(moment), vec!["Crew before"]), ("whole", None, vec!["Crew after", "Crew before"])]
    {
        let there = Scratch::named(&format!("restored-{name}"));
        let to = there.folder.to_string_lossy().into_owned();
        let mut arguments =
            vec!["restore".to_owned(), "--from".into(), backup_folder.clone(), "--data".into(), to.clone()];
        arguments.extend(until.into_iter().flat_map(|until| ["--until".to_owned(), until.to_string()]));
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let message = carrel_output(&words);
        assert!(message.contains("restored as of"), "{message}");
        let program = serve(&there.folder, &["--data", &to]);
        let mut found = groups(&admin_of(&program).await).await;
        found.sort();
        assert_eq!(found, expected, "{name}");
        let again = carrel_refused(&words);
        assert!(again.contains("has a database already"), "nothing is written over: {again}");
    }

    for (until, reason) in [
        ("2090-01-01T00:00:00Z", "nothing was received from after that moment"),
        ("2020-01-01T00:00:00Z", "no base backup from before that moment"),
    ] {
        let there = Scratch::named("restored-nowhere");
        let to = there.folder.to_string_lossy().into_owned();
        let refused = carrel_refused(&["restore", "--from", &backup_folder, "--data", &to, "--until", until]);
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn only_the_requested_number_of_base_backups_is_kept() {
    let here = library_data("kept");
    let from = here.folder.to_string_lossy().into_owned();
    let to = here.folder.join("copies").to_string_lossy().into_owned();
    for _ in 0..3 {
        carrel_output(&["backup", "--to", &to, "--keep", "2", "--data", &from]);
        // Names have a resolution of one second.
        std::thread::sleep(Duration::from_millis(1_100));
    }
    let copies = std::fs::read_dir(&to).expect("the folder is there").count();
    assert_eq!(copies, 2);
}

#[test]
fn databases_that_tenants_have_of_their_own_are_backed_up_as_well() {
    let here = library_data("several-databases");
    let from = here.folder.to_string_lossy().into_owned();
    let place = Scratch::named("other-database");
    let mut other = OwnPostgres::start(&place.folder, "other", "max_wal_senders = 4");
    let address = other.by_network("postgres");
    carrel_output(&["tenant", "create", "branch", "--admin", "chief", "--at", &address, "--data", &from]);
    let to = here.folder.join("copies");
    let target = to.to_string_lossy().into_owned();
    let backup = ["backup", "--to", &target, "--data", &from];
    carrel_output(&backup);
    let below = to.join(format!("at-127.0.0.1-{}", other.port));
    let has_base = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        entries.flatten().any(|entry| entry.path().join("PG_VERSION").is_file())
    };
    assert!(has_base(&to) && has_base(&below), "a base backup of each server");

    other.stop();
    let words = carrel_refused(&backup);
    assert!(words.contains("no backup of tenants branch at host=127.0.0.1"), "{words}");
    assert!(words.contains("the backup is not complete"), "{words}");
}
