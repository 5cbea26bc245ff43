//! The state of an item, which changes with every scan: status, transit destination, last check-in. It is stored apart
//! from the cataloged record, in the narrow table `item_state`, and composed into the item on reading.

use carrel_platform::{Bind, Pipeline, RowChange};
use carrel_records::{ItemStatus, time};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

/// `FROM` text of an item with its state.
pub const FROM: &str = "item JOIN item_state ON item_state.item_id = item.id";

/// SQL of an item's whole document. The version counts both changes of the record and scans.
pub const DOCUMENT: &str = "item.doc || jsonb_strip_nulls(jsonb_build_object(\
    'status', jsonb_build_object('name', item_state.status, 'date', item_state.status_date), \
    'inTransitDestinationServicePointId', item_state.in_transit_destination, \
    'lastCheckIn', item_state.last_check_in, \
    '_version', coalesce((item.doc->>'_version')::integer, 0) + item_state.version))";

/// The properties that [`DOCUMENT`] adds to the stored item.
pub const ADDS: &[&str] = &["status", "inTransitDestinationServicePointId", "lastCheckIn", "_version"];

/// A change of an item's state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateChange {
    pub status: ItemStatus,
    /// Destination of an item in transit; absent for every other status.
    pub in_transit_destination: Option<Uuid>,
    /// `{dateTime, servicePointId, staffMemberId}` of a check-in; `None` keeps the last one.
    pub last_check_in: Option<Value>,
}

/// Adds the statement that changes the state of one item.
pub fn change(pipeline: &mut Pipeline, item: Uuid, change: &StateChange, now: Timestamp) -> usize {
    pipeline.change_row(
        &STATE,
        vec![
            item.into(),
            change.status.as_str().into(),
            time::format(now).into(),
            change.in_transit_destination.into(),
            change.last_check_in.as_ref().map_or(Bind::Null, Bind::from),
        ],
    )
}

// The condition on the array of ids keeps PostgreSQL from joining the whole table, whatever size it estimates.
static STATE: RowChange = RowChange {
    one: "UPDATE item_state SET
             status_date = CASE WHEN status = $2 THEN status_date ELSE $3 END, status = $2,
             in_transit_destination = $4, last_check_in = coalesce($5, last_check_in), version = version + 1
         WHERE item_id = $1",
    several: "UPDATE item_state SET
             status_date = CASE WHEN item_state.status = one.status THEN item_state.status_date ELSE one.date END,
             status = one.status, in_transit_destination = one.destination,
             last_check_in = coalesce(one.check_in, item_state.last_check_in), version = version + 1
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::jsonb[])
             AS one (id, status, date, destination, check_in)
         WHERE item_state.item_id = one.id AND item_state.item_id = ANY ($1::uuid[])",
};

/// The state of an item as its document shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub status: ItemStatus,
    /// Since when, in ISO 8601.
    pub status_date: Option<String>,
    pub in_transit_destination: Option<Uuid>,
    pub last_check_in: Option<Value>,
}

impl State {
    /// Removes the state from a document; the rest is the cataloged record.
    pub fn take_from(document: &mut Map<String, Value>) -> State {
        let status = document.remove("status").unwrap_or_default();
        let text = |name: &str| status.get(name).and_then(Value::as_str).map(str::to_owned);
        let destination = document.remove("inTransitDestinationServicePointId");
        State {
            status: text("name").map_or(ItemStatus::Available, |name| name.as_str().into()),
            status_date: text("date"),
            in_transit_destination: destination
                .as_ref()
                .and_then(Value::as_str)
                .and_then(|text| Uuid::parse_str(text).ok()),
            last_check_in: document.remove("lastCheckIn"),
        }
    }
}

/// Adds the statement that stores the states of new items.
pub fn insert(pipeline: &mut Pipeline, states: Vec<(Uuid, State)>) {
    write(
        pipeline,
        "INSERT INTO item_state (item_id, status, status_date, in_transit_destination, last_check_in, version)
         SELECT one.id, one.status, nullif(one.date, ''), nullif(one.destination, '')::uuid,
             nullif(one.check_in, '')::jsonb, 0
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
             AS one (id, status, date, destination, check_in)",
        states,
    );
}

/// Adds the statement that replaces the states of items; the version is counted in the record.
pub fn replace(pipeline: &mut Pipeline, states: Vec<(Uuid, State)>) {
    write(
        pipeline,
        "UPDATE item_state SET status = one.status, status_date = nullif(one.date, ''),
             in_transit_destination = nullif(one.destination, '')::uuid,
             last_check_in = nullif(one.check_in, '')::jsonb
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
             AS one (id, status, date, destination, check_in)
         WHERE item_state.item_id = one.id AND item_state.item_id = ANY ($1::uuid[])",
        states,
    );
}

fn write(pipeline: &mut Pipeline, sql: &'static str, states: Vec<(Uuid, State)>) {
    if states.is_empty() {
        return;
    }
    let ids: Vec<Uuid> = states.iter().map(|(id, _)| *id).collect();
    let texts =
        |text: fn(&State) -> String| Bind::Texts(states.iter().map(|(_, state)| text(state)).collect());
    let (dates, destinations, check_ins) = (
        texts(|state| state.status_date.clone().unwrap_or_default()),
        texts(|state| state.in_transit_destination.map(|id| id.to_string()).unwrap_or_default()),
        texts(|state| state.last_check_in.as_ref().map(Value::to_string).unwrap_or_default()),
    );
    let statuses = texts(|state| state.status.to_string());
    pipeline.add(sql, vec![ids.into(), statuses, dates, destinations, check_ins]);
}
