//! Deletes old rows a batch at a time, so that no statement holds its locks for long.

use crate::database::Bind;
use crate::tenant::Tenant;
use carrel_records::Failure;

/// Rows that one statement deletes, at most.
const BATCH: i64 = 5_000;

/// Repeats a `DELETE` until it finds no rows; returns the number of deleted rows. The batch size is bound to the
/// parameter after `binds`.
pub async fn delete_in_batches(tenant: &Tenant, delete: &str, mut binds: Vec<Bind>) -> Result<u64, Failure> {
    let sql = format!("WITH deleted AS ({delete} RETURNING 1) SELECT count(*) AS number FROM deleted");
    binds.push(BATCH.into());
    let mut deleted = 0;
    loop {
        let rows = tenant.writer().await?.query(sql.clone(), binds.clone()).await?;
        let number: i64 = rows.first().map_or(0, |row| row.get("number"));
        deleted += number.unsigned_abs();
        if number == 0 {
            return Ok(deleted);
        }
    }
}
