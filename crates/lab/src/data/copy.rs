//! `lab data`: the generated library through COPY straight into a tenant's tables of Carrel.
//!
//! What the server adds to a record (hrid, metadata, version) is learned from one record of each kind, which goes
//! through the public API; so this file knows tables, not documents. Each table is filled in a transaction of its own,
//! in which its indexes are dropped and rebuilt: an interrupted load leaves tables that are whole or as they were, and
//! is continued by starting it again.

use super::{DESK, Library, named};
use crate::barcode;
use crate::client::{Address, Connection, Credentials, Session};
use crate::error::{Context, LabError, Result};
use crate::floor::connect;
use crate::load::{lay_foundation, send_all_of};
use crate::player::on_own_thread;
use crate::random::RandomSequence;
use bytes::Bytes;
use futures_util::SinkExt;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};
use tokio_postgres::Client;
use uuid::Uuid;

/// Bytes per chunk sent to the database.
const CHUNK: usize = 1 << 16;
/// Settings of a connection that builds indexes.
const SETTINGS: &str = "set synchronous_commit = off; set maintenance_work_mem = '256MB'; set jit = off;";

/// Computes the derived properties of an item: effective location, call number, shelving order.
pub type CompleteItem = fn(&mut Map<String, Value>, &Map<String, Value>);

/// Options of `carrel lab data`.
#[derive(Debug, Clone)]
pub struct CopyOptions {
    /// Address of the API, for the first record of each kind.
    pub address: String,
    /// The login; its tenant is filled.
    pub credentials: Credentials,
    /// The server's database, with a role that may change the tenant's tables.
    pub database: String,
    /// Schema of the tenant.
    pub schema: String,
    /// The generated library.
    pub library: Library,
    /// Open loans; at most a half of the items.
    pub open_loans: u64,
    /// The server's own computation.
    pub complete_item: CompleteItem,
}

/// A table after the load.
#[derive(Debug, Clone)]
pub struct CopiedTable {
    /// Its name.
    pub name: &'static str,
    /// Rows that this load added.
    pub rows: u64,
    /// How long it took, indexes included.
    pub time: Duration,
    /// Bytes on disk with its indexes.
    pub bytes: u64,
}

/// Loads the library; tables that are already full are skipped.
pub async fn copy_library(options: CopyOptions) -> Result<Vec<CopiedTable>> {
    on_own_thread(move || copy(options)).await
}

async fn copy(options: CopyOptions) -> Result<Vec<CopiedTable>> {
    let library = options.library;
    if library.items == 0 || library.users == 0 || options.open_loans > library.items / 2 {
        return Err(LabError::new(
            "a library has items and users, and at most half of its items are on loan",
        ));
    }
    let models = Models::learn(&options).await?;
    let source = Source {
        library,
        open_loans: options.open_loans,
        models,
        complete_item: options.complete_item,
        today: today(),
    };
    let (a, b) = (open(&options).await?, open(&options).await?);
    // Two connections: the indexes of one table are built while the rows of the next one are copied.
    let titles = async {
        let instance = fill(&a, &source, Table::Instance).await?;
        Ok::<_, LabError>(vec![instance, fill(&a, &source, Table::User).await?])
    };
    let items = async {
        let holdings = fill(&b, &source, Table::Holdings).await?;
        let item = fill(&b, &source, Table::Item).await?;
        Ok::<_, LabError>(vec![holdings, item, fill(&b, &source, Table::ItemState).await?])
    };
    let (titles, items) = if is_unchecked(&a).await? {
        tokio::try_join!(titles, items)?
    } else {
        // If references are checked, the rows of the referenced table must exist first.
        (titles.await?, items.await?)
    };
    let loan = fill(&a, &source, Table::Loan).await?;
    if loan.rows > 0 && items[2].rows == 0 {
        // The items existed before these loans, for instance after a reset.
        a.batch_execute(
            "update item_state set status = 'Checked out', version = item_state.version + 1 from loan
             where loan.item_id = item_state.item_id and loan.is_open and item_state.status = 'Available'",
        )
        .await
        .context("marking the items on loan")?;
    }
    source.models.move_counters(&a, &library).await?;
    // The order numbers of items within their holdings records continue after the last one.
    a.batch_execute(
        "insert into item_order (holdings_id, last_place)
             select (doc->>'holdingsRecordId')::uuid, count(*) from item group by 1
         on conflict (holdings_id) do update set last_place = greatest(item_order.last_place, excluded.last_place)",
    )
    .await
    .context("counting the items of holdings records")?;
    a.batch_execute("analyze instance, holdings_record, item, item_state, users, loan; ")
        .await
        .context("collecting statistics")?;
    let mut tables: Vec<_> = titles.into_iter().chain(items).chain([loan]).collect();
    for table in &mut tables {
        let row = a.query_one("select pg_total_relation_size($1::text::regclass)", &[&table.name]).await;
        table.bytes = row.context("reading a table's size")?.get::<_, i64>(0).unsigned_abs();
    }
    Ok(tables)
}

