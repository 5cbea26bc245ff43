//! `lab run lists`: refreshes lists of the items that are not available, one and several at once, and for comparison
//! that stores the same result in the same packed form on the same database; and once more while desks check out and in.

use crate::cico::Desks;
use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{Context, LabError, Result};
use crate::observe::{Process, Reading};
use crate::player::on_own_thread;
use crate::processor_time::{Processes, ProcessorTime};
use http::Method;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio_postgres::{Client, Config, NoTls};

/// Options of `carrel lab run lists`.
#[derive(Debug, Clone)]
pub struct ListsOptions {
    /// Address of the API, `http://host:port`.
    pub address: String,
    /// The login.
    pub credentials: Credentials,
    /// The server's database; the role may change its tables.
    pub database: String,
    /// Process id of the server, for its processor time.
    pub server: Option<u32>,
    /// Where to write the figures as JSON.
    pub json: Option<PathBuf>,
}

/// Concurrent refreshes.
const LEVELS: [usize; 4] = [1, 3, 10, 30];
/// Runs of each level: the median of their times counts, and the average of their processor time, which is counted in
/// hundredths of a second.
const ROUNDS: usize = 5;
const ITEMS: &str = "d0213d22-32cf-490f-9196-d81c3c66e53f";
/// Desks that scan meanwhile.
const DESKS: usize = 8;
/// Desks scan alone for this time, before and after all refreshes, for comparison; and beside each level at least so
/// long, while its refreshes are repeated.
const DESKS_SCAN: Duration = Duration::from_secs(6);
/// Pause between two looks at the job table, whose cost counts as that of the refreshes.
const LOOK: Duration = Duration::from_millis(5);
/// The time-out of a refresh.
const PATIENCE: Duration = Duration::from_secs(600);

/// One level's figures.
struct Level {
    lists: usize,
    wall: Duration,
    /// Processor time of all runs.
    used: ProcessorTime,
    runs: usize,
    /// While desks scan: the time until all are done, and the 95th percentile of a check-out in ms.
    with_desks: Option<(Duration, f64)>,
}

impl Level {
    /// Processor time of one refresh in ms: of the database, and with the server.
    fn processor_ms(&self) -> (f64, f64) {
        let of = |time: Duration| time.as_secs_f64() * 1e3 / (self.lists * self.runs) as f64;
        (of(self.used.database), of(self.used.database + self.used.server))
    }
}

/// What a refresh leaves to be done later, in ms for each replaced result.
#[derive(Default)]
struct Later {
    removal: f64,
    vacuum: f64,
}

/// Private memory in MiB.
#[derive(Clone, Copy)]
struct Memory {
    server: Option<f64>,
    database: f64,
}

/// All figures.
struct Measured {
    records: i64,
    bare: Level,
    /// Bytes on disk of a record: of all stored results with their index.
    bytes: f64,
    later: Later,
    /// The 95th percentile of a check-out without refreshes, in ms.
    desks_alone: f64,
    /// Before the first refresh and after the last.
    memory: [Memory; 2],
    levels: Vec<Level>,
}

/// Measures, and prints the figures.
pub async fn run_lists(options: ListsOptions) -> Result<()> {
    let (text, figures) = on_own_thread({
        let options = options.clone();
        move || async move { measure(options).await }
    })
    .await?;
    print!("{text}");
    if let Some(file) = &options.json {
        std::fs::write(file, figures.to_string()).context(format!("writing {}", file.display()))?;
    }
    Ok(())
}

async fn measure(options: ListsOptions) -> Result<(String, Value)> {
    let mut database = Database::open(&options).await?;
    let restore = database.make_some_unavailable().await?;
    let measured = levels(&options, &mut database).await;
    database.client.batch_execute(&restore).await.context("restoring the items' states")?;
    let measured = measured?;
    Ok((text(&measured, database.items), figures(&measured, database.items)))
}

/// Records a second of all refreshes of a level.
fn per_second(measured: &Measured, level: &Level) -> f64 {
    (measured.records * level.lists as i64) as f64 / level.wall.as_secs_f64()
}

/// Processor time of one refresh as multiples of that of the statement: of the database, and with the server.
fn ratios(measured: &Measured, level: &Level) -> (f64, f64) {
    let bare = measured.bare.processor_ms().0.max(0.1);
    let (database, all) = level.processor_ms();
    (database / bare, all / bare)
}

