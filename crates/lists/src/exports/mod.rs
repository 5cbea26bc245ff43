//! Exports of a list as CSV: written by the engine, a thousand records at a time, stored in the database in parts, and
//! sent part by part.

mod csv;
mod route;

pub use route::connect;

use crate::engine::jobs::{Stored, Taken};
use crate::engine::results;
use crate::entity_types;
use crate::query::rows::{self, Record, Records};
use carrel_platform::{Bind, Connection, Tenant};
use carrel_records::Failure;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use uuid::Uuid;

/// Approximate bytes of one part of a file.
const PART: usize = 256 * 1024;

/// Writes the file of an export.
pub async fn write(
    tenant: &Tenant,
    job: &Taken,
    from_primary: bool,
    records: &AtomicI64,
) -> Result<Option<Stored>, Failure> {
    let entity_type = entity_types::entity_type(tenant, job.entity_type_id)
        .await?
        .ok_or_else(|| Failure::NotFound(format!("There is no entity type {}", job.entity_type_id)))?;
    let zone = rows::zone_of(tenant).await?;
    let reading = Records::new(entity_type, &job.fields).in_order_of_type().with_days_of(zone);
    // The parts of an earlier attempt.
    let connection = tenant.background().await?;
    connection.query("DELETE FROM list_export_part WHERE job_id = $1", vec![job.id.into()]).await?;
    drop(connection);
    let mut file = csv::beginning(reading.columns().map(|column| column.label.as_str()));
    let (mut part, mut count, mut offset) = (0, 0, 0);
    let step = results::CHUNK as i64;
    while offset < job.max_size {
        let reader = if from_primary { tenant.primary_reader().await? } else { tenant.reader().await? };
        let whole = (reading.width(), job.max_size);
        let ids = results::page_of(&reader, job.result_id, whole, offset, step).await?;
        for record in reading.read(&reader, &ids).await? {
            if let Record::Values(values) = record {
                csv::line(reading.columns().zip(&values), &mut file);
                count += 1;
            }
        }
        drop(reader);
        offset += step;
        records.store(count, Relaxed);
        if file.len() >= PART {
            store(&tenant.background().await?, job.id, part, std::mem::take(&mut file)).await?;
            part += 1;
        }
    }
    store(&tenant.background().await?, job.id, part, file).await?;
    Ok(Some(Stored { records: count, rows: part + 1 }))
}

async fn store(connection: &Connection, job: Uuid, n: i64, text: String) -> Result<(), Failure> {
    connection
        .query(
            "INSERT INTO list_export_part (job_id, n, bytes) VALUES ($1, $2, convert_to($3, 'UTF8'))",
            vec![job.into(), n.into(), Bind::Text(text)],
        )
        .await?;
    Ok(())
}
