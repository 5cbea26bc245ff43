//! Everything that the decision wants to know, in one round trip: patron and item are locked first, so that what is read
//! after them holds until the end of the transaction. Of one scan, or of several that go together.

use super::{Actor, CheckOutRequest, Scan, locks};
use crate::desk::scan_batch::{self, Gathered};
use crate::desk::{ItemAtDesk, Patron, QueuedRequest, item, patron, queue};
use crate::patron_blocks::{self, Action};
use crate::records::loans::OPEN;
use crate::settings::CirculationSettings;
use carrel_platform::database::DatabaseError;
use carrel_platform::{Bind, Json, Pipeline, Tenant, Tx};
use carrel_records::{Failure, Refusal};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_postgres::Row;
use uuid::Uuid;

/// What is known when the decision is made.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    pub patron: Option<Patron>,
    pub proxy: Option<Patron>,
    /// The proxy relations between the two, as stored.
    pub proxy_relations: Vec<Value>,
    pub manual_blocks: Vec<Value>,
    /// What the patron has and owes, where some limit is held against it.
    pub counted: Option<patron_blocks::Facts>,
    pub item: Option<ItemAtDesk>,
    pub item_has_open_loan: bool,
    pub queue: Vec<QueuedRequest>,
    /// Material type and loan type of the patron's open loans, those claimed returned left out.
    pub open_loans: Vec<(Option<Uuid>, Option<Uuid>)>,
    /// Somebody holds the patron's check-out lock in the lock storage; not looked for where the setting is off.
    pub locked_elsewhere: bool,
}

/// Locks patron and item, reads all facts, and sees to a settings that is at least as new as they are.
///
/// Most items have no queue; where one is found that is not held yet, the facts are gathered again with the queue held.
pub async fn gather(
    tenant: &Arc<Tenant>,
    command: &CheckOutRequest,
    actor: &Actor,
    mut held: Option<Uuid>,
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
        match held {
            None => {
                locks::lock_patron_and_item(&mut pipeline, user, item);
            }
            Some(queue) => {
                locks::lock_patron(&mut pipeline, user);
                queue::hold(&mut pipeline, queue);
                locks::lock_item(&mut pipeline, item);
            }
        }
        let way = Way::of(&cached.settings, !proxy.is_empty(), held.is_some());
        let facts = pipeline
            .add(way.statement(false), vec![user.into(), proxy.into(), item.into(), actor.now.into()]);
        let results = tx.send(pipeline).await.map_err(|error| busy(error, &cached.settings))?;
        crate::check_out_lock::waited(tenant, results.arrived[facts]);
        let row = results.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
        cached.refresh(tenant, &mut tx, row).await?;
        // The facts were gathered in the way that older settings ask for: then once more.
        if Way::of(&cached.settings, way.proxy, way.queue) != way {
            continue;
        }
        let mut has_queue: bool = row.get("has_queue");
        let mut facts = read(row, way, &cached.settings, actor.now)?;
        if let Some(item) = facts.item.as_ref().filter(|item| way.title_level && item.is_of_another_library())
        {
            queue::add_promised(&mut tx, item, &mut facts.queue).await?;
            has_queue |= !facts.queue.is_empty();
        }
        if let (true, Some(item)) = (has_queue, &facts.item) {
            let queue = queue::of_item(way.title_level, item, &facts.queue);
            if queue != held {
                held = queue;
                continue;
            }
        }
        return Ok((tx, facts, cached.settings));
    }
}

/// Reads the facts of scans whose patrons and items nobody else holds, and locks those, waiting for none.
pub async fn gather_free(tenant: &Arc<Tenant>, scans: &[Arc<Scan>]) -> Result<Gathered<Facts>, Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    let barcodes = |barcode: fn(&CheckOutRequest) -> &Option<String>| -> Vec<String> {
        scans.iter().map(|scan| barcode(&scan.command).clone().unwrap_or_default()).collect()
    };
    let patrons = barcodes(|command| &command.user_barcode);
    let proxies = barcodes(|command| &command.proxy_user_barcode);
    let items = barcodes(|command| &command.item_barcode);
    let way = Way::of(&cached.settings, proxies.iter().any(|proxy| !proxy.is_empty()), false);
    let several = scans.len() > 1;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    let held = locks::lock_free(&mut pipeline, patrons.clone(), items.clone());
    let given = [patrons, proxies, items].map(scan_batch::given);
    let times: Vec<Bind> = scans.iter().map(|scan| scan.actor.now.into()).collect();
    let now = if several { Bind::Several(times) } else { scans[0].actor.now.into() };
    let binds = given.into_iter().chain([now]).collect();
    let facts = pipeline.add(way.statement(several), binds);
    let results = tx.send(pipeline).await?;
    let held = locks::Held::read(results.first(held));
    if let Some(row) = results.first(facts) {
        cached.refresh(tenant, &mut tx, row).await?;
    }
    let mut all: Vec<Result<Facts, Option<Uuid>>> = scans.iter().map(|_| Err(None)).collect();
    // The facts were gathered in the way that older settings ask for: then each anew.
    if Way::of(&cached.settings, way.proxy, way.queue) != way {
        return Ok((tx, all, cached.settings));
    }
    let (mut patrons, mut items) = (HashSet::new(), HashSet::new());
    for row in results.rows(facts) {
        let number: i64 = row.get("number");
        let place = number as usize - 1;
        let facts = read(row, way, &cached.settings, scans[place].actor.now)?;
        let has_patron = facts
            .patron
            .as_ref()
            .is_none_or(|patron| held.patrons.contains(&number) && patrons.insert(patron.id));
        let has_item = facts.item.as_ref().is_none_or(|item| {
            held.items.contains(&number)
                && items.insert(item.id)
                && !(way.title_level && item.is_of_another_library())
        });
        let queue = facts.item.as_ref().filter(|_| row.get("has_queue"));
        all[place] = match queue {
            Some(item) => Err(queue::of_item(way.title_level, item, &[])),
            None if has_patron && has_item => {
                crate::check_out_lock::waited(tenant, Duration::ZERO);
                Ok(facts)
            }
            None => Err(None),
        };
    }
    Ok((tx, all, cached.settings))
}

