//! Everything that the decision wants to know, in one round trip. Patron, queue and items are locked first, in this
//! order, so that what is read after them holds until the end of the transaction.

use super::PlaceRequest;
use super::copies::CHOSEN;
use carrel_circulation::desk::item::{COLUMNS_WITHOUT_TITLE, TITLE, Title};
use carrel_circulation::desk::{ItemAtDesk, Patron, QueuedRequest, queue};
use carrel_circulation::patron_blocks::{self, Action};
use carrel_circulation::records::loans::OPEN;
use carrel_circulation::settings::CirculationSettings;
use carrel_loan_rules::request as words;
use carrel_platform::{Bind, Json, Pipeline, Tenant, Tx};
use carrel_records::{Failure, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};
use tokio_postgres::Row;
use uuid::Uuid;

/// What is known when the decision is made.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The title asked for, or that of the item asked for as the client names it.
    pub title: Option<Title>,
    pub requester: Option<Patron>,
    pub proxy: Option<Patron>,
    /// The proxy relations between the two, as stored.
    pub proxy_relations: Vec<Value>,
    pub manual_blocks: Vec<Value>,
    /// What the requester has and owes, where some limit is held against it.
    pub counted: Option<patron_blocks::Facts>,
    /// The requester's open requests in the queue.
    pub own: Vec<QueuedRequest>,
    /// Position of the last request in the queue.
    pub last_position: i64,
    /// The item asked for, or all items of the title.
    pub candidates: Vec<Candidate>,
}

impl Facts {
    /// The order's title is not that of the item it names. The item counts: a check-in looks into the queue of the
    /// item's own title, and would never find a request that waits elsewhere.
    fn names_another_title(&self, named: Option<Uuid>) -> bool {
        let item = self.candidates.first().map(|candidate| &candidate.item);
        self.title.is_some()
            && item.is_some_and(|item| {
                !item.is_of_another_library() && item.instance_id.is_some() && item.instance_id != named
            })
    }
}

/// An item that may be given, with its loan.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub item: ItemAtDesk,
    pub loan: Option<OpenLoan>,
    /// Open requests for the item, and how many of them are recalls.
    pub requests: i64,
    pub recalls: i64,
    /// Position of the last request in the item's own queue.
    pub last_position: i64,
}

/// The open loan of an item.
#[derive(Debug, Clone)]
pub struct OpenLoan {
    pub id: Uuid,
    pub document: Map<String, Value>,
    pub borrower_group: Option<Uuid>,
    pub borrower_expires: Option<Timestamp>,
}

impl OpenLoan {
    pub fn id_at(&self, key: &str) -> Option<Uuid> {
        words::id(&self.document, key)
    }
    pub fn instant_at(&self, key: &str) -> Option<Timestamp> {
        words::text(&self.document, key).and_then(time::parse)
    }
}

