//! The facts for writing items, read and locked in one round trip.

use crate::fields::id;
use crate::item_state::{DOCUMENT, FROM};
use crate::store::{Incoming, WriteMode};
use carrel_platform::database::Json;
use carrel_platform::record_store::write::Document;
use carrel_platform::{Bind, Pipeline, Tx};
use carrel_records::Failure;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

/// Stored records, by id.
#[derive(Default)]
pub struct Facts {
    /// Holdings records of the items.
    pub holdings: HashMap<Uuid, Document>,
    /// Stored items as clients see them.
    pub stored: HashMap<Uuid, Value>,
    pub versions: HashMap<Uuid, StoredState>,
    /// The next order number within a holdings record.
    pub next_order: HashMap<Uuid, i64>,
}

/// The parts of a stored item that are not in its document.
#[derive(Debug, Clone, Copy)]
pub struct StoredState {
    /// Number of changes of the item's state.
    pub state_version: i64,
    pub instance: Option<Uuid>,
}

/// Reads and locks holdings records (`FOR SHARE`) and items (`FOR NO KEY UPDATE`), always in this order.
pub async fn gather(
    tx: &mut Tx,
    items: &[Incoming],
    mode: WriteMode,
    assigns_order: bool,
) -> Result<Facts, Failure> {
    let mut pipeline = Pipeline::new();
    let holdings_ids: BTreeMap<Uuid, OrderNumbers> = holdings_of(items);
    let holdings = pipeline.add(
        "SELECT id, doc FROM holdings_record WHERE id = ANY($1) ORDER BY id FOR SHARE",
        vec![holdings_ids.keys().copied().collect::<Vec<_>>().into()],
    );
    let ids: Vec<Uuid> = items.iter().map(|item| item.id).collect();
    let stored =
        (mode != WriteMode::Create).then(|| read_items(&mut pipeline, "item.id = ANY($1)", vec![ids.into()]));
    let places = assigns_order.then(|| reserve_order_numbers(&mut pipeline, &holdings_ids)).flatten();
    let results = tx.send(pipeline).await?;
    let mut facts = Facts::default();
    for row in results.rows(holdings) {
        facts.holdings.insert(row.get("id"), object(row.get("doc")));
    }
    if let Some(step) = stored {
        facts.add(results.rows(step));
    }
    if let Some(step) = places {
        for row in results.rows(step) {
            let (holdings, last): (Uuid, i32) = (row.get("holdings_id"), row.get("last_place"));
            let wanted = holdings_ids.get(&holdings).map_or(0, |places| places.wanted);
            facts.next_order.insert(holdings, i64::from(last) - wanted + 1);
        }
    }
    Ok(facts)
}

/// Reads and locks one item and its holdings record.
pub async fn of_one(tx: &mut Tx, item: Uuid) -> Result<Facts, Failure> {
    let mut pipeline = Pipeline::new();
    let holdings = pipeline.add(
        "SELECT id, doc FROM holdings_record
         WHERE id = (SELECT holdings_record_id FROM item WHERE item.id = $1) FOR SHARE",
        vec![item.into()],
    );
    let stored = read_items(&mut pipeline, "item.id = $1", vec![item.into()]);
    let results = tx.send(pipeline).await?;
    let mut facts = Facts::default();
    for row in results.rows(holdings) {
        facts.holdings.insert(row.get("id"), object(row.get("doc")));
    }
    facts.add(results.rows(stored));
    Ok(facts)
}

/// Adds the statement that reads and locks items as clients see them.
pub fn read_items(pipeline: &mut Pipeline, condition: &str, binds: Vec<Bind>) -> usize {
    pipeline.add(
        format!(
            "SELECT item.id, {DOCUMENT} AS document, item_state.version,
                 (SELECT holdings_record.instance_id FROM holdings_record
                  WHERE holdings_record.id = item.holdings_record_id) AS instance_id
             FROM {FROM} WHERE {condition} ORDER BY item.id FOR NO KEY UPDATE OF item, item_state"
        ),
        binds,
    )
}

impl Facts {
    /// Adds the rows of [`read_items`].
    pub fn add(&mut self, rows: &[tokio_postgres::Row]) {
        for row in rows {
            let (id, document, version): (Uuid, Json, i32) =
                (row.get("id"), row.get("document"), row.get("version"));
            self.stored.insert(id, document.parse());
            self.versions
                .insert(id, StoredState { state_version: version.into(), instance: row.get("instance_id") });
        }
    }
}

/// Order numbers that the items of one holdings record have and need.
#[derive(Default)]
struct OrderNumbers {
    wanted: i64,
    highest: i64,
}

fn holdings_of(items: &[Incoming]) -> BTreeMap<Uuid, OrderNumbers> {
    let mut all: BTreeMap<Uuid, OrderNumbers> = BTreeMap::new();
    for item in items {
        let Some(holdings) = id(&item.document, "holdingsRecordId") else { continue };
        let places = all.entry(holdings).or_default();
        match item.document.get("order").and_then(Value::as_i64) {
            Some(place) => places.highest = places.highest.max(place),
            None => places.wanted += 1,
        }
    }
    all
}

/// Reserves order numbers per holdings record; the row lock keeps two writers from reserving the same one.
fn reserve_order_numbers(pipeline: &mut Pipeline, holdings: &BTreeMap<Uuid, OrderNumbers>) -> Option<usize> {
    if holdings.is_empty() {
        return None;
    }
    let texts = |text: fn(&OrderNumbers) -> i64| {
        Bind::Texts(holdings.values().map(|p| text(p).to_string()).collect())
    };
    let (highest, wanted) = (texts(|places| places.highest), texts(|places| places.wanted));
    let ids: Vec<Uuid> = holdings.keys().copied().collect();
    // No item brings a number, as a rule: then one statement reserves.
    if holdings.values().all(|places| places.highest == 0) {
        return Some(pipeline.add(
            "INSERT INTO item_order (holdings_id, last_place)
             SELECT one.id, one.wanted::integer FROM unnest($1::uuid[], $2::text[]) AS one (id, wanted) ORDER BY one.id
             ON CONFLICT (holdings_id) DO UPDATE SET last_place = item_order.last_place + excluded.last_place
             RETURNING holdings_id, last_place",
            vec![ids.into(), wanted],
        ));
    }
    pipeline.add(
        "INSERT INTO item_order (holdings_id, last_place)
         SELECT one.id, one.highest::integer FROM unnest($1::uuid[], $2::text[]) AS one (id, highest) ORDER BY one.id
         ON CONFLICT (holdings_id) DO UPDATE SET last_place = greatest(item_order.last_place, excluded.last_place)",
        vec![ids.clone().into(), highest],
    );
    Some(pipeline.add(
        "UPDATE item_order SET last_place = last_place + one.wanted::integer
         FROM unnest($1::uuid[], $2::text[]) AS one (id, wanted) WHERE item_order.holdings_id = one.id
         RETURNING item_order.holdings_id, item_order.last_place",
        vec![ids.into(), wanted],
    ))
}

pub fn object(json: Json) -> Document {
    match json.parse() {
        Value::Object(object) => object,
        _ => Document::new(),
    }
}