/// Deletes all data of circulation (accounts, loans, requests, sessions, notices and blocks of the tenant), and makes
/// every item available, as the public test plans do between runs.
pub async fn reset_circulation(database: &str, schema: &str) -> Result<()> {
    let client = connect(&database.parse().context("reading the database's address")?).await?;
    enter(&client, schema).await?;
    client
        .batch_execute(
            "do $$ declare named text; begin
                select string_agg(format('%I', relname), ', ') into named from pg_class
                where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname in
                    ('accounts', 'feefineactions', 'actual_cost_record', 'loan', 'audit_loan', 'request', 'request_queue',
                     'patron_action_session', 'scheduled_notice', 'notify_data', 'user_summary', 'check_out_lock');
                execute 'truncate ' || named;
            end $$;
            update item_state set status = 'Available', in_transit_destination = null, version = version + 1
                where status <> 'Available'",
        )
        .await
        .context("emptying loans and requests")
}

async fn open(options: &CopyOptions) -> Result<Client> {
    let client = connect(&options.database.parse().context("reading the database's address")?).await?;
    enter(&client, &options.schema).await?;
    client.batch_execute(SETTINGS).await.context("preparing the connection")?;
    // The generated references are valid; checking each would take longer than storing it. Only some roles may disable
    // the check; for the others it stays on.
    let _ = client.batch_execute("set session_replication_role = replica").await;
    Ok(client)
}

/// Whether references are not checked.
async fn is_unchecked(client: &Client) -> Result<bool> {
    let row = client.query_one("show session_replication_role", &[]).await;
    Ok(row.context("reading how references are checked")?.get::<_, String>(0) == "replica")
}

async fn enter(client: &Client, schema: &str) -> Result<()> {
    let found = client
        .query_opt("select quote_ident(nspname) from pg_namespace where nspname = $1", &[&schema])
        .await
        .context("looking for the tenant's schema")?;
    let schema: String = found.ok_or_else(|| LabError::new(format!("there is no schema {schema}")))?.get(0);
    client
        .batch_execute(&format!("set search_path = {schema}, public"))
        .await
        .context("entering the tenant's schema")
}

/// Midnight of today in UTC, so that two loads on one day create the same dates.
fn today() -> Timestamp {
    let now = Timestamp::now();
    now - SignedDuration::from_secs(now.as_second().rem_euclid(86_400))
        - SignedDuration::from_nanos(now.subsec_nanosecond().into())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Instance,
    Holdings,
    Item,
    ItemState,
    User,
    Loan,
}

impl Table {
    fn name(self) -> &'static str {
        match self {
            Table::Instance => "instance",
            Table::Holdings => "holdings_record",
            Table::Item => "item",
            Table::ItemState => "item_state",
            Table::User => "users",
            Table::Loan => "loan",
        }
    }

    fn columns(self) -> &'static str {
        match self {
            Table::ItemState => "item_id, status, status_date, version",
            _ => "id, doc",
        }
    }
}

