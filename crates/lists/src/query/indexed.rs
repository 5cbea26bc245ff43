//! Which fields have an index. A query of others scans: that is admitted for the fields that `entity-types/scans.tsv`
//! names, as lists are read in the background, and shown by the report of missing indexes.

use super::select::{self, Statement, without_index};
use crate::entity_types::EntityType;
use crate::entity_types::declaration::DECLARATIONS;
use carrel_fql::path::FieldPath;
use carrel_fql::{Condition, Field, Fields, Kind, Operand, Operator, Query, Scalar, Source};
use carrel_platform::Node;
use carrel_records::{ForeignKey, Index, RecordType, ReferenceIndex};
use std::collections::HashSet;

/// Reports a query without an indexed condition.
pub fn report(node: &Node, entity_type: &EntityType, query: &Query) {
    let scanned = without_index(entity_type, query, &|field| is_indexed(&node.records, entity_type, field));
    if scanned.len() == query.conditions.len() {
        for (table, field) in scanned {
            node.records.missing_indexes.saw(&table, &field, "in a list");
        }
    }
}

/// Whether an index stands behind a field, which may be a property of the objects in an array: the record's declaration
/// makes it from the same expression.
pub fn is_indexed(records: &[&'static RecordType], entity_type: &EntityType, name: &str) -> bool {
    let (Some(column), Ok(field)) = (entity_type.compared_column(name), entity_type.find(name)) else {
        return false;
    };
    let Some(table) = column.tables.first().map(|index| &entity_type.tables[*index]) else { return false };
    // The narrow table of items' states is no record: it is scanned, since an index on the status would slow down scans at
    // the desk.
    let Some(record) = records.iter().find(|record| record.table == table.table) else { return false };
    let Some(key) = key(&field, &table.alias, record) else { return true };
    let has_value = |index| matches!(index, Index::Value | Index::ValueAndWords);
    let mut fields = record.fields.iter().filter(|field| has_value(field.index));
    field.default.is_none() && fields.any(|field| carrel_cql::sql::expression(field, &table.alias) == key)
}

/// The expression of an index behind the field; none where a column of its own has one, an empty text where none can.
fn key(field: &Field, alias: &str, record: &RecordType) -> Option<String> {
    Some(match &field.source {
        Source::Uuid(sql) => {
            let own = sql.strip_prefix(&format!("{alias}.")).unwrap_or_default();
            let indexed = |reference: &&ForeignKey| reference.index != ReferenceIndex::Missing;
            let mut references = record.belongs_to.iter().filter(indexed);
            let is_column = own == "id"
                || references.any(|reference| carrel_records::column_name(reference.field) == own);
            return if is_column { None } else { Some(String::new()) };
        }
        Source::Elements { array, keys } => {
            format!("{}({})", field.fold.function(), Source::elements(array, keys))
        }
        Source::Text(text) => match field.kind {
            Kind::Text | Kind::Uuid => Source::key(text, field.fold),
            Kind::Number => format!("carrel.number({text})"),
            Kind::DateTime => format!("carrel.instant({text})"),
            Kind::Boolean | Kind::Date => format!("{text} COLLATE \"C\""),
        },
    })
}

/// How a query for one value of a field finds its records.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldPlan {
    pub entity_type: String,
    pub field: String,
    /// Not a composite type, whose fields are those of its parts.
    pub is_simple: bool,
    pub is_indexed: bool,
    /// A scan of it is admitted.
    pub may_scan: bool,
    /// What the report of missing indexes says of the query: table and field.
    pub reported: Vec<(String, String)>,
    pub statement: Statement,
}

/// The plans of all fields of all declared types, properties of objects among them.
pub fn field_plans(records: &[&'static RecordType]) -> Vec<FieldPlan> {
    let scans: HashSet<&str> = include_str!("../../entity-types/scans.tsv").lines().collect();
    let mut all = Vec::new();
    for declaration in DECLARATIONS.values() {
        let entity_type = EntityType::of(declaration, &[]);
        let names = entity_type.columns.iter().flat_map(|column| {
            let property = |name: &str| format!("{}[*]->{name}", column.name);
            let properties = column.properties.iter().map(move |one| property(one.declaration.name));
            std::iter::once(column.name.clone()).chain(properties)
        });
        for field in names {
            all.extend(field_plan(records, &entity_type, field, &scans));
        }
    }
    all.sort_by(|a, b| (&a.entity_type, &a.field).cmp(&(&b.entity_type, &b.field)));
    all
}

fn field_plan(
    records: &[&'static RecordType],
    entity_type: &EntityType,
    name: String,
    scans: &HashSet<&str>,
) -> Option<FieldPlan> {
    let field = entity_type.find(&name).ok()?;
    let value = match field.kind {
        Kind::Text => "value",
        Kind::Uuid => "d0213d22-32cf-490f-9196-d81c3c66e53f",
        Kind::Number => "5",
        Kind::Boolean => "true",
        Kind::Date | Kind::DateTime => "2026-01-01",
    };
    let operand = Operand::One(Scalar::Text(value.to_owned()));
    let condition = Condition { field: name.clone(), operator: Operator::Eq, operand };
    let query = Query { version: super::migrate::VERSION.to_owned(), conditions: vec![condition] };
    let statement = select::identifiers(entity_type, &query, None).ok()?;
    let is_indexed = |name: &str| is_indexed(records, entity_type, name);
    let column = entity_type.column(FieldPath::parse(&name)?.column)?;
    let (of_type, own) = column.origin;
    let rest = &name[column.name.len()..];
    Some(FieldPlan {
        entity_type: entity_type.declaration.name.to_string(),
        is_simple: entity_type.declaration.parts.is_empty(),
        is_indexed: is_indexed(&name),
        may_scan: scans.contains(format!("{of_type}\t{own}{rest}").as_str()),
        reported: without_index(entity_type, &query, &is_indexed),
        statement,
        field: name,
    })
}
