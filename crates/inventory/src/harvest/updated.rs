//! Instances that changed, whose holdings records or items changed, or that were deleted.
//!
//! Values: `$1` and `$2` the time, `$3` without those suppressed from discovery, `$4` the source or none.

use super::row::{Column, Kind};
use crate::records::holdings::HOLDINGS_RECORD;
use crate::records::instances::INSTANCE;
use crate::records::items::ITEM;
use carrel_records::RecordType;

/// A row of a changed instance: id, source, date, suppressed, deleted.
pub const ID_COLUMNS: [Column; 5] = [
    Column("instanceId", 0, Kind::Id),
    Column("source", 1, Kind::Text),
    Column("updatedDate", 2, Kind::Instant),
    Column("suppressFromDiscovery", 3, Kind::Truth),
    Column("deleted", 4, Kind::Truth),
];

/// The columns that a harvest selects.
pub struct Parts {
    /// Columns of an existing `instance` and of the date of its change, `changed`.
    pub present: String,
    /// Columns of a deleted instance, from `deletion`.
    pub gone: &'static str,
}

/// Ids of changed instances with their properties.
pub fn ids() -> Parts {
    Parts {
        present: format!(
            "instance.id, instance.doc->>'source', found.changed, {}, false",
            suppressed("instance")
        ),
        gone: "deletion.instance_id, deletion.source, deletion.deleted, false, true",
    }
}

impl Parts {
    /// The statement.
    pub fn joined(&self, only_titles: bool, with_deleted: bool) -> String {
        let within = "BETWEEN $1::timestamptz AND $2::timestamptz";
        let [of_title, of_holdings, of_item] = [&INSTANCE, &HOLDINGS_RECORD, &ITEM].map(updated_date);
        let found = if only_titles {
            format!(
                "instance CROSS JOIN LATERAL (SELECT {of_title} AS changed) found WHERE {of_title} {within}"
            )
        } else {
            format!(
                "(SELECT touched.instance_id, max(touched.changed) AS changed FROM (
                     SELECT instance.id AS instance_id, {of_title} AS changed
                     FROM instance WHERE {of_title} {within}
                     UNION ALL SELECT holdings_record.instance_id, {of_holdings}
                     FROM holdings_record WHERE {of_holdings} {within}
                     UNION ALL SELECT holdings_record.instance_id, {of_item}
                     FROM item JOIN holdings_record ON holdings_record.id = item.holdings_record_id
                     WHERE {of_item} {within}
                     UNION ALL SELECT deletion.instance_id, deletion.deleted
                     FROM deletion WHERE deletion.kind IN ('holdings_record', 'item') AND deletion.deleted {within}
                 ) touched GROUP BY touched.instance_id) found
                 JOIN instance ON instance.id = found.instance_id WHERE true"
            )
        };
        let mut sql = format!(
            "SELECT {} FROM {found} AND ($4::text IS NULL OR instance.doc->>'source' = $4)
                 AND NOT ($3::boolean AND {})",
            self.present,
            suppressed("instance"),
        );
        if with_deleted {
            // An instance that was created again with its id is reported as existing.
            sql.push_str(&format!(
                "
                 UNION ALL SELECT {} FROM deletion
                 WHERE deletion.kind = 'instance' AND deletion.deleted {within}
                     AND ($4::text IS NULL OR deletion.source = $4)
                     AND NOT EXISTS (SELECT 1 FROM instance again WHERE again.id = deletion.id)",
                self.gone
            ));
        }
        sql
    }
}

/// Whether a record is suppressed from discovery.
pub fn suppressed(table: &str) -> String {
    format!("coalesce(({table}.doc->>'discoverySuppress')::boolean, false)")
}

/// The expression of the index on a record's last change.
fn updated_date(record: &RecordType) -> String {
    let field = record.fields.iter().find(|field| field.name == "metadata.updatedDate");
    carrel_cql::sql::expression(
        field.expect("harvested records are found by their last change"),
        record.table,
    )
}
