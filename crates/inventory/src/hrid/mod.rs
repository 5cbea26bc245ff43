//! Human-readable ids (HRIDs): a prefix and a running number for every instance, holdings record and item.
//!
//! Routes: `/hrid-settings-storage/hrid-settings` GET and PUT. Numbers come from counter rows, outside the
//! transaction that uses them, so that batches do not wait for each other; a failed batch leaves a gap, as in FOLIO.

mod route;

pub use route::routes;

use crate::store::Incoming;
use carrel_platform::database::Json;
use carrel_platform::{Connection, Pipeline};
use carrel_records::Failure;
use serde_json::Value;

/// The largest number of FOLIO's sequences.
const MAX_HRID: i64 = 99_999_999_999;

/// The kinds of records that have HRIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Instances,
    Holdings,
    Items,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Instances, Kind::Holdings, Kind::Items];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Instances => "instances",
            Kind::Holdings => "holdings",
            Kind::Items => "items",
        }
    }

    fn default_prefix(self) -> &'static str {
        match self {
            Kind::Instances => "in",
            Kind::Holdings => "ho",
            Kind::Items => "it",
        }
    }
}

/// Assigns an HRID to every record without one.
pub async fn assign(connection: &Connection, kind: Kind, records: &mut [Incoming]) -> Result<(), Failure> {
    let without: Vec<&mut Incoming> = records.iter_mut().filter(|record| record.has_no_hrid()).collect();
    if without.is_empty() {
        return Ok(());
    }
    let count = without.len() as i64;
    let mut pipeline = Pipeline::new();
    let taken = pipeline.add(
        "INSERT INTO hrid_counter (kind, last_number) VALUES ($1, $2)
         ON CONFLICT (kind) DO UPDATE SET last_number = hrid_counter.last_number + $2 RETURNING last_number",
        vec![kind.name().into(), count.into()],
    );
    let settings = pipeline.add("SELECT doc FROM hrid_settings LIMIT 1", vec![]);
    let results = connection.send(pipeline).await?;
    let last: i64 = results.first(taken).map_or(0, |row| row.get(0));
    if last > MAX_HRID {
        return Err(Failure::internal(format!("the HRIDs of {} are used up", kind.name())));
    }
    let settings = results.document(settings).as_ref().map_or(Value::Null, Json::parse);
    for (number, record) in (last - count + 1..).zip(without) {
        record.give_hrid(format_hrid(&settings, kind, number));
    }
    Ok(())
}

/// Formats prefix and number by the settings.
fn format_hrid(settings: &Value, kind: Kind, number: i64) -> String {
    let prefix = match settings.get(kind.name()) {
        Some(of_kind) => of_kind.get("prefix").and_then(Value::as_str).unwrap_or_default(),
        None => kind.default_prefix(),
    };
    match settings.get("commonRetainLeadingZeroes") {
        Some(Value::Bool(false)) => format!("{prefix}{number}"),
        _ => format!("{prefix}{number:011}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_hrid_is_a_prefix_and_eleven_digits_unless_the_settings_say_otherwise() {
        assert_eq!(format_hrid(&Value::Null, Kind::Items, 7), "it00000000007");
        let settings = json!({"items": {"prefix": "x", "startNumber": 1}, "holdings": {"startNumber": 1},
            "commonRetainLeadingZeroes": false});
        assert_eq!(format_hrid(&settings, Kind::Items, 7), "x7");
        assert_eq!(format_hrid(&settings, Kind::Holdings, 7), "7");
    }
}
