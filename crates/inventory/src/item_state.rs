//! What changes with every scan of an item: status, transit destination, last check-in. It stands apart from
//! what a cataloguer wrote, in the narrow table `item_state`, and is composed into the item on reading.

use carrel_platform::{Bind, Flight};
use carrel_records::time;
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

/// Tables of this room.
pub const TABLES: &str = include_str!("item_state.sql");

/// `FROM` text of an item with its state.
pub const FROM: &str = "item JOIN item_state ON item_state.item_id = item.id";

/// SQL of an item's whole document. The version counts both the cataloguer's changes and the scans.
pub const DOCUMENT: &str = "item.doc || jsonb_strip_nulls(jsonb_build_object(\
    'status', jsonb_build_object('name', item_state.status, 'date', item_state.status_date), \
    'inTransitDestinationServicePointId', item_state.in_transit_destination, \
    'lastCheckIn', item_state.last_check_in, \
    '_version', coalesce((item.doc->>'_version')::integer, 0) + item_state.version))";

/// A change of an item's state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateChange {
    pub status: &'static str,
    /// Service point that the item is on its way to; absent for every status but In transit.
    pub in_transit_destination: Option<Uuid>,
    /// `{dateTime, servicePointId, staffMemberId}` of a check-in; `None` keeps the last one.
    pub last_check_in: Option<Value>,
}

/// Adds the statement that changes the state of one item.
pub fn change(flight: &mut Flight, item: Uuid, change: &StateChange, now: Timestamp) -> usize {
    flight.add(
        "UPDATE item_state SET
             status_date = CASE WHEN status = $2 THEN status_date ELSE $3 END, status = $2,
             in_transit_destination = $4, last_check_in = coalesce($5, last_check_in), version = version + 1
         WHERE item_id = $1",
        vec![
            item.into(),
            change.status.into(),
            time::format(now).into(),
            change.in_transit_destination.into(),
            change.last_check_in.as_ref().map_or(Bind::Null, Bind::from),
        ],
    )
}
