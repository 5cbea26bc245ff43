//! The SQL of a query: the matching records, and their fields. Only required tables are joined.

use crate::entity_types::declaration::Join;
use crate::entity_types::{Column, EntityType};
use carrel_fql::select::{Argument, build};
use carrel_fql::{Query, QueryError, Source};
use carrel_platform::Bind;
use std::collections::BTreeSet;

/// A statement with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub sql: String,
    pub binds: Vec<Bind>,
}

/// The identifiers of the matching records, one uuid column for each part of an identifier, in the type's order.
pub fn identifiers(
    entity_type: &EntityType,
    query: &Query,
    limit: Option<i64>,
) -> Result<Statement, Vec<QueryError>> {
    let built = build(query, entity_type)?;
    let ids: Vec<String> = entity_type.id_columns().map(id_sql).collect();
    let mut used = BTreeSet::new();
    for condition in &query.conditions {
        used.extend(tables_of(entity_type, &condition.field));
    }
    let (from, ids) = match state_alone(entity_type, &used, &ids) {
        Some(alone) => alone,
        None => {
            used.extend(entity_type.id_columns().flat_map(|column| column.tables.iter().copied()));
            (from(entity_type, used), ids)
        }
    };
    let order: Vec<String> = (1..=ids.len()).map(|number| number.to_string()).collect();
    let mut sql =
        format!("SELECT {} FROM {from} WHERE {} ORDER BY {}", ids.join(", "), built.sql(), order.join(", "));
    let mut binds: Vec<Bind> = built.arguments.into_iter().map(bind).collect();
    if let Some(limit) = limit {
        binds.push(limit.into());
        sql.push_str(&format!(" LIMIT ${}::bigint", binds.len()));
    }
    Ok(Statement { sql, binds })
}

/// Fields of the records with these identifiers, in their order: first whether the record exists, then a text for each
/// column. The identifiers are bound as arrays of uuid, one for each part.
pub fn contents(entity_type: &EntityType, columns: &[&Column]) -> String {
    let mut used: BTreeSet<usize> = columns.iter().flat_map(|column| column.tables.iter().copied()).collect();
    used.extend(entity_type.id_columns().flat_map(|column| column.tables.iter().copied()));
    used.insert(0);
    let needed = closure(entity_type, used);
    let ids: Vec<String> = entity_type.id_columns().map(id_sql).collect();
    let mut keys: Vec<(usize, String)> = Vec::new();
    for (index, column) in entity_type.id_columns().enumerate() {
        keys.push((column.tables[0], format!("{} = k.id{}", ids[index], index + 1)));
    }
    // If the first table has no part of the identifier, a join equates one of its columns with a part.
    if !keys.iter().any(|(table, _)| *table == 0) {
        let equal = entity_type.tables.iter().find_map(|table| {
            let (left, right) = table.join.as_ref()?.1.split_once(" = ")?;
            let part = ids.iter().position(|id| id == right)?;
            Some(format!("{left} = k.id{}", part + 1))
        });
        keys.push((0, equal.expect("an identifier is joined to the first table")));
    }
    // All are left joins, in the order in which they refer to each other: the planner starts with the few identifiers
    // and finds their records by index.
    let mut from = String::new();
    let mut present: Vec<String> = Vec::new();
    for index in needed {
        let table = &entity_type.tables[index];
        let mut on: Vec<String> =
            keys.iter().filter(|(of, _)| *of == index).map(|(_, key)| key.clone()).collect();
        if let Some((kind, condition)) = &table.join {
            on.insert(0, condition.clone());
            if *kind == Join::Inner {
                present.push(format!("{}.id IS NOT NULL", table.alias));
            }
        } else {
            present.push(format!("{}.id IS NOT NULL", table.alias));
        }
        from.push_str(&format!(" LEFT JOIN {} AS {} ON {}", table.table, table.alias, on.join(" AND ")));
    }
    let parameters: Vec<String> = (1..=ids.len()).map(|number| format!("${number}::uuid[]")).collect();
    let names: Vec<String> = (1..=ids.len()).map(|number| format!("id{number}")).collect();
    let values: String = columns.iter().map(|column| format!(", {}", column.shown.sql())).collect();
    format!(
        "SELECT ({}){values} FROM unnest({}) WITH ORDINALITY AS k({}, n){from} ORDER BY k.n",
        present.join(" AND "),
        parameters.join(", "),
        names.join(", "),
    )
}

/// The conditions of a query that no index serves, as table and field.
pub fn without_index(
    entity_type: &EntityType,
    query: &Query,
    is_indexed: &dyn Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let fields = query.conditions.iter().map(|condition| condition.field.as_str());
    fields
        .filter(|field| !is_indexed(field))
        .filter_map(|field| Some((entity_type.compared_column(field)?, field)))
        .map(|(column, field)| (column.record_table.to_owned(), field.to_owned()))
        .collect()
}

