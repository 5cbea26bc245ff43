//! A duplicate value, reported with the text of the record type.

use carrel_platform::Tenant;
use carrel_records::{Failure, RecordType, Refusal};
use uuid::Uuid;

/// Replaces the store's refusal by `words`, if another record has the value in the field.
///
/// The database has already refused the write; this finds out whether the duplicate was the reason.
pub async fn message_of<T>(
    written: Result<T, Failure>,
    tenant: &Tenant,
    record: &RecordType,
    (field, value): (&'static str, &str),
    id: Option<Uuid>,
    words: impl FnOnce(&str) -> Refusal,
) -> Result<T, Failure> {
    let Err(Failure::Refused(refusals)) = written else { return written };
    // The same expression as in the unique index.
    let sql = format!(
        "SELECT 1 FROM {} WHERE lower(carrel.f_unaccent(doc->>'{field}')) = lower(carrel.f_unaccent($1))
           AND id IS DISTINCT FROM $2 LIMIT 1",
        record.table
    );
    let rows = tenant.writer().await?.query(sql, vec![value.into(), id.into()]).await?;
    Err(if rows.is_empty() { Failure::Refused(refusals) } else { words(value).into() })
}
