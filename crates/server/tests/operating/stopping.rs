//! However the server is stopped, running calls are answered, and no process or file remains.

use crate::program::{admin_of, library_data, serve, serve_by};
use carrel_testkit::{Client, Program, Reply, Scratch};
use std::process::Command;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::NoTls;

const LONGEST_END: Duration = Duration::from_secs(40);

/// A running server, and a call that waits in the database until a lock is released.
struct Busy {
    data: Scratch,
    program: Program,
    waiting: JoinHandle<Result<Reply, String>>,
    /// Holds the lock that the call waits for.
    holder: tokio_postgres::Client,
}

impl Busy {
    async fn with(name: &str, start: impl Fn(&Scratch, &str) -> Program) -> Busy {
        let data = library_data(name);
        let folder = data.folder.to_string_lossy().into_owned();
        let program = start(&data, &folder);
        let admin = admin_of(&program).await;
        let mut config = tokio_postgres::Config::new();
        config.host_path(data.folder.join("run")).user("carrel").dbname("postgres");
        let (holder, connection) = config.connect(NoTls).await.expect("the private PostgreSQL answers");
        tokio::spawn(connection);
        holder
            .batch_execute("BEGIN; LOCK TABLE library_harbor.groups IN ACCESS EXCLUSIVE MODE")
            .await
            .expect("a table can be held");
        let waiting = tokio::spawn(call(admin));
        let looker = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        for _ in 0..200 {
            let waits: i64 = holder.query_one(looker, &[]).await.expect("locks can be listed").get(0);
            if waits > 0 {
                return Busy { data, program, waiting, holder };
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the call does not wait:\n{}", program.log_text());
    }

    async fn serving(name: &str) -> Busy {
        Busy::with(name, |data, folder| serve(&data.folder, &["--data", folder])).await
    }

    /// The call completes and is answered, the program ends successfully and quickly, and nothing remains.
    async fn finishes_its_calls_and_leaves_nothing(mut self) {
        // Time for the program to receive the signal; the call is still waiting then.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(self.program.is_alive(), "a call is under way:\n{}", self.program.log_text());
        assert!(!self.waiting.is_finished(), "the call waits for what is held");
        self.holder.batch_execute("ROLLBACK").await.expect("the table can be let go");
        let reply = self.waiting.await.expect("the call does not panic");
        reply.expect("a call under way is answered").expect(200);
        let (status, _) = self.program.ends(LONGEST_END);
        assert!(status.success(), "{status}:\n{}", self.program.log_text());
        nothing_is_left(&self.data);
    }
}

async fn call(admin: Client) -> Result<Reply, String> {
    admin.try_call("GET", "/groups", None).await
}

fn nothing_is_left(data: &Scratch) {
    for file in ["postgres/postmaster.pid", "run/.s.PGSQL.5432", "run/.s.PGSQL.5432.lock"] {
        assert!(!data.folder.join(file).exists(), "{file} is left");
    }
    let folder = data.folder.to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").expect("processes can be listed").flatten();
    for process in processes {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        let is_ours = words.contains("postgres -D") && words.contains(&folder);
        assert!(!is_ours, "still there: {words}");
    }
    let lock = std::fs::File::open(data.folder.join("keeper.lock")).expect("the lock's file stays");
    assert!(lock.try_lock().is_ok(), "somebody still keeps PostgreSQL");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_finishes_the_calls_under_way_and_leaves_nothing() {
    let busy = Busy::serving("interrupted").await;
    busy.program.signal("INT");
    busy.finishes_its_calls_and_leaves_nothing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_finishes_the_calls_under_way_and_leaves_nothing() {
    let busy = Busy::serving("terminated").await;
    busy.program.signal("TERM");
    busy.finishes_its_calls_and_leaves_nothing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_terminal_finishes_the_calls_under_way_and_leaves_nothing() {
    // The tests may have been started with nohup.
    let busy = Busy::with("hung-up", |data, folder| {
        let mut listening = Command::new("env");
        listening.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_carrel")]);
        serve_by(listening, &data.folder, &["--data", folder])
    })
    .await;
    busy.program.signal("HUP");
    busy.finishes_its_calls_and_leaves_nothing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_ctrl_c_ends_the_wait_for_calls_and_leaves_nothing() {
    let mut busy = Busy::serving("interrupted-twice").await;
    busy.program.signal("INT");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(busy.program.is_alive(), "the first one waits for the call");
    busy.program.signal("INT");
    let (_, took) = busy.program.ends(LONGEST_END);
    assert!(took < Duration::from_secs(8), "the second one does not wait ten seconds: {took:?}");
    let given_up = match busy.waiting.await.expect("the call does not panic") {
        Ok(reply) => reply.status == 503,
        Err(_) => true,
    };
    assert!(given_up, "a failed action is not reported as done");
    nothing_is_left(&busy.data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_drains_says_so_on_its_health_page_and_answers_meanwhile() {
    let data = library_data("drained");
    let folder = data.folder.to_string_lossy().into_owned();
    let mut program = serve(&data.folder, &["--data", &folder, "--drain", "300"]);
    let admin = admin_of(&program).await;
    admin.get("/admin/health").await.expect(200);
    program.signal("TERM");
    let mut health = admin.get("/admin/health").await;
    for _ in 0..500 {
        if health.status == 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        health = admin.get("/admin/health").await;
    }
    assert_eq!(health.expect(503)["reason"], "The server is stopping");
    admin.get("/groups").await.expect(200);
    let stranger = Client::new(program.address).with_header("x-okapi-tenant", "harbor");
    stranger.get("/admin/health").await.expect(503);
    // A second signal does not wait for the proxy.
    program.signal("TERM");
    program.ends(LONGEST_END);
    nothing_is_left(&data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_started_by_nohup_survives_the_terminal() {
    let mut busy = Busy::with("nohup", |data, folder| {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_carrel")]);
        serve_by(shell, &data.folder, &["--data", folder])
    })
    .await;
    busy.program.signal("HUP");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(busy.program.is_alive() && !busy.program.log_text().contains("stopping"));
    busy.program.signal("INT");
    busy.finishes_its_calls_and_leaves_nothing().await;
}
