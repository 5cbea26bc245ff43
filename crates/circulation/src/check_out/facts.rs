//! Everything that the decision needs, in one round trip, for one scan or for all scans of a batch. Patron and item are
//! locked first, so that facts read after them stay valid until the end of the transaction.

use super::{Actor, CheckOutRequest, Scan, locks};
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, patron, queue};
use crate::patron_blocks::{self, Action};
use crate::records::loans::OPEN;
use crate::settings::CirculationSettings;
use carrel_platform::batcher::{Gathered, RunAlone, bind_texts};
use carrel_platform::database::DatabaseError;
use carrel_platform::{Bind, Json, Pipeline, Tenant, Tx};
use carrel_records::{Failure, Refusal};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, RwLock};
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// The facts of the decision.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub patron: Option<Patron>,
    pub proxy: Option<Patron>,
    /// The proxy relations between the two, as stored.
    pub proxy_relations: Vec<Value>,
    pub manual_blocks: Vec<Value>,
    /// The patron's loans and accounts; only if a limit applies.
    pub counted: Option<patron_blocks::Facts>,
    pub item: Option<ItemAtDesk>,
    pub item_has_open_loan: bool,
    pub queue: Vec<QueuedRequest>,
    /// Material type and loan type of the patron's open loans, without those claimed returned.
    pub open_loans: Vec<(Option<Uuid>, Option<Uuid>)>,
    /// Whether another client has the patron's check-out lock in the lock storage; read only if the setting is on.
    pub locked_elsewhere: bool,
}

/// Locks patron and item, reads all facts, and updates the settings to the version that was read with the facts.
///
/// Most items have no queue; if an item has one that is not locked yet, the facts are read again with the queue locked.
pub async fn gather(
    tenant: &Arc<Tenant>,
    command: &CheckOutRequest,
    actor: &Actor,
    mut locked_queue: Option<Uuid>,
) -> Result<(Tx, Facts, Arc<CirculationSettings>), Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    let user = command.user_barcode.as_deref().unwrap_or_default();
    let proxy = command.proxy_user_barcode.as_deref().unwrap_or_default();
    let item = command.item_barcode.as_deref().unwrap_or_default();
    loop {
        let mut tx = tenant.begin().await?;
        let mut pipeline = Pipeline::new();
        let longest = cached.settings.check_out_lock.longest_wait;
        if longest != DEFAULT_WAIT {
            pipeline.add(
                "SELECT set_config('lock_timeout', $1, true)",
                vec![longest.as_millis().to_string().into()],
            );
        }
        match locked_queue {
            None => {
                locks::lock_patron_and_item(&mut pipeline, user, item);
            }
            Some(queue) => {
                locks::lock_patron(&mut pipeline, user);
                queue::lock(&mut pipeline, queue);
                locks::lock_item(&mut pipeline, item);
            }
        }
        let query = FactsQuery::of(&cached.settings, !proxy.is_empty(), locked_queue.is_some());
        let facts =
            pipeline.add(query.statement(), vec![user.into(), proxy.into(), item.into(), actor.now.into()]);
        let results = tx.send(pipeline).await.map_err(|error| busy(error, &cached.settings))?;
        crate::check_out_lock::waited(tenant, results.arrived[facts], user, item);
        let row = item::one_row_each(results.rows(facts)).into_iter().next();
        let row = row.ok_or_else(|| Failure::internal("facts are one row"))?;
        cached.refresh(tenant, &mut tx, row).await?;
        // The statement was chosen by older settings: retry with the new ones.
        if !query.fits(&cached.settings) {
            continue;
        }
        let mut has_queue: bool = row.get("has_queue");
        let mut facts = read(row, query, &cached.settings, actor.now)?;
        if let Some(item) =
            facts.item.as_ref().filter(|item| query.title_level && item.is_of_another_library())
        {
            queue::add_promised(&mut tx, item, &mut facts.queue).await?;
            has_queue |= !facts.queue.is_empty();
        }
        if let (true, Some(item)) = (has_queue, &facts.item) {
            let queue = queue::of_item(query.title_level, item, &facts.queue);
            if queue != locked_queue {
                locked_queue = queue;
                continue;
            }
        }
        return Ok((tx, facts, cached.settings));
    }
}