/// Locks what may change, reads all facts, and sees to a settings that is at least as new as they are. An order
/// that names an item only gets its holdings record and title written in.
pub async fn gather(
    tenant: &Arc<Tenant>,
    order: &mut PlaceRequest,
    may_recall: bool,
    now: Timestamp,
) -> Result<(Tx, Facts, Arc<CirculationSettings>), Failure> {
    let mut cached = CirculationSettings::cached(tenant).await?;
    loop {
        let way = Way::of(order, &cached.settings);
        let of_the_title = way.title_level && order.is_title_level();
        let (instance, item) = (order.id("instanceId"), order.id("itemId"));
        let requester: Bind = order.id("requesterId").into();
        let wanted: Bind = if of_the_title { instance.into() } else { item.into() };

        let mut tx = tenant.begin().await?;
        let mut pipeline = Pipeline::new();
        pipeline.add("SELECT 1 FROM users WHERE id = $1 FOR NO KEY UPDATE", vec![requester.clone()]);
        let queue = queue::id_of(way.title_level, instance, item);
        let mut held = None;
        if way.title_level && way.by_item {
            held = Some(queue::hold_those(&mut pipeline, &title_of("$1"), vec![item.into()]));
        } else if let Some(queue) = queue {
            queue::hold(&mut pipeline, queue);
        }
        let which = if of_the_title { Which::OfTheTitle } else { Which::Named };
        pipeline.add(lock(which, may_recall), vec![wanted.clone()]);
        let (titled, queued) = if way.by_item { (item, item) } else { (instance, queue) };
        let facts = pipeline
            .add(way.around(), vec![requester, order.id("proxyUserId").into(), titled.into(), queued.into()]);
        let candidates = pipeline.add(candidates(which), vec![wanted]);
        let results = tx.send(pipeline).await?;
        let row = results.first(facts).ok_or_else(|| Failure::internal("facts are one row"))?;
        cached.refresh(tenant, &mut tx, row).await?;
        // The facts were gathered in the way that older settings ask for: then once more.
        if Way::of(order, &cached.settings) != way {
            continue;
        }
        let limits = way.counts.then_some((&*cached.settings, now));
        let facts = read(row, results.rows(candidates), limits)?;
        if !of_the_title && !way.by_item && facts.names_another_title(instance) {
            order.by_item = true;
            continue;
        }
        if way.by_item {
            let item = facts.candidates.first().map(|candidate| &candidate.item);
            let title = item.and_then(|item| item.instance_id);
            let held = held.map(|step| results.first(step).map(|row| row.get::<_, Uuid>(0)));
            // Somebody moved the item to another title while its queue was waited for.
            if held.is_some_and(|held| held != title) {
                continue;
            }
            for (key, id) in
                [("holdingsRecordId", item.and_then(|item| item.holdings_id)), ("instanceId", title)]
            {
                if let Some(id) = id {
                    order.document.insert(key.into(), id.to_string().into());
                }
            }
        }
        return Ok((tx, facts, cached.settings));
    }
}

/// What the statements of a pipeline depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub title_level: bool,
    /// The client names the item; its title is what the item says.
    pub by_item: bool,
    /// The queues are those of all copies of the title.
    pub copies: bool,
    /// What automated blocks are counted from is wanted.
    pub counts: bool,
}

impl Way {
    fn of(order: &PlaceRequest, settings: &CirculationSettings) -> Way {
        Way {
            title_level: settings.title_level_requests.enabled(),
            by_item: order.by_item,
            copies: false,
            counts: Action::Requesting.is_limited(settings),
        }
    }

    pub(super) fn around(self) -> &'static str {
        static WAYS: LazyLock<Vec<String>> = LazyLock::new(|| {
            (0..16)
                .map(|way| {
                    around(Way {
                        title_level: way & 1 != 0,
                        by_item: way & 2 != 0,
                        counts: way & 4 != 0,
                        copies: way & 8 != 0,
                    })
                })
                .collect()
        });
        let flags = [self.title_level, self.by_item, self.counts, self.copies];
        &WAYS[flags.iter().rev().fold(0, |way, flag| way << 1 | usize::from(*flag))]
    }
}

/// SQL of the title of the item given as an SQL expression.
fn title_of(item: &str) -> String {
    format!(
        "(SELECT own.instance_id FROM item JOIN holdings_record own ON own.id = item.holdings_record_id
          WHERE item.id = {item} AND own.instance_id IS NOT NULL)"
    )
}

const ITEMS_OF_THE_TITLE: &str = "SELECT item.id FROM item JOIN holdings_record \
     ON holdings_record.id = item.holdings_record_id WHERE holdings_record.instance_id = $1";

/// Which items a request may be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// The item `$1`.
    Named,
    /// All items of the title `$1`.
    OfTheTitle,
    /// The copies that an earlier statement of the pipeline has chosen; no parameter.
    Chosen,
}

