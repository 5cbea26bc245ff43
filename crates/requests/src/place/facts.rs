//! Everything that the decision depends on, in one round trip. Patron, queue and items are locked first, in this order,
//! so that the facts read after them stay valid until the end of the transaction.

use super::PlaceRequest;
use super::best_items::CHOSEN;
use crate::candidate::{CANDIDATES, Candidate, candidate};
use carrel_circulation::desk::item::{TITLE, Title};
use carrel_circulation::desk::{Patron, QueuedRequest, queue};
use carrel_circulation::patron_blocks::{self, Action};
use carrel_circulation::records::loans::OPEN;
use carrel_circulation::settings::CirculationSettings;
use carrel_platform::{Bind, Json, Pipeline, Tenant, Tx};
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::{Arc, LazyLock};
use tokio_postgres::Row;
use uuid::Uuid;

/// The facts of the decision.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The requested instance, or that of the requested item according to the client.
    pub title: Option<Title>,
    pub requester: Option<Patron>,
    pub proxy: Option<Patron>,
    /// The proxy relations between the two, as stored.
    pub proxy_relations: Vec<Value>,
    pub manual_blocks: Vec<Value>,
    /// The counts for automated blocks, if a limit exists.
    pub counted: Option<patron_blocks::Facts>,
    /// The requester's open requests in the queue.
    pub own: Vec<QueuedRequest>,
    /// Position of the last request in the queue.
    pub last_position: i64,
    /// The requested item, or all items of the instance.
    pub candidates: Vec<Candidate>,
}

impl Facts {
    /// Whether the command's instance is not that of its item. The item determines the queue: a check-in reads the
    /// queue of the item's instance and would never find a request in another one.
    fn names_another_title(&self, named: Option<Uuid>) -> bool {
        let item = self.candidates.first().map(|candidate| &candidate.item);
        self.title.is_some()
            && item.is_some_and(|item| {
                !item.is_of_another_library() && item.instance_id.is_some() && item.instance_id != named
            })
    }
}

/// Locks the rows that may change and reads all facts, with settings that are at least as new. Completes a command that
/// has only an item with its holdings record and instance.
pub async fn gather(
    tenant: &Arc<Tenant>,
    command: &mut PlaceRequest,
    may_recall: bool,
    now: Timestamp,
) -> Result<(Tx, Facts, Arc<CirculationSettings>), Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    loop {
        let facts_query = FactsQuery::of(command, &cached.settings);
        let of_instance = facts_query.title_level && command.is_title_level();
        let (instance, item) = (command.id("instanceId"), command.id("itemId"));
        let requester: Bind = command.id("requesterId").into();
        let wanted: Bind = if of_instance { instance.into() } else { item.into() };

        let mut tx = tenant.begin().await?;
        let mut pipeline = Pipeline::new();
        pipeline.add("SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE", vec![requester.clone()]);
        let queue = queue::id_of(facts_query.title_level, instance, item);
        let mut held = None;
        if facts_query.title_level && facts_query.by_item {
            held = Some(queue::lock_selected(&mut pipeline, &instance_of("$1"), vec![item.into()]));
        } else if let Some(queue) = queue {
            queue::lock(&mut pipeline, queue);
        }
        let which = if of_instance { ItemScope::OfInstance } else { ItemScope::Named };
        pipeline.add(lock(which, may_recall), vec![wanted.clone()]);
        let (titled, queued) = if facts_query.by_item { (item, item) } else { (instance, queue) };
        let facts = pipeline.add(
            facts_query.statement(),
            vec![requester, command.id("proxyUserId").into(), titled.into(), queued.into()],
        );
        let candidates = pipeline.add(candidates(which), vec![wanted]);
        let results = tx.send(pipeline).await?;
        let row = results.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
        cached.refresh(tenant, &mut tx, row).await?;
        // The statements depend on settings that have changed: gather again.
        if FactsQuery::of(command, &cached.settings) != facts_query {
            continue;
        }
        let limits = facts_query.counts.then_some((&*cached.settings, now));
        let facts = read(row, results.rows(candidates), limits)?;
        if !of_instance && !facts_query.by_item && facts.names_another_title(instance) {
            command.by_item = true;
            continue;
        }
        if facts_query.by_item {
            let item = facts.candidates.first().map(|candidate| &candidate.item);
            let title = item.and_then(|item| item.instance_id);
            let held = held.map(|step| results.first(step).map(|row| row.get::<_, Uuid>(0)));
            // Another transaction moved the item to another instance while this one waited for the lock.
            if held.is_some_and(|held| held != title) {
                continue;
            }
            for (key, id) in
                [("holdingsRecordId", item.and_then(|item| item.holdings_id)), ("instanceId", title)]
            {
                if let Some(id) = id {
                    command.document.insert(key.into(), id.to_string().into());
                }
            }
        }
        return Ok((tx, facts, cached.settings));
    }
}

/// The properties on which the statements depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FactsQuery {
    pub title_level: bool,
    /// The client sends the item only; its instance is read.
    pub by_item: bool,
    /// There is one queue for each item of the instance.
    pub copies: bool,
    /// Counts for automated blocks are needed.
    pub counts: bool,
}

impl FactsQuery {
    fn of(command: &PlaceRequest, settings: &CirculationSettings) -> FactsQuery {
        FactsQuery {
            title_level: settings.title_level_requests.enabled(),
            by_item: command.by_item,
            copies: false,
            counts: Action::Requesting.is_limited(settings),
        }
    }

