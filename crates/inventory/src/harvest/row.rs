//! A row in the form of FOLIO's harvests: documents unchanged, other values as text, absent values as empty text.

use carrel_platform::database::Json;
use carrel_records::Failure;
use jiff::Timestamp;
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

/// A property: name, index in the row, kind.
pub struct Column(pub &'static str, pub usize, pub Kind);

/// The kind of a column.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Id,
    Text,
    Instant,
    Truth,
    Document,
}

/// The JSON object of a row.
pub fn shown(row: &Row, columns: &[Column]) -> Result<Vec<u8>, Failure> {
    let mut out = vec![b'{'];
    for (number, Column(name, place, kind)) in columns.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        out.extend_from_slice(format!("\"{name}\":").as_bytes());
        let value = value(row, *place, *kind).map_err(|error| Failure::Internal {
            context: format!("reading {name}"),
            cause: Some(error.into()),
        })?;
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
    Ok(out)
}

/// FOLIO quirk: booleans and absent values are texts.
fn value(row: &Row, place: usize, kind: Kind) -> Result<String, tokio_postgres::Error> {
    let text = |text: Option<String>| Value::String(text.unwrap_or_default()).to_string();
    Ok(match kind {
        Kind::Id => text(row.try_get::<_, Option<Uuid>>(place)?.map(|id| id.to_string())),
        Kind::Text => text(row.try_get(place)?),
        Kind::Instant => text(row.try_get::<_, Option<Timestamp>>(place)?.map(|instant| instant.to_string())),
        Kind::Truth => text(row.try_get::<_, Option<bool>>(place)?.map(|truth| truth.to_string())),
        Kind::Document => {
            row.try_get::<_, Option<Json>>(place)?.map_or_else(|| "\"\"".to_owned(), |document| document.0)
        }
    })
}