/// One record of each kind, as the server has stored it.
#[derive(Clone)]
struct Models {
    instance: Map<String, Value>,
    holdings: Map<String, Value>,
    item: Map<String, Value>,
    user: Map<String, Value>,
    loan: Map<String, Value>,
    status_date: String,
    /// Kinds of records with the last number assigned.
    counters: Vec<(String, i64)>,
}

impl Models {
    async fn learn(options: &CopyOptions) -> Result<Models> {
        let address = Address::parse(&options.address)?;
        let mut clerk = Connection::new(address.clone());
        let session = Session::login(&mut clerk, options.credentials.clone()).await?;
        lay_foundation(&mut clerk, &session, false).await?;
        let one = Library { instances: 1, items: 1, users: 1, seed: options.library.seed };
        send_all_of(&address, &session, one).await?;
        let client = open(options).await?;
        let (item, user) = (one.item_ids(1, 1).item, one.user_id(1));
        let lent = "select 1 from loan where item_id = $1";
        if client.query_opt(lent, &[&item]).await.context("looking for the first loan")?.is_none() {
            let body = json!({ "itemBarcode": barcode::item(1), "userBarcode": barcode::user(1),
                "servicePointId": named(DESK) });
            let path = "/circulation/check-out-by-barcode";
            let answer = session.send(&mut clerk, Method::POST, path, &body).await?;
            if !answer.status.is_success() {
                return Err(LabError::new(format!("the first check-out answered {}", answer.brief())));
            }
        }
        let stored = async |table: &str, column: &str, id: Uuid| {
            let row = client
                .query_one(&format!("select doc from {table} where {column} = $1 limit 1"), &[&id])
                .await;
            match row.context(format!("reading the first record of {table}"))?.get::<_, Value>(0) {
                Value::Object(document) => Ok(document),
                _ => Err(LabError::new(format!("the first record of {table} is no object"))),
            }
        };
        let ids = one.item_ids(1, 1);
        let status = client
            .query_one("select coalesce(status_date, '') from item_state where item_id = $1", &[&item])
            .await
            .context("reading the first item's state")?;
        let counters = client.query("select kind, last_number from hrid_counter", &[]).await;
        let counters = counters.context("reading the counters of hrids")?;
        Ok(Models {
            instance: stored("instance", "id", ids.instance).await?,
            holdings: stored("holdings_record", "id", ids.holdings).await?,
            item: stored("item", "id", item).await?,
            user: stored("users", "id", user).await?,
            loan: stored("loan", "item_id", item).await?,
            status_date: status.get(0),
            counters: counters.iter().map(|row| (row.get(0), row.get(1))).collect(),
        })
    }

    fn last_number(&self, table: Table) -> i64 {
        let begins = match table {
            Table::Instance => "instance",
            Table::Holdings => "holding",
            _ => "item",
        };
        self.counters.iter().find(|(kind, _)| kind.starts_with(begins)).map_or(1, |(_, number)| *number)
    }

    /// Sets the server's counters to the last loaded numbers.
    async fn move_counters(&self, client: &Client, library: &Library) -> Result<()> {
        for (kind, last) in &self.counters {
            let added = if kind.starts_with("item") { library.items } else { library.instances };
            let number = last + added as i64;
            client
                .execute(
                    "update hrid_counter set last_number = greatest(last_number, $2) where kind = $1",
                    &[kind, &number],
                )
                .await
                .context("moving the counters of hrids")?;
        }
        Ok(())
    }
}

/// Generates the rows.
#[derive(Clone)]
struct Source {
    library: Library,
    open_loans: u64,
    models: Models,
    complete_item: CompleteItem,
    today: Timestamp,
}