fn bind(argument: Argument) -> Bind {
    match argument {
        Argument::Text(text) => Bind::Text(text),
        Argument::Texts(texts) => Bind::Texts(texts),
    }
}

fn id_sql(column: &Column) -> String {
    match &column.field.source {
        Source::Uuid(sql) => sql.clone(),
        other => unreachable!("the identifier {} is no uuid: {other:?}", column.name),
    }
}

fn tables_of<'a>(entity_type: &'a EntityType, field: &str) -> impl Iterator<Item = usize> + 'a {
    entity_type.compared_column(field).into_iter().flat_map(|column| column.tables.iter().copied())
}

/// Conditions on the narrow table alone need only that table: it has a row for each record, with the record's key.
fn state_alone(
    entity_type: &EntityType,
    used: &BTreeSet<usize>,
    ids: &[String],
) -> Option<(String, Vec<String>)> {
    let [index] = used.iter().copied().collect::<Vec<_>>()[..] else { return None };
    let table = &entity_type.tables[index];
    let (Join::One, on) = table.join.as_ref()? else { return None };
    let (own, other) = on.split_once(" = ")?;
    let others_count = entity_type.tables.iter().any(|table| matches!(table.join, Some((Join::Inner, _))));
    (ids == [other] && !others_count)
        .then(|| (format!("{} AS {}", table.table, table.alias), vec![own.to_owned()]))
}

fn from(entity_type: &EntityType, mut used: BTreeSet<usize>) -> String {
    used.insert(0);
    for (index, table) in entity_type.tables.iter().enumerate() {
        if matches!(table.join, Some((Join::Inner, _))) {
            used.insert(index);
        }
    }
    let mut sql = String::new();
    for index in closure(entity_type, used) {
        let table = &entity_type.tables[index];
        match &table.join {
            None => sql.push_str(&format!("{} AS {}", table.table, table.alias)),
            Some((kind, on)) => {
                let kind = match kind {
                    Join::One | Join::Inner => "JOIN",
                    Join::Left => "LEFT JOIN",
                };
                sql.push_str(&format!(" {kind} {} AS {} ON {on}", table.table, table.alias));
            }
        }
    }
    sql
}

/// The tables with all those that their joins refer to, in order.
fn closure(entity_type: &EntityType, used: BTreeSet<usize>) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    let mut waiting: Vec<usize> = used.into_iter().collect();
    while let Some(index) = waiting.pop() {
        if all.insert(index) {
            waiting.extend(&entity_type.tables[index].needs);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity_types::declaration::DECLARATIONS;

    fn sql(name: &str, fql: &str) -> String {
        let entity_type = EntityType::of(&DECLARATIONS[name], &[]);
        let query = Query::parse(fql).expect("well formed");
        identifiers(&entity_type, &query, None).expect("the fields are there").sql
    }

    #[test]
    fn a_condition_on_the_status_reads_the_narrow_table_alone() {
        assert_eq!(
            sql("composite_item_details", r#"{"items.status_name":{"$ne":"Available"}}"#),
            "SELECT \"items__s\".item_id FROM item_state AS \"items__s\" WHERE \
             (left(carrel.f_lower((\"items__s\".status)), 600) COLLATE \"C\" <> left(carrel.f_lower($1::text), 600)) \
             ORDER BY 1"
        );
    }

    #[test]
    fn only_what_a_condition_needs_is_joined() {
        let sql = sql("composite_item_details", r#"{"instances.title":{"$starts_with":"a"}}"#);
        assert!(
            sql.starts_with(
                "SELECT \"items\".id FROM item AS \"items\" LEFT JOIN holdings_record AS \"holdings\" ON \
                 \"items\".holdings_record_id = \"holdings\".id LEFT JOIN instance AS \"instances\" ON \
                 \"holdings\".instance_id = \"instances\".id WHERE"
            ),
            "{sql}"
        );
    }

    #[test]
    fn an_inner_part_is_always_joined() {
        let sql = sql("composite_users_with_fees_fines_accounts_loans", "{}");
        assert_eq!(
            sql,
            "SELECT \"users\".id, \"account\".id FROM accounts AS \"account\" JOIN users AS \"users\" ON \
             \"account\".user_id = \"users\".id WHERE TRUE ORDER BY 1, 2"
        );
    }

    #[test]
    fn contents_are_read_from_the_identifiers_on() {
        for declaration in DECLARATIONS.values() {
            let entity_type = EntityType::of(declaration, &[]);
            let columns: Vec<&Column> = entity_type.columns.iter().collect();
            let sql = contents(&entity_type, &columns);
            assert!(sql.contains("FROM unnest($1::uuid[]"), "{sql}");
        }
    }
}