/// Locks the patrons and items that no other transaction has locked, without waiting, and reads the facts of their
/// scans.
pub async fn gather_free(tenant: &Arc<Tenant>, scans: &[Arc<Scan>]) -> Result<Gathered<Scan>, Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    let barcodes = |barcode: fn(&CheckOutRequest) -> &Option<String>| -> Vec<String> {
        scans.iter().map(|scan| barcode(&scan.command).clone().unwrap_or_default()).collect()
    };
    let patrons = barcodes(|command| &command.user_barcode);
    let proxies = barcodes(|command| &command.proxy_user_barcode);
    let items = barcodes(|command| &command.item_barcode);
    let several = scans.len() > 1;
    let has_proxy = proxies.iter().any(|proxy| !proxy.is_empty());
    let query = FactsQuery { several, ..FactsQuery::of(&cached.settings, has_proxy, false) };
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let locked = locks::lock_free(&mut pipeline, patrons.clone(), items.clone());
    let times: Vec<Bind> = scans.iter().map(|scan| scan.actor.now.into()).collect();
    let now = if several { Bind::Several(times) } else { scans[0].actor.now.into() };
    let binds = [patrons, proxies, items].map(bind_texts).into_iter().chain([now]).collect();
    let rows = pipeline.add(query.statement(), binds);
    let results = tx.send(pipeline).await?;
    let locked = locks::Locked::read(results.first(locked));
    if let Some(row) = results.first(rows) {
        cached.refresh(tenant, &mut tx, row).await?;
    }
    let mut facts: Vec<Result<Facts, RunAlone>> = scans.iter().map(|_| Err(RunAlone::default())).collect();
    // The statement was chosen by older settings: each scan reads its facts again.
    if !query.fits(&cached.settings) {
        return Ok(Gathered { tx, facts, settings: cached.settings });
    }
    let (mut patrons, mut items) = (HashSet::new(), HashSet::new());
    for row in item::one_row_each(results.rows(rows)) {
        let number: i64 = row.get("number");
        let index = number as usize - 1;
        let read = read(row, query, &cached.settings, scans[index].actor.now)?;
        let has_patron = read
            .patron
            .as_ref()
            .is_none_or(|patron| locked.patrons.contains(&number) && patrons.insert(patron.id));
        let has_item = read.item.as_ref().is_none_or(|item| {
            locked.items.contains(&number)
                && items.insert(item.id)
                && !(query.title_level && item.is_of_another_library())
        });
        let queued = read.item.as_ref().filter(|_| row.get("has_queue"));
        facts[index] = match queued {
            Some(item) => Err(RunAlone { lock_first: queue::of_item(query.title_level, item, &[]) }),
            None if has_patron && has_item => {
                crate::check_out_lock::waited(tenant, Duration::ZERO, "", "");
                Ok(read)
            }
            None => Err(RunAlone::default()),
        };
    }
    Ok(Gathered { tx, facts, settings: cached.settings })
}

/// The lock time-out of new connections.
const DEFAULT_WAIT: Duration = Duration::from_millis(7_500);

/// The facts that are read besides patron and item: each table in a statement has a cost, even without rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FactsQuery {
    /// The facts of all scans of a batch.
    several: bool,
    title_level: bool,
    /// The loans that count against a limit of the loan policy.
    limits: bool,
    /// The counts for automated blocks.
    counts: bool,
    /// A proxy checks out.
    proxy: bool,
    /// Locks on the patron's check-outs in the lock storage.
    locks: bool,
    /// The queue itself, not only whether there is one.
    queue: bool,
}

impl FactsQuery {
    fn of(settings: &CirculationSettings, proxy: bool, queue: bool) -> FactsQuery {
        FactsQuery {
            several: false,
            title_level: settings.title_level_requests.enabled(),
            limits: settings.limits_items,
            counts: Action::Borrowing.is_limited(settings),
            proxy,
            locks: settings.check_out_lock.enabled,
            queue,
        }
    }

    /// Whether these settings need the same facts.
    fn fits(self, settings: &CirculationSettings) -> bool {
        FactsQuery { several: self.several, ..FactsQuery::of(settings, self.proxy, self.queue) } == self
    }

    /// The statement, built once.
    fn statement(self) -> &'static str {
        static STATEMENTS: LazyLock<RwLock<HashMap<FactsQuery, &'static str>>> =
            LazyLock::new(RwLock::default);
        if let Some(known) = STATEMENTS.read().expect("no holder of this lock panics").get(&self) {
            return known;
        }
        let mut statements = STATEMENTS.write().expect("no holder of this lock panics");
        // There are at most 128 of them.
        statements.entry(self).or_insert_with(|| statement(self).leak())
    }
}

