//! Which fields have an index. A query of others scans: that is admitted for every field, as lists are read in the
//! background, and shown by the report of missing indexes.

use super::select::without_index;
use crate::entity_types::{Column, EntityType};
use carrel_fql::{Kind, Query, Source};
use carrel_platform::Node;
use carrel_platform::record_store::missing_index;
use carrel_records::{Index, RecordType};

/// Reports a query of which no condition has an index.
pub fn report(node: &Node, entity_type: &EntityType, query: &Query) {
    let is_indexed = |column: &Column| is_indexed(&node.records, entity_type, column);
    let scanned = without_index(entity_type, query, &is_indexed);
    if scanned.len() == query.conditions.len() {
        for (table, field) in scanned {
            missing_index::saw(&table, &field, "in a list");
        }
    }
}

/// Whether an index stands behind a column: the record's declaration makes it from the same expression.
pub fn is_indexed(records: &[&'static RecordType], entity_type: &EntityType, column: &Column) -> bool {
    let Some(table) = column.tables.first().map(|index| &entity_type.tables[*index]) else { return false };
    let Some(record) = records.iter().find(|record| record.table == table.table) else {
        // The narrow table of items' states has an index on the status.
        return table.table == "item_state" && column.name.ends_with("status_name");
    };
    let field = &column.field;
    let key = match &field.source {
        Source::Uuid(sql) => {
            let own = sql.strip_prefix(&format!("{}.", table.alias)).unwrap_or_default();
            let refers =
                |reference: &&carrel_records::ForeignKey| carrel_records::column_name(reference.field) == own;
            return own == "id" || record.belongs_to.iter().any(|reference| refers(&reference));
        }
        Source::Elements { array, keys } => {
            format!("{}({})", field.fold.function(), Source::elements(array, keys))
        }
        Source::Text(_) if field.default.is_some() => return false,
        Source::Text(text) => match field.kind {
            Kind::Text | Kind::Uuid => Source::key(text, field.fold),
            Kind::Number => format!("carrel.number({text})"),
            Kind::DateTime => format!("carrel.instant({text})"),
            Kind::Boolean | Kind::Date => format!("{text} COLLATE \"C\""),
        },
    };
    let has_value = |index| matches!(index, Index::Value | Index::ValueAndWords);
    let mut fields = record.fields.iter().filter(|field| has_value(field.index));
    fields.any(|field| carrel_cql::sql::expression(field, &table.alias) == key)
}
