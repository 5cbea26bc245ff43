//! Refreshes of lists under `kill -9`: afterwards no refresh stays in progress, each list shows a complete result, and
//! each can be refreshed again.

use carrel_testkit::{Client, OwnPostgres, Program, Scratch, free_port};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

const TENANT: &str = "harbor";
const ADMIN: &str = "chief";
const PASSWORD: &str = "a-long-password";
const LISTS: usize = 30;
/// Several rows of packed identifiers.
const USERS: usize = 2_500;
const USERS_TYPE: &str = "ddc93926-d15a-4a45-9d9c-93eadc3d9bbf";
/// The longest time from a kill until every refresh has ended: the lease of the dead node, and the work of another one.
const LONGEST_RECOVERY: Duration = Duration::from_secs(90);

const VICTIMS: [Victim; 3] = [Victim::Server, Victim::Primary, Victim::Replica];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Server,
    Primary,
    Replica,
}

/// A server that reads from a replica, and what each refresh may show.
struct Library {
    scratch: Scratch,
    primary: OwnPostgres,
    replica: OwnPostgres,
    server: Program,
    client: Client,
    /// Names of all users, before and after each user that was added.
    states: Vec<BTreeSet<String>>,
}

#[test]
fn no_list_stays_in_refresh_after_kill_9_of_server_primary_or_replica() {
    let kills: usize = std::env::var("CARREL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime for the clients can be started");
    runtime.block_on(async {
        let mut library = Library::open().await;
        let mut lists = Vec::new();
        for number in 0..LISTS {
            lists.push(library.create_list(number).await);
        }
        // Each list was filled once, so that there is something old to show.
        library.refresh_all(&lists).await;
        library.wait_for_all(&lists, "before any kill").await;
        for round in 0..kills {
            let victim = VICTIMS[round % VICTIMS.len()];
            library.add_user(round).await;
            library.refresh_all(&lists).await;
            tokio::time::sleep(Duration::from_millis((round as u64 * 217) % 900)).await;
            library.kill(victim).await;
            let shown = library.wait_for_all(&lists, &format!("kill {round}, of {victim:?}")).await;
            println!("kill {round}, of {victim:?}: {shown}");
        }
        library.refresh_all(&lists).await;
        library.wait_for_all(&lists, "after all kills").await;
        for list in &lists {
            let shown = library.get(&format!("/lists/{list}")).await;
            assert!(shown["failedRefresh"].is_null(), "{list} can be refreshed: {shown}");
            assert_eq!(library.names_of(list).await, *library.states.last().expect("there are users"));
        }
    });
}

impl Library {
    async fn open() -> Library {
        let scratch = Scratch::named("lists-under-kills");
        let primary = OwnPostgres::start(&scratch.folder, "primary", "max_wal_senders = 10");
        let address = primary.by_network("postgres");
        let made = Command::new(env!("CARGO_BIN_EXE_carrel"))
            .args(["tenant", "create", TENANT, "--admin", ADMIN, "--database", &address])
            .env("CARREL_ADMIN_PASSWORD", PASSWORD)
            .output()
            .expect("the program can be started");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let database = primary.connect("postgres").await;
        let users = format!(
            "INSERT INTO library_{TENANT}.users (id, doc) SELECT id, jsonb_build_object('id', id, 'username', 'u' || n)
             FROM (SELECT n, gen_random_uuid() AS id FROM generate_series(1, {USERS}) AS n) AS new"
        );
        database.batch_execute(&users).await.expect("users can be added");
        let replica = primary.replica(&scratch.folder, "replica");
        let server = serve(&scratch, &primary, &replica, free_port());
        let client = log_in(&server).await;
        let names = (1..=USERS).map(|number| format!("u{number}")).collect();
        Library { scratch, primary, replica, server, client, states: vec![names] }
    }

    async fn create_list(&self, number: usize) -> String {
        // Every third list asks for the same, so that some runs are shared.
        let letters = if number.is_multiple_of(3) { "none".to_owned() } else { format!("none {number}") };
        let query = json!({"_version": "24",
            "$and": [{"users.username": {"$starts_with": "u"}}, {"users.username": {"$ne": letters}}]});
        let list = json!({"name": format!("List {number}"), "entityTypeId": USERS_TYPE,
            "fqlQuery": query.to_string(), "isActive": true, "isPrivate": false});
        let created = self.client.post("/lists", &list).await.expect(201);
        created["id"].as_str().expect("a list has an id").to_owned()
    }