    pub(super) fn statement(self) -> &'static str {
        static WAYS: LazyLock<Vec<String>> = LazyLock::new(|| {
            (0..16)
                .map(|facts_query| {
                    statement(FactsQuery {
                        title_level: facts_query & 1 != 0,
                        by_item: facts_query & 2 != 0,
                        counts: facts_query & 4 != 0,
                        copies: facts_query & 8 != 0,
                    })
                })
                .collect()
        });
        let flags = [self.title_level, self.by_item, self.counts, self.copies];
        &WAYS[flags.iter().rev().fold(0, |facts_query, flag| facts_query << 1 | usize::from(*flag))]
    }
}

/// SQL of the instance of an item given as an SQL expression.
fn instance_of(item: &str) -> String {
    format!(
        "(SELECT own.instance_id FROM item JOIN holdings_record own ON own.id = item.holdings_record_id
          WHERE item.id = {item} AND own.instance_id IS NOT NULL)"
    )
}

const ITEMS_OF_INSTANCE: &str = "SELECT item.id FROM item JOIN holdings_record \
     ON holdings_record.id = item.holdings_record_id WHERE holdings_record.instance_id = $1";

/// The items that can fulfill a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemScope {
    /// The item `$1`.
    Named,
    /// All items of the instance `$1`.
    OfInstance,
    /// The items that an earlier statement of the pipeline has chosen; no parameter.
    Chosen,
}

/// Locks the items, and then the loans that a recall would shorten, in one statement.
pub(super) fn lock(which: ItemScope, loans: bool) -> &'static str {
    static WAYS: LazyLock<[[String; 2]; 3]> = LazyLock::new(|| {
        ["= $1".to_owned(), format!("IN ({ITEMS_OF_INSTANCE})"), format!("= ANY({CHOSEN})")].map(|which| {
            let items =
                format!("SELECT 1 FROM item_state WHERE item_id {which} ORDER BY item_id FOR NO KEY UPDATE");
            let loans =
                format!("SELECT 1 FROM loan WHERE item_id {which} AND {OPEN} ORDER BY id FOR NO KEY UPDATE");
            let both = format!("SELECT ARRAY({items}), ARRAY({loans})");
            [items, both]
        })
    });
    &WAYS[which as usize][usize::from(loans)]
}

/// `$1` is the requester, `$2` the proxy, `$3` the instance and `$4` the queue, or both times the item.
fn statement(facts_query: FactsQuery) -> String {
    let title = if facts_query.by_item { instance_of("$3") } else { "$3".to_owned() };
    let queue = match (facts_query.title_level, facts_query.by_item) {
        (true, true) => format!("r.instance_id = {}", instance_of("$4")),
        (true, false) => "r.instance_id = $4".to_owned(),
        (false, _) if facts_query.copies => {
            format!("r.item_id IN ({})", ITEMS_OF_INSTANCE.replace("$1", "$4"))
        }
        (false, _) => "r.item_id = $4 AND coalesce(r.doc->>'requestLevel', 'Item') = 'Item'".to_owned(),
    };
    let (counted_loans, counted_fees) = if facts_query.counts {
        (patron_blocks::open_loans_sql("$1"), patron_blocks::open_fees_sql("$1"))
    } else {
        ("NULL::jsonb".to_owned(), "NULL::jsonb".to_owned())
    };
    // Each of several queues has a separate last position.
    let last = if facts_query.copies {
        "NULL::integer".to_owned()
    } else {
        format!("(SELECT max(r.position) FROM request r WHERE r.is_open AND {queue})")
    };
    format!(
        "SELECT (SELECT value FROM settings_version WHERE id = 1), {TITLE}, requester.doc, proxy.doc,
            (SELECT jsonb_agg(p.doc) FROM proxyfor p WHERE p.user_id = $1 AND p.proxy_user_id = $2),
            (SELECT jsonb_agg(b.doc) FROM manualblocks b WHERE b.user_id = $1),
            (SELECT jsonb_agg(jsonb_build_object('request', r.doc) ORDER BY r.position) FROM request r
              WHERE r.requester_id = $1 AND r.is_open AND {queue}),
            {last},
            {counted_loans}, {counted_fees}
         FROM (SELECT 1) one
         LEFT JOIN users requester ON requester.id = $1
         LEFT JOIN users proxy ON proxy.id = $2
         LEFT JOIN instance ON instance.id = {title}"
    )
}

/// Items in the order of their creation.
pub(super) fn candidates(which: ItemScope) -> &'static str {
    static WAYS: LazyLock<[String; 3]> = LazyLock::new(|| {
        let chosen = format!("item.id = ANY({CHOSEN})");
        ["item.id = $1", "holdings_record.instance_id = $1", &chosen].map(|which| {
            let candidates = CANDIDATES.as_str();
            format!("{candidates} WHERE {which} ORDER BY item.doc->'metadata'->>'createdDate', item.id")
        })
    });
    &WAYS[which as usize]
}

/// Reads the rows; `limits`, the settings and the time of the request, is present if blocks are to be counted.
pub(super) fn read(
    row: &Row,
    candidates: &[Row],
    limits: Option<(&CirculationSettings, Timestamp)>,
) -> Result<Facts, Failure> {
    let title = Title::at(row, 1)?;
    Ok(Facts {
        requester: Patron::at(row, 2)?,
        proxy: Patron::at(row, 3)?,
        proxy_relations: Json::elements(row.get(4)),
        manual_blocks: Json::elements(row.get(5)),
        counted: limits.map(|(settings, now)| patron_blocks::read(row.get(8), row.get(9), settings, now)),
        own: queue::read(row.get(6))?,
        last_position: row.get::<_, Option<i32>>(7).unwrap_or(0).into(),
        candidates: candidates
            .iter()
            .filter_map(|row| candidate(row, title.as_ref()).transpose())
            .collect::<Result<_, Failure>>()?,
        title,
    })
}