fn text(measured: &Measured, items: i64) -> String {
    let Measured { records, bare, bytes, later, desks_alone, memory: [before, after], levels } = measured;
    let mut text = format!(
        "{records} records of {items}\n\
         one statement: {:.0} ms, {:.0} ms of processor time; {bytes:.1} bytes on disk a record\n\
         later, for each replaced result: {:.1} ms for its removal, {:.1} ms for VACUUM and ANALYZE\n\
         check-out at {DESKS} desks without refreshes: p95 {desks_alone:.1} ms\n\
         {:>6}{:>12}{:>12}{:>13}{:>9}{:>13}{:>15}{:>15}{:>9}\n",
        bare.wall.as_secs_f64() * 1e3,
        bare.processor_ms().0,
        later.removal,
        later.vacuum,
        "lists",
        "done ms",
        "records/s",
        "cpu ms each",
        "ratio",
        "with server",
        "with desks ms",
        "check-out p95",
        "of idle",
    );
    for level in levels {
        let (database, all) = ratios(measured, level);
        let (beside, check_out) = level.with_desks.unwrap_or_default();
        text.push_str(&format!(
            "{:>6}{:>12.0}{:>12.0}{:>13.0}{database:>9.2}{all:>13.2}{:>15.0}{check_out:>15.1}{:>9.2}\n",
            level.lists,
            level.wall.as_secs_f64() * 1e3,
            per_second(measured, level),
            level.processor_ms().1,
            beside.as_secs_f64() * 1e3,
            check_out / desks_alone,
        ));
    }
    let shown = |memory: Option<f64>| memory.map_or("unknown".to_owned(), |mib| format!("{mib:.0} MiB"));
    text.push_str(&format!(
        "private memory before and after: server {} and {}, database {:.0} MiB and {:.0} MiB\n",
        shown(before.server),
        shown(after.server),
        before.database,
        after.database,
    ));
    text
}

fn figures(measured: &Measured, items: i64) -> Value {
    let Measured { records, bare, bytes, later, desks_alone, memory, levels } = measured;
    let rows: Vec<Value> = levels
        .iter()
        .map(|level| {
            let (database, all) = ratios(measured, level);
            let (beside, check_out) = level.with_desks.unwrap_or_default();
            json!({
                "lists": level.lists,
                "wall_ms": level.wall.as_secs_f64() * 1e3,
                "cpu_ms_each": {"database": level.processor_ms().0, "with_server": level.processor_ms().1},
                "records_per_second": per_second(measured, level),
                "ratio": database,
                "ratio_with_server": all,
                "beside_desks": {"wall_ms": beside.as_secs_f64() * 1e3, "check_out_p95_ms": check_out,
                    "check_out_p95_of_idle": check_out / desks_alone},
            })
        })
        .collect();
    let memory = memory.map(|memory| json!({"server_mib": memory.server, "database_mib": memory.database}));
    json!({
        "records": records,
        "items": items,
        "bytes_per_record": bytes,
        "statement": {"wall_ms": bare.wall.as_secs_f64() * 1e3, "cpu_ms": bare.processor_ms().0},
        "later_ms_each": {"removal": later.removal, "vacuum": later.vacuum},
        "check_out_p95_ms_alone": desks_alone,
        "memory": {"before": memory[0], "after": memory[1]},
        "levels": rows,
    })
}