    async fn add_user(&mut self, round: usize) {
        let name = format!("u-added-{round}");
        let user = json!({"id": uuid::Uuid::new_v4(), "username": name, "personal": {"lastName": name}});
        self.client.post("/users", &user).await.expect(201);
        let mut names = self.states.last().expect("there are users").clone();
        names.insert(name);
        self.states.push(names);
    }

    async fn refresh_all(&self, lists: &[String]) {
        for list in lists {
            self.client.post(&format!("/lists/{list}/refresh"), &Value::Null).await.expect_status(200);
        }
    }

    /// `kill -9` of all processes of the victim, which is started again at once.
    async fn kill(&mut self, victim: Victim) {
        match victim {
            Victim::Server => {
                self.server.kill();
                let port = self.server.address.port();
                self.server = serve(&self.scratch, &self.primary, &self.replica, port);
                self.client = log_in(&self.server).await;
            }
            Victim::Primary => {
                self.primary.kill_at_once();
                self.primary.start_again();
            }
            Victim::Replica => {
                self.replica.kill_at_once();
                self.replica.start_again();
            }
        }
    }

    /// Waits until no list is in refresh, and checks what each shows; how many show what.
    async fn wait_for_all(&self, lists: &[String], when: &str) -> String {
        let until = Instant::now() + LONGEST_RECOVERY;
        let (mut new, mut failed) = (0, 0);
        for list in lists {
            let shown = loop {
                let shown = self.get(&format!("/lists/{list}")).await;
                if shown["inProgressRefresh"].is_null() {
                    break shown;
                }
                assert!(
                    Instant::now() < until,
                    "{when}: {list} stays in refresh\n{}",
                    self.server.log_text()
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
            };
            if let Some(reason) = shown.get("failedRefresh") {
                assert!(reason["error"]["code"].is_string(), "{when}: a failure has a reason: {reason}");
                failed += 1;
            }
            let names = self.names_of(list).await;
            let state = self.states.iter().position(|state| *state == names);
            let state = state.unwrap_or_else(|| panic!("{when}: {list} shows {} users", names.len()));
            assert_eq!(shown["successRefresh"]["recordsCount"], self.states[state].len(), "{when}: {list}");
            new += usize::from(state + 1 == self.states.len());
        }
        format!("{new} of {} lists show the new result, {failed} say why they do not", lists.len())
    }

    /// The users that a list shows; each once.
    async fn names_of(&self, list: &str) -> BTreeSet<String> {
        let contents = self.get(&format!("/lists/{list}/contents?fields=users.username&size=10000")).await;
        let rows = contents["content"].as_array().expect("contents are an array");
        let names: BTreeSet<String> =
            rows.iter().filter_map(|row| row["users.username"].as_str()).map(str::to_owned).collect();
        assert_eq!(rows.len(), names.len(), "{list} shows each user once");
        names
    }

    /// Repeats the call while server and database recover.
    async fn get(&self, path: &str) -> Value {
        for _ in 0..1_200 {
            if let Ok(reply) = self.client.try_call("GET", path, None).await
                && reply.status == 200
            {
                return reply.json();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{path} was not answered within a minute\n{}", self.server.log_text());
    }
}

fn serve(scratch: &Scratch, primary: &OwnPostgres, replica: &OwnPostgres, port: u16) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_carrel"));
    command.args(["serve", "--database", &primary.by_network("postgres")]);
    command.args(["--replica", &replica.by_network("postgres")]);
    Program::start(command, &scratch.folder, port)
}

async fn log_in(server: &Program) -> Client {
    let client = Client::new(server.address).with_header("x-okapi-tenant", TENANT);
    let login = json!({"username": ADMIN, "password": PASSWORD}).to_string();
    for _ in 0..1_200 {
        if let Ok(reply) = client.try_call("POST", "/authn/login", Some(login.clone().into())).await
            && reply.status == 201
        {
            return client.with_header("x-okapi-token", reply.header("x-okapi-token").unwrap_or_default());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody can log in\n{}", server.log_text());
}