impl Source {
    /// The number of rows to copy into a table; the first record exists already.
    fn rows(&self, table: Table) -> u64 {
        match table {
            Table::Instance | Table::Holdings => self.library.instances,
            Table::Item | Table::ItemState => self.library.items,
            Table::User => self.library.users,
            Table::Loan => self.open_loans.max(1),
        }
    }

    /// The number of a loan's item: loans are spread evenly over the items.
    fn lent_item(&self, loan: u64) -> u64 {
        1 + (loan - 1) * (self.library.items / self.open_loans.max(1)).max(1)
    }

    fn is_lent(&self, item: u64) -> bool {
        let step = (self.library.items / self.open_loans.max(1)).max(1);
        (item - 1).is_multiple_of(step) && (item - 1) / step < self.open_loans
    }

    fn ids_of_item(&self, item: u64) -> super::ItemIds {
        self.library.item_ids(item, (item - 1) % self.library.instances + 1)
    }

    /// The id of a row.
    fn id(&self, table: Table, number: u64) -> Uuid {
        match table {
            Table::Instance => self.library.item_ids(number, number).instance,
            Table::Holdings => self.library.item_ids(number, number).holdings,
            Table::Item | Table::ItemState => self.ids_of_item(number).item,
            Table::User => self.library.user_id(number),
            Table::Loan => Uuid::new_v5(&self.ids_of_item(self.lent_item(number)).item, b"loan"),
        }
    }

    /// A row in COPY's text format, with the line end.
    fn write(&self, table: Table, number: u64, line: &mut String) {
        let id = self.id(table, number);
        let document = match table {
            Table::Instance => {
                self.numbered(table, &self.models.instance, self.library.instance(number), number)
            }
            Table::Holdings => self.holdings(number),
            Table::Item => self.item(number),
            Table::User => merged(&self.models.user, self.library.user(number)),
            Table::Loan => self.loan(number),
            Table::ItemState => {
                let status = if self.is_lent(number) { "Checked out" } else { "Available" };
                let _ = writeln!(line, "{id}\t{status}\t{}\t1", self.models.status_date);
                return;
            }
        };
        let text = serde_json::to_string(&document).expect("JSON can be written");
        let _ = write!(line, "{id}\t");
        // JSON escapes tabs and newlines itself; its backslashes are doubled for COPY.
        for (index, part) in text.split('\\').enumerate() {
            if index > 0 {
                line.push_str("\\\\");
            }
            line.push_str(part);
        }
        line.push('\n');
    }

    /// A record with a new hrid.
    fn numbered(
        &self,
        table: Table,
        model: &Map<String, Value>,
        record: Value,
        number: u64,
    ) -> Map<String, Value> {
        let mut document = merged(model, record);
        if let Some(hrid) = model.get("hrid").and_then(Value::as_str) {
            let prefix = hrid.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let width = hrid.len() - prefix.len();
            let number = self.models.last_number(table) as u64 + number - 1;
            document.insert("hrid".into(), format!("{prefix}{number:0width$}").into());
        }
        document
    }

    fn holdings(&self, number: u64) -> Map<String, Value> {
        let record = self.library.holdings(number);
        let mut document = self.numbered(Table::Holdings, &self.models.holdings, record, number);
        if document.contains_key("effectiveLocationId") {
            document.insert("effectiveLocationId".into(), document["permanentLocationId"].clone());
        }
        document
    }

    fn item(&self, number: u64) -> Map<String, Value> {
        let mut document = self.numbered(Table::Item, &self.models.item, self.library.item(number), number);
        let title = (number - 1) % self.library.instances + 1;
        if let Some(order) = document.get_mut("order") {
            *order = (1 + (number - 1) / self.library.instances).into();
        }
        if let Value::Object(holdings) = self.library.holdings(title) {
            (self.complete_item)(&mut document, &holdings);
        }
        document
    }