/// Conditions on loans and requests are scalar subqueries with a limit, see [`queue::exists_sql`].
fn statement(query: FactsQuery) -> String {
    let when =
        |wanted: bool, sql: &str, else_: &'static str| if wanted { sql.to_owned() } else { else_.to_owned() };
    let nothing = "NULL::jsonb";
    format!(
        "SELECT (SELECT value FROM settings_version WHERE id = 1), patron.doc AS patron, {proxy} AS proxy,
            {relations} AS proxy_relations,
            (SELECT jsonb_agg(b.doc) FROM manualblocks b WHERE b.user_id = patron.id) AS manual_blocks,
            (SELECT true FROM loan WHERE loan.item_id = item.id AND loan.{OPEN} LIMIT 1) IS NOT NULL
                AS item_has_open_loan,
            {has_queue} AS has_queue, {queue} AS queue, {open_loans} AS open_loans, {locked} AS locked_elsewhere,
            {counted_loans} AS counted_loans, {counted_fees} AS counted_fees, given.number, {columns}
         FROM {given}
         LEFT JOIN users patron ON {patron}
         {join_proxy}
         LEFT JOIN ({tables}) ON {item}",
        proxy = when(query.proxy, "proxy.doc", nothing),
        relations = when(
            query.proxy,
            "(SELECT jsonb_agg(p.doc) FROM proxyfor p
              WHERE p.user_id = patron.id AND p.proxy_user_id = proxy.id)",
            nothing
        ),
        join_proxy = match query.proxy {
            true => format!("LEFT JOIN users proxy ON {}", patron::barcode_is("proxy", "given.proxy")),
            false => String::new(),
        },
        has_queue = queue::exists_sql(query.title_level),
        queue = when(query.queue, queue::sql(query.title_level), nothing),
        open_loans = when(
            query.limits,
            "(SELECT jsonb_agg(jsonb_build_array(lent.doc->>'materialTypeId',
                    coalesce(lent.doc->>'temporaryLoanTypeId', lent.doc->>'permanentLoanTypeId')))
              FROM loan JOIN item lent ON lent.id = loan.item_id
              JOIN item_state lent_state ON lent_state.item_id = lent.id
              WHERE loan.user_id = patron.id AND loan.is_open AND lent_state.status <> 'Claimed returned')",
            nothing
        ),
        locked = when(
            query.locks,
            "(SELECT true FROM check_out_lock l WHERE l.user_id = patron.id AND l.expires > given.now LIMIT 1)
                 IS NOT NULL",
            "false"
        ),
        counted_loans = when(query.counts, &patron_blocks::open_loans_sql("patron.id"), nothing),
        counted_fees = when(query.counts, &patron_blocks::open_fees_sql("patron.id"), nothing),
        columns = item::COLUMNS,
        tables = item::TABLES,
        patron = patron::barcode_is("patron", "given.patron"),
        item = item::barcode_is("given.item"),
        given = match query.several {
            false => "(SELECT 1::bigint, $1::text, $2::text, $3::text, $4::timestamptz)
                 given (number, patron, proxy, item, now)",
            true => "unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
                 WITH ORDINALITY given (patron, proxy, item, now, number)",
        },
    )
}

fn read(
    row: &Row,
    query: FactsQuery,
    settings: &CirculationSettings,
    now: Timestamp,
) -> Result<Facts, Failure> {
    let counted = || patron_blocks::read(row.get("counted_loans"), row.get("counted_fees"), settings, now);
    Ok(Facts {
        patron: Patron::at(row, "patron")?,
        proxy: Patron::at(row, "proxy")?,
        proxy_relations: Json::elements(row.get("proxy_relations")),
        manual_blocks: Json::elements(row.get("manual_blocks")),
        item_has_open_loan: row.get("item_has_open_loan"),
        queue: queue::read(row.get("queue"))?,
        open_loans: Json::elements(row.get("open_loans"))
            .iter()
            .map(|pair| {
                let id = |place: usize| pair[place].as_str().and_then(|id| Uuid::parse_str(id).ok());
                (id(0), id(1))
            })
            .collect(),
        locked_elsewhere: row.get("locked_elsewhere"),
        item: ItemAtDesk::of(row)?,
        counted: query.counts.then(counted),
    })
}

/// The failure after a lock time-out: another check-out of the patron takes too long.
fn busy(error: DatabaseError, settings: &CirculationSettings) -> Failure {
    if error.is_lock_timeout() && settings.check_out_lock.enabled {
        return Refusal::new("unable to acquire lock").with("", "").into();
    }
    error.into()
}
