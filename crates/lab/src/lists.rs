//! `lab run lists`: refreshes lists of the items that are not available, one and several at once, and for comparison
//! that stores the same result in the same packed form on the same database; and once more while desks check out and in.

use crate::cico::Desks;
use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{Context, LabError, Result};
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
/// Runs of each level, of which the median counts.
const ROUNDS: usize = 5;
const ITEMS: &str = "d0213d22-32cf-490f-9196-d81c3c66e53f";
/// Desks that scan meanwhile, and how long they scan alone before, for comparison.
const DESKS: usize = 8;
const DESKS_ALONE: Duration = Duration::from_secs(5);
/// The time-out of a refresh.
const PATIENCE: Duration = Duration::from_secs(600);

/// One level's figures.
struct Level {
    lists: usize,
    wall: Duration,
    used: ProcessorTime,
    /// While desks scan: the time until all are done, and the 95th percentile of a scan in ms.
    with_desks: Option<(Duration, f64)>,
}

/// All figures.
struct Measured {
    records: i64,
    bare: Level,
    bytes: f64,
    /// The 95th percentile of a scan without refreshes, in ms.
    desks_alone: f64,
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
    let Measured { records, bare, bytes, desks_alone, levels } = measured?;
    let each =
        |level: &Level| (level.used.server + level.used.database).as_secs_f64() * 1e3 / level.lists as f64;
    let bare_cpu = bare.used.database.as_secs_f64() * 1e3;
    let mut text = format!(
        "{records} records of {}\none statement: {:.0} ms, {bare_cpu:.0} ms of processor time; {bytes:.1} bytes a record\n\
         a scan at {DESKS} desks without refreshes: p95 {desks_alone:.1} ms\n\
         {:>8}{:>12}{:>14}{:>16}{:>10}{:>22}{:>14}\n",
        database.items,
        bare.wall.as_secs_f64() * 1e3,
        "lists",
        "all done ms",
        "cpu ms each",
        "records/s",
        "ratio",
        "beside desks: done ms",
        "scan p95 ms",
    );
    let mut rows = Vec::new();
    for level in &levels {
        let per_second = (records * level.lists as i64) as f64 / level.wall.as_secs_f64();
        let ratio = each(level) / bare_cpu.max(1.0);
        let (beside, scan) = level.with_desks.unwrap_or_default();
        text.push_str(&format!(
            "{:>8}{:>12.0}{:>14.0}{per_second:>16.0}{ratio:>10.2}{:>22.0}{scan:>14.1}\n",
            level.lists,
            level.wall.as_secs_f64() * 1e3,
            each(level),
            beside.as_secs_f64() * 1e3,
        ));
        rows.push(json!({
            "lists": level.lists,
            "wall_ms": level.wall.as_secs_f64() * 1e3,
            "cpu_ms": {"server": level.used.server.as_secs_f64() * 1e3, "database": level.used.database.as_secs_f64() * 1e3},
            "records_per_second": per_second,
            "cpu_ratio": ratio,
            "beside_desks": {"wall_ms": beside.as_secs_f64() * 1e3, "scan_p95_ms": scan},
        }));
    }
    let statement = json!({"wall_ms": bare.wall.as_secs_f64() * 1e3, "cpu_ms": bare_cpu});
    let figures = json!({"records": records, "items": database.items, "bytes_per_record": bytes,
        "statement": statement, "scan_p95_ms_alone": desks_alone, "levels": rows});
    Ok((text, figures))
}

async fn levels(options: &ListsOptions, database: &mut Database) -> Result<Measured> {
    let address = Address::parse(&options.address)?;
    let mut connection = Connection::new(address.clone());
    let session = Session::login(&mut connection, options.credentials.clone()).await?;
    let desks = Session::login(&mut connection, options.credentials.clone()).await?;
    let desks = Desks::find(address, desks, DESKS).await?;
    let alone = async {
        tokio::time::sleep(DESKS_ALONE).await;
        Ok(())
    };
    let ((), alone) = desks.beside(alone).await?;
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
    let mut levels = Vec::new();
    let (mut records, mut bare) = (0, Vec::new());
    for count in LEVELS {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let before = processes.read();
            let started = Instant::now();
            records = database.one_statement().await?;
            let used = processes.read().since(&before);
            bare.push(Level { lists: 1, wall: started.elapsed(), used, with_desks: None });
            let before = processes.read();
            let started = Instant::now();
            refresh(&session, &mut connection, &lists[..count]).await?;
            rounds.push(Level {
                lists: count,
                wall: started.elapsed(),
                used: processes.read().since(&before),
                with_desks: None,
            });
        }
        let started = Instant::now();
        let ((), scans) = desks.beside(refresh(&session, &mut connection, &lists[..count])).await?;
        let with_desks = Some((started.elapsed(), scans.percentile_ms(95.0)));
        levels.push(Level { with_desks, ..median(rounds) });
    }
    let bytes = database.bytes_of_results().await? / (records.max(1) as f64);
    for list in &lists {
        session.send(&mut connection, Method::DELETE, &format!("/lists/{list}"), &Value::Null).await?;
    }
    Ok(Measured { records, bare: median(bare), bytes, desks_alone: alone.percentile_ms(95.0), levels })
}

/// The round with the middle processor time.
fn median(mut rounds: Vec<Level>) -> Level {
    rounds.sort_by_key(|level| level.used.server + level.used.database);
    rounds.swap_remove(rounds.len() / 2)
}

async fn refresh(session: &Session, connection: &mut Connection, lists: &[String]) -> Result<()> {
    for list in lists {
        let answer =
            session.send(connection, Method::POST, &format!("/lists/{list}/refresh"), &Value::Null).await?;
        if answer.status != 200 {
            return Err(LabError::new(format!("a refresh was refused: {}", answer.brief())));
        }
    }
    let until = Instant::now() + PATIENCE;
    let path = format!("/lists?size=100&ids={}", lists.join(","));
    loop {
        let shown = session.get(connection, &path).await?;
        let shown = shown["content"].as_array().cloned().unwrap_or_default();
        if shown.iter().any(|list| list["latestRefreshFailed"] == true) {
            return Err(LabError::new("a refresh has failed"));
        }
        if shown.iter().all(|list| list["isRefreshing"] == false) {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(LabError::new("a refresh did not end"));
        }
        // What is asked here counts as the refresh's processor time.
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
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

    /// Bytes on disk of one result.
    async fn bytes_of_results(&self) -> Result<f64> {
        let row = self
            .client
            .query_one(
                "SELECT (sum(pg_column_size(ids)))::float8 / greatest(count(DISTINCT result_id), 1)
                 FROM list_result_chunk WHERE result_id IN (SELECT result_id FROM list_details WHERE name LIKE 'Lab %'
                     AND NOT is_deleted)",
                &[],
            )
            .await
            .context("measuring results")?;
        Ok(row.get::<_, Option<f64>>(0).unwrap_or_default())
    }
}