    /// A loan created during the last three weeks. A few users have most of the loans, as in libraries.
    fn loan(&self, number: u64) -> Map<String, Value> {
        let item = self.lent_item(number);
        let mut random = RandomSequence::new(self.library.seed, 1 << 16, number);
        let user = 1 + ((self.library.users as f64) * random.fraction().powi(2)) as u64;
        let user = user.min(self.library.users);
        let lent = self.today - SignedDuration::from_hours(24 * (number % 20) as i64);
        let due = lent + SignedDuration::from_hours(24 * 21);
        let format = |at: Timestamp| format!("{}.000+00:00", at.strftime("%Y-%m-%dT%H:%M:%S"));
        let mut loan = self.models.loan.clone();
        let record = self.library.user(user);
        let mut set = |field: &str, value: Value| {
            loan.insert(field.into(), value);
        };
        set("id", self.id(Table::Loan, number).to_string().into());
        set("itemId", self.ids_of_item(item).item.to_string().into());
        set("userId", self.library.user_id(user).to_string().into());
        set("patronGroupIdAtCheckout", record["patronGroup"].clone());
        set("loanDate", format(lent).into());
        set("dueDate", format(due).into());
        let holdings = self.library.holdings((item - 1) % self.library.instances + 1);
        set("itemEffectiveLocationIdAtCheckOut", holdings["permanentLocationId"].clone());
        loan
    }
}

/// A generated record with the properties that the server adds, without those that the server stores outside the
/// document.
fn merged(model: &Map<String, Value>, record: Value) -> Map<String, Value> {
    let mut document = model.clone();
    if let Value::Object(record) = record {
        for (field, value) in record {
            if let Some(place) = document.get_mut(&field) {
                *place = value;
            }
        }
    }
    document
}

/// Fills a table in one transaction and rebuilds its indexes after the rows.
async fn fill(client: &Client, source: &Source, table: Table) -> Result<CopiedTable> {
    let (name, begun) = (table.name(), Instant::now());
    let key = if table == Table::ItemState { "item_id" } else { "id" };
    let rows = source.rows(table);
    let last = source.id(table, rows);
    let there = client.query_opt(&format!("select 1 from {name} where {key} = $1"), &[&last]).await;
    if there.context(format!("looking into {name}"))?.is_some() {
        return Ok(CopiedTable { name, rows: 0, time: Duration::ZERO, bytes: 0 });
    }
    let load = async {
        client.batch_execute("begin").await.context("beginning")?;
        let indexes = indexes(client, name).await?;
        for (index, _) in &indexes {
            client
                .batch_execute(&format!("drop index {index}"))
                .await
                .context(format!("dropping {index}"))?;
        }
        copy_rows(client, source, table, rows).await?;
        let copied = begun.elapsed();
        for (index, definition) in &indexes {
            client.batch_execute(definition).await.context(format!("making {index}"))?;
        }
        client.batch_execute("commit").await.context("committing")?;
        eprintln!(
            "{name}: {rows} rows in {:.1} s, {} indexes in {:.1} s",
            copied.as_secs_f64(),
            indexes.len(),
            (begun.elapsed() - copied).as_secs_f64()
        );
        Ok(CopiedTable { name, rows: rows - 1, time: begun.elapsed(), bytes: 0 })
    };
    let loaded: Result<CopiedTable> = load.await;
    if loaded.is_err() {
        let _ = client.batch_execute("rollback").await;
    }
    loaded
}