async fn levels(options: &ListsOptions, database: &mut Database) -> Result<Measured> {
    let address = Address::parse(&options.address)?;
    let mut connection = Connection::new(address.clone());
    let session = Session::login(&mut connection, options.credentials.clone()).await?;
    let desks = Session::login(&mut connection, options.credentials.clone()).await?;
    let desks = Desks::find(address, desks, DESKS).await?;
    let alone = async || {
        let idle = async {
            tokio::time::sleep(DESKS_SCAN).await;
            Ok(())
        };
        desks.beside(idle).await.map(|((), scans)| scans)
    };
    let mut desks_alone = alone().await?;
    let processes =
        Processes { server: options.server, ..Processes::default() }.with_backend(database.backend);
    // Queries with different conditions that match nothing, so that no two lists share a run.
    let mut lists = Vec::new();
    for number in 0..LEVELS[LEVELS.len() - 1] {
        let query = json!({"_version": "24", "$and": [{"items.status_name": {"$ne": "Available"}},
            {"items.status_name": {"$ne": format!("None {number}")}}]});
        let body = json!({"name": format!("Lab {number}"), "entityTypeId": ITEMS, "fqlQuery": query.to_string(),
            "isActive": true, "isPrivate": false});
        let answer = session.send(&mut connection, Method::POST, "/lists", &body).await?;
        let id = answer.json()?["id"].as_str().map(str::to_owned);
        lists.push(id.ok_or_else(|| LabError::new(format!("a list was not made: {}", answer.brief())))?);
    }
    let before = memory(&processes);
    let mut levels = Vec::new();
    let (mut records, mut bare) = (0, Vec::new());
    for count in LEVELS {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let before = processes.read();
            let started = Instant::now();
            records = database.one_statement().await?;
            let used = processes.read().since(&before);
            bare.push(Level { lists: 1, wall: started.elapsed(), used, runs: 1, with_desks: None });
            let before = processes.read();
            let started = Instant::now();
            refresh(&session, &mut connection, database, &lists[..count]).await?;
            rounds.push(Level {
                lists: count,
                wall: started.elapsed(),
                used: processes.read().since(&before),
                runs: 1,
                with_desks: None,
            });
        }
        let repeated = async {
            let (started, mut times) = (Instant::now(), 0);
            while started.elapsed() < DESKS_SCAN {
                refresh(&session, &mut connection, database, &lists[..count]).await?;
                times += 1;
            }
            Ok(started.elapsed() / times)
        };
        let (each, scans) = desks.beside(repeated).await?;
        levels.push(Level { with_desks: Some((each, scans.percentile_ms(95.0))), ..of_all(rounds) });
    }
    let after = memory(&processes);
    desks_alone.merge(alone().await?);
    let bytes = database.bytes_of_a_record().await?;
    for list in &lists {
        session.send(&mut connection, Method::DELETE, &format!("/lists/{list}"), &Value::Null).await?;
    }
    let later = database.remove_results(&lists).await?;
    Ok(Measured {
        records,
        bare: of_all(bare),
        bytes,
        later,
        desks_alone: desks_alone.percentile_ms(95.0),
        memory: [before, after],
        levels,
    })
}

/// Private memory of the server and of the database with all its processes.
fn memory(processes: &Processes) -> Memory {
    let of = |id: u32, with_children| {
        let process = Process { name: String::new(), id, with_children };
        Reading::take(&process).memory_bytes() as f64 / 1_048_576.0
    };
    Memory {
        server: processes.server.map(|id| of(id, false)),
        database: processes.postmaster.map_or(0.0, |id| of(id, true)),
    }
}

/// All runs of a level as one, with the median of their times.
fn of_all(mut rounds: Vec<Level>) -> Level {
    let (runs, mut used) = (rounds.len(), ProcessorTime::default());
    rounds.iter().for_each(|round| used.add(&round.used));
    rounds.sort_by_key(|round| round.wall);
    Level { used, runs, ..rounds.swap_remove(runs / 2) }
}

/// Refreshes the lists at once, and waits for the end of all.
async fn refresh(
    session: &Session,
    connection: &mut Connection,
    database: &Database,
    lists: &[String],
) -> Result<()> {
    for list in lists {
        let answer =
            session.send(connection, Method::POST, &format!("/lists/{list}/refresh"), &Value::Null).await?;
        if answer.status != 200 {
            return Err(LabError::new(format!("a refresh was refused: {}", answer.brief())));
        }
    }
    database.wait_for(lists).await?;
    let shown = session.get(connection, &format!("/lists?size=100&ids={}", lists.join(","))).await?;
    let shown = shown["content"].as_array().cloned().unwrap_or_default();
    if shown.len() != lists.len() || shown.iter().any(|list| list["latestRefreshFailed"] == true) {
        return Err(LabError::new("a refresh has failed"));
    }
    Ok(())
}

/// The server's database, for the statement of the comparison.
struct Database {
    client: Client,
    backend: i32,
    items: i64,
}

impl Database {
    async fn open(options: &ListsOptions) -> Result<Database> {
        let mut config: Config = options.database.parse().context("reading the database's address")?;
        config.options(format!("-c search_path=library_{},carrel -c jit=off", options.credentials.tenant));
        let (client, connection) = config.connect(NoTls).await.context("connecting to the database")?;
        tokio::spawn(connection);
        let row = client
            .query_one("SELECT count(*), pg_backend_pid() FROM item_state", &[])
            .await
            .context("counting items")?;
        Ok(Database { client, items: row.get(0), backend: row.get(1) })
    }