/// The wait that connections are born with.
const DEFAULT_WAIT: Duration = Duration::from_millis(7_500);

/// What is asked beside patron and item: each table that a statement names costs, also one without rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    title_level: bool,
    /// The loans that count against a limit of the loan policy.
    limits: bool,
    /// What counts for automated blocks.
    counts: bool,
    /// A proxy stands at the desk.
    proxy: bool,
    /// Locks on the patron's check-outs that were taken from outside.
    locks: bool,
    /// The queue itself, not only whether there is one.
    queue: bool,
}

impl Way {
    fn of(settings: &CirculationSettings, proxy: bool, queue: bool) -> Way {
        Way {
            title_level: settings.title_level_requests.enabled(),
            limits: settings.limits_items,
            counts: Action::Borrowing.is_limited(settings),
            proxy,
            locks: settings.check_out_lock.enabled,
            queue,
        }
    }

    /// The statement for this way of asking, of one scan or of several; made once.
    fn statement(self, several: bool) -> &'static str {
        static WAYS: [OnceLock<String>; 128] = [const { OnceLock::new() }; 128];
        let bits = [several, self.title_level, self.limits, self.counts, self.proxy, self.locks, self.queue];
        let number = bits.into_iter().fold(0, |number, bit| number << 1 | usize::from(bit));
        WAYS[number].get_or_init(|| statement(self, several))
    }
}

/// Conditions on loans and requests are scalar subqueries with a limit, see [`queue::exists_sql`].
fn statement(way: Way, several: bool) -> String {
    let when =
        |asked: bool, sql: &str, else_: &'static str| if asked { sql.to_owned() } else { else_.to_owned() };
    let nothing = "NULL::jsonb";
    format!(
        "SELECT (SELECT value FROM stamp WHERE id = 1), patron.doc AS patron, {proxy} AS proxy,
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
        proxy = when(way.proxy, "proxy.doc", nothing),
        relations = when(
            way.proxy,
            "(SELECT jsonb_agg(p.doc) FROM proxyfor p
              WHERE p.user_id = patron.id AND p.proxy_user_id = proxy.id)",
            nothing
        ),
        join_proxy = match way.proxy {
            true => format!("LEFT JOIN users proxy ON {}", patron::barcode_is("proxy", "given.proxy")),
            false => String::new(),
        },
        has_queue = queue::exists_sql(way.title_level),
        queue = when(way.queue, queue::sql(way.title_level), nothing),
        open_loans = when(
            way.limits,
            "(SELECT jsonb_agg(jsonb_build_array(lent.doc->>'materialTypeId',
                    coalesce(lent.doc->>'temporaryLoanTypeId', lent.doc->>'permanentLoanTypeId')))
              FROM loan JOIN item lent ON lent.id = loan.item_id
              JOIN item_state lent_state ON lent_state.item_id = lent.id
              WHERE loan.user_id = patron.id AND loan.is_open AND lent_state.status <> 'Claimed returned')",
            nothing
        ),
        locked = when(
            way.locks,
            "(SELECT true FROM check_out_lock l WHERE l.user_id = patron.id AND l.expires > given.now LIMIT 1)
                 IS NOT NULL",
            "false"
        ),
        counted_loans = when(way.counts, &patron_blocks::open_loans_sql("patron.id"), nothing),
        counted_fees = when(way.counts, &patron_blocks::open_fees_sql("patron.id"), nothing),
        columns = item::COLUMNS,
        tables = item::TABLES,
        patron = patron::barcode_is("patron", "given.patron"),
        item = item::barcode_is("given.item"),
        given = match several {
            false => "(SELECT 1::bigint, $1::text, $2::text, $3::text, $4::timestamptz)
                 given (number, patron, proxy, item, now)",
            true => "unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
                 WITH ORDINALITY given (patron, proxy, item, now, number)",
        },
    )
}

fn read(row: &Row, way: Way, settings: &CirculationSettings, now: Timestamp) -> Result<Facts, Failure> {
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
        counted: way.counts.then(counted),
    })
}

/// Another check-out of the patron takes too long.
fn busy(error: DatabaseError, settings: &CirculationSettings) -> Failure {
    if error.is_lock_timeout() && settings.check_out_lock.enabled {
        return Refusal::new("unable to acquire lock").with("", "").into();
    }
    error.into()
}