/// Name and definition of the indexes that no constraint owns.
async fn indexes(client: &Client, table: &str) -> Result<Vec<(String, String)>> {
    let rows = client
        .query(
            "select quote_ident(c.relname), pg_get_indexdef(i.indexrelid)
             from pg_index i join pg_class c on c.oid = i.indexrelid
             where i.indrelid = $1::text::regclass
                 and not exists (select from pg_constraint where conindid = i.indexrelid)",
            &[&table],
        )
        .await
        .context(format!("reading the indexes of {table}"))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

async fn copy_rows(client: &Client, source: &Source, table: Table, rows: u64) -> Result<()> {
    let sql = format!("copy {} ({}) from stdin", table.name(), table.columns());
    let sink = client.copy_in(&sql).await.context(sql.clone())?;
    let mut sink = std::pin::pin!(sink);
    let (send, mut receive) = tokio::sync::mpsc::channel::<Bytes>(8);
    let source = source.clone();
    // Rows are generated and stored concurrently.
    let maker = tokio::task::spawn_blocking(move || {
        let mut chunk = String::with_capacity(CHUNK + 4096);
        for number in 2..=rows {
            source.write(table, number, &mut chunk);
            if chunk.len() >= CHUNK || number == rows {
                let full = std::mem::replace(&mut chunk, String::with_capacity(CHUNK + 4096));
                if send.blocking_send(Bytes::from(full)).is_err() {
                    return;
                }
            }
        }
    });
    while let Some(chunk) = receive.recv().await {
        sink.send(chunk).await.context(format!("copying into {}", table.name()))?;
    }
    maker.await.map_err(|error| LabError::new(format!("generating rows panicked: {error}")))?;
    sink.finish().await.context(format!("copying into {}", table.name()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        let library = Library { instances: 600, items: 1000, users: 50, seed: 1 };
        let object = |value: Value| value.as_object().cloned().unwrap();
        let models = Models {
            instance: object(json!({ "id": "", "title": "", "hrid": "in00000001", "_version": 1 })),
            holdings: object(
                json!({ "id": "", "hrid": "ho00000001", "permanentLocationId": "", "effectiveLocationId": "" }),
            ),
            item: object(json!({ "id": "", "barcode": "", "hrid": "it00000001" })),
            user: object(json!({ "id": "", "username": "", "metadata": { "createdDate": "x" } })),
            loan: object(json!({ "id": "", "status": { "name": "Open" } })),
            status_date: "2026-01-01".into(),
            counters: vec![("instances".into(), 7), ("items".into(), 1)],
        };
        let complete_item: CompleteItem = |item, holdings| {
            item.insert("effectiveLocationId".into(), holdings["permanentLocationId"].clone());
        };
        Source { library, open_loans: 100, models, complete_item, today: today() }
    }

    fn document(table: Table, number: u64) -> Value {
        let mut line = String::new();
        source().write(table, number, &mut line);
        let (_, text) = line.trim_end_matches('\n').split_once('\t').unwrap();
        serde_json::from_str(&text.replace("\\\\", "\\")).unwrap()
    }

    #[test]
    fn a_record_has_what_the_server_adds_and_an_hrid_of_its_own() {
        let instance = document(Table::Instance, 3);
        assert_eq!((instance["hrid"].as_str(), instance["_version"].as_i64()), (Some("in00000009"), Some(1)));
        assert_ne!(instance["title"], "");
        assert_eq!(document(Table::User, 2)["metadata"]["createdDate"], "x");
    }

    #[test]
    fn what_the_server_keeps_elsewhere_is_left_out() {
        assert_eq!(document(Table::Item, 5)["status"], Value::Null);
    }

    #[test]
    fn every_lent_item_has_one_loan_and_no_other_has() {
        let source = source();
        let lent: Vec<u64> = (1..=100).map(|loan| source.lent_item(loan)).collect();
        let of_states: Vec<u64> = (1..=1000).filter(|item| source.is_lent(*item)).collect();
        assert_eq!(lent, of_states);
    }

    #[test]
    fn few_users_have_most_of_the_loans() {
        let first_half: Vec<_> = (1..=25).map(|user| source().library.user_id(user).to_string()).collect();
        let mine = (1..=100)
            .filter(|loan| first_half.iter().any(|id| document(Table::Loan, *loan)["userId"] == **id));
        assert!(mine.count() > 60);
    }
}