    /// Marks a fifth of the available items as missing; returns the statement that reverts it.
    async fn make_some_unavailable(&self) -> Result<String> {
        let change = "UPDATE item_state SET status = 'Missing', status_date = 'lab'
             WHERE status = 'Available' AND get_byte(uuid_send(item_id), 15) < 51";
        self.client.batch_execute(change).await.context("changing the items' states")?;
        self.client
            .batch_execute("VACUUM ANALYZE item_state")
            .await
            .context("analyzing the items' states")?;
        self.client
            .batch_execute(
                "DROP TABLE IF EXISTS lab_list_chunk; CREATE TABLE lab_list_chunk
                     (n bigint PRIMARY KEY, ids uuid[] NOT NULL);
                 ALTER TABLE lab_list_chunk ALTER COLUMN ids SET STORAGE EXTERNAL",
            )
            .await
            .context("making the statement's table")?;
        Ok("UPDATE item_state SET status = 'Available', status_date = NULL
             WHERE status = 'Missing' AND status_date = 'lab'; DROP TABLE lab_list_chunk"
            .to_owned())
    }

    /// Selects by the conditions of the lists and stores the result in one statement; the number of its records.
    async fn one_statement(&self) -> Result<i64> {
        self.client
            .batch_execute("TRUNCATE lab_list_chunk")
            .await
            .context("emptying the statement's table")?;
        self.client
            .batch_execute(
                "SET work_mem = '32MB'; INSERT INTO lab_list_chunk (n, ids)
                 SELECT n / 1000, array_agg(item_id ORDER BY item_id) FROM (
                     SELECT item_id, row_number() OVER (ORDER BY item_id) - 1 AS n FROM item_state
                     WHERE left(carrel.f_lower(status), 600) COLLATE \"C\" <> 'available'
                       AND left(carrel.f_lower(status), 600) COLLATE \"C\" <> 'none') AS found
                 GROUP BY n / 1000",
            )
            .await
            .context("storing a result in one statement")?;
        let row = self
            .client
            .query_one("SELECT coalesce(sum(cardinality(ids)), 0)::bigint FROM lab_list_chunk", &[])
            .await
            .context("counting the result")?;
        Ok(row.get(0))
    }

    /// Waits until no refresh of these lists is open.
    async fn wait_for(&self, lists: &[String]) -> Result<()> {
        let open =
            "SELECT count(*) FROM list_job WHERE list_id = ANY ($1::text[]::uuid[]) AND kind = 'refresh'
             AND state IN ('queued', 'running')";
        let open = self.client.prepare(open).await.context("looking at the jobs of lists")?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let row =
                self.client.query_one(&open, &[&lists]).await.context("looking at the jobs of lists")?;
            if row.get::<_, i64>(0) == 0 {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(LabError::new("a refresh did not end"))
    }

    /// Bytes on disk of one record, of all stored results with their index and what was removed of them.
    async fn bytes_of_a_record(&self) -> Result<f64> {
        let row = self
            .client
            .query_one(
                "SELECT pg_total_relation_size('list_result_chunk') / greatest(sum(cardinality(ids)), 1)::float8
                 FROM list_result_chunk",
                &[],
            )
            .await
            .context("measuring results")?;
        Ok(row.get::<_, Option<f64>>(0).unwrap_or_default())
    }

    /// Removes the results of deleted lists, as maintenance does a minute later.
    async fn remove_results(&self, lists: &[String]) -> Result<Later> {
        let started = Instant::now();
        let removed = self
            .client
            .execute(
                "DELETE FROM list_result WHERE id IN (SELECT result_id FROM list_job
                     WHERE list_id = ANY ($1::text[]::uuid[]) AND kind = 'refresh')",
                &[&lists],
            )
            .await
            .context("removing results")?;
        let each = |since: Instant| since.elapsed().as_secs_f64() * 1e3 / removed.max(1) as f64;
        let removal = each(started);
        let started = Instant::now();
        self.client
            .batch_execute("VACUUM (ANALYZE) list_result, list_result_chunk")
            .await
            .context("vacuuming results")?;
        Ok(Later { removal, vacuum: each(started) })
    }
}