/// Locks the items, and then the loans that a recall would shorten, in one statement.
pub(super) fn lock(which: Which, loans: bool) -> &'static str {
    static WAYS: LazyLock<[[String; 2]; 3]> = LazyLock::new(|| {
        ["= $1".to_owned(), format!("IN ({ITEMS_OF_THE_TITLE})"), format!("= ANY({CHOSEN})")].map(|which| {
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

/// `$1` is the requester, `$2` the proxy, `$3` the title and `$4` the queue, or both times the item.
fn around(way: Way) -> String {
    let title = if way.by_item { title_of("$3") } else { "$3".to_owned() };
    let queue = match (way.title_level, way.by_item) {
        (true, true) => format!("r.instance_id = {}", title_of("$4")),
        (true, false) => "r.instance_id = $4".to_owned(),
        (false, _) if way.copies => format!("r.item_id IN ({})", ITEMS_OF_THE_TITLE.replace("$1", "$4")),
        (false, _) => "r.item_id = $4 AND coalesce(r.doc->>'requestLevel', 'Item') = 'Item'".to_owned(),
    };
    let (counted_loans, counted_fees) = if way.counts {
        (patron_blocks::open_loans_sql("$1"), patron_blocks::open_fees_sql("$1"))
    } else {
        ("NULL::jsonb".to_owned(), "NULL::jsonb".to_owned())
    };
    // Each of several queues has a last position of its own.
    let last = if way.copies {
        "NULL::integer".to_owned()
    } else {
        format!("(SELECT max(r.position) FROM request r WHERE r.is_open AND {queue})")
    };
    format!(
        "SELECT (SELECT value FROM stamp WHERE id = 1), {TITLE}, requester.doc, proxy.doc,
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

/// Items with their loans, before the condition.
pub static CANDIDATES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT loan.id, loan.doc, borrower.doc->>'patronGroup', borrower.doc->>'expirationDate',
            asked.requests, asked.recalls, asked.last, {COLUMNS_WITHOUT_TITLE}
         FROM item JOIN item_state ON item_state.item_id = item.id
         LEFT JOIN holdings_record ON holdings_record.id = item.holdings_record_id
         LEFT JOIN loan ON loan.item_id = item.id AND loan.{OPEN}
         LEFT JOIN users borrower ON borrower.id = loan.user_id
         CROSS JOIN LATERAL (
             SELECT count(*) AS requests, count(*) FILTER (WHERE r.doc->>'requestType' = 'Recall') AS recalls,
                 max(r.position) FILTER (WHERE coalesce(r.doc->>'requestLevel', 'Item') = 'Item') AS last
             FROM request r WHERE r.item_id = item.id AND r.is_open) asked"
    )
});

/// Items in the order in which they were made.
pub(super) fn candidates(which: Which) -> &'static str {
    static WAYS: LazyLock<[String; 3]> = LazyLock::new(|| {
        let chosen = format!("item.id = ANY({CHOSEN})");
        ["item.id = $1", "holdings_record.instance_id = $1", &chosen].map(|which| {
            let candidates = CANDIDATES.as_str();
            format!("{candidates} WHERE {which} ORDER BY item.doc->'metadata'->>'createdDate', item.id")
        })
    });
    &WAYS[which as usize]
}

/// Columns of a candidate before those of its item.
const BEFORE_ITEM: usize = 7;

/// Reads the rows; `limits`, the settings and the time of the request, is given where blocks are to be counted.
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

/// Reads a row of [`CANDIDATES`].
pub fn candidate(row: &Row, title: Option<&Title>) -> Result<Option<Candidate>, Failure> {
    let Some(mut item) = ItemAtDesk::read(row, BEFORE_ITEM)? else { return Ok(None) };
    if let Some(title) = title {
        item.title = title.clone();
    }
    Ok(Some(Candidate {
        item,
        loan: open_loan(row),
        requests: row.get(4),
        recalls: row.get(5),
        last_position: row.get::<_, Option<i32>>(6).unwrap_or(0).into(),
    }))
}

fn open_loan(row: &Row) -> Option<OpenLoan> {
    let id: Option<Uuid> = row.get(0);
    let document: Option<Json> = row.get(1);
    let text = |place: usize| row.get::<_, Option<String>>(place);
    match document?.parse() {
        Value::Object(document) => Some(OpenLoan {
            id: id?,
            document,
            borrower_group: text(2).and_then(|id| Uuid::parse_str(&id).ok()),
            borrower_expires: text(3).and_then(|at| time::parse(&at)),
        }),
        _ => None,
    }
}
