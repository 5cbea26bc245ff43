//! A value taken by another record, reported in the words that one record type has for it.

use carrel_platform::Tenant;
use carrel_records::{Failure, RecordType, Refusal};
use uuid::Uuid;

/// Replaces the store's refusal by `words`, where another record has the value in the field.
///
/// The database has refused already; this asks which of several reasons it was.
pub async fn message_of<T>(
    written: Result<T, Failure>,
    tenant: &Tenant,
    record: &RecordType,
    (field, value): (&'static str, &str),
    id: Option<Uuid>,
    words: impl FnOnce(&str) -> Refusal,
) -> Result<T, Failure> {
    let Err(Failure::Refused(refusals)) = written else { return written };
    // The expression is that of the unique index.
    let sql = format!(
        "SELECT 1 FROM {} WHERE lower(carrel.f_unaccent(doc->>'{field}')) = lower(carrel.f_unaccent($1))
           AND id IS DISTINCT FROM $2 LIMIT 1",
        record.table
    );
    let rows = tenant.writer().await?.query(sql, vec![value.into(), id.into()]).await?;
    Err(if rows.is_empty() { Failure::Refused(refusals) } else { words(value).into() })
}
