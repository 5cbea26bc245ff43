//! The values that a field can have, for pickers.

use super::declaration::{DECLARATIONS, DataType, Options};
use super::entity_type::{EntityType, Shown};
use super::view::fixed_values;
use super::{Column, catalog};
use crate::query::rows::run;
use carrel_fql::Source;
use carrel_fql::path::{FieldPath, Step};
use carrel_platform::{Bind, Tenant};
use carrel_records::{Failure, RecordType, names};

/// Values of one answer, at most.
const MOST: i64 = 1_000;

/// Value and label of each, by label; only those whose label contains the text. `None` if there is no such field.
pub async fn of_field(
    tenant: &Tenant,
    records: &[&'static RecordType],
    entity_type: &EntityType,
    name: &str,
    search: &str,
) -> Result<Option<Vec<(String, String)>>, Failure> {
    let Some(path) = FieldPath::parse(name) else { return Ok(None) };
    let Some(column) = entity_type.column(path.column) else { return Ok(None) };
    let (options, data_type) = match path.steps[..] {
        [] => (&column.options, &column.data_type),
        [Step::Each, Step::Property(property)] => {
            let property = column.properties.iter().find(|other| other.declaration.name == property);
            let Some(property) = property else { return Ok(None) };
            (&property.declaration.options, &property.declaration.data_type)
        }
        _ => return Ok(None),
    };
    let all = match &column.custom_values {
        Some(values) => values.clone(),
        None => declared(tenant, records, column, options, data_type, search).await?,
    };
    let wanted = search.to_lowercase();
    let mut found: Vec<_> =
        all.into_iter().filter(|(_, label)| label.to_lowercase().contains(&wanted)).collect();
    found.sort_by_cached_key(|(_, label)| label.to_lowercase());
    found.dedup();
    found.truncate(MOST as usize);
    Ok(Some(found))
}

async fn declared(
    tenant: &Tenant,
    records: &[&'static RecordType],
    column: &Column,
    options: &Options,
    data_type: &DataType,
    search: &str,
) -> Result<Vec<(String, String)>, Failure> {
    if let Some(values) = options.get("values") {
        return Ok(fixed_values(values).map(|(value, label)| (value.to_owned(), label.to_owned())).collect());
    }
    if let Some(from) = options.get("valuesFrom") {
        return match from.split_once('.').and_then(|(of, column)| Some((DECLARATIONS.get(of)?, column))) {
            Some((declaration, column)) => {
                let other = catalog::of_declaration(tenant, declaration).await?;
                match other.column(column).filter(|column| column.options.get("valuesApi").is_some()) {
                    Some(column) => {
                        Box::pin(declared(
                            tenant,
                            records,
                            column,
                            &column.options,
                            &column.data_type,
                            search,
                        ))
                        .await
                    }
                    None => of_entity_type(tenant, &other, column, search).await,
                }
            }
            None if from == "built-in:languages" => Ok(languages(present(tenant, column, "").await?)),
            None if from == "built-in:countries" => {
                Ok(names::countries().map(|(code, name)| (code.to_owned(), name.to_owned())).collect())
            }
            None => Ok(Vec::new()),
        };
    }
    if let Some(api) = options.get("valuesApi") {
        let cells: Vec<&str> = api.split('>').collect();
        let path = format!("/{}", cells[0]);
        let record = records.iter().find(|record| record.path == path);
        return match (record, &cells[2..]) {
            (Some(record), [value, label]) => of_records(tenant, record.table, value, label, search).await,
            _ => present(tenant, column, search).await,
        };
    }
    if *data_type == DataType::Boolean {
        return Ok(vec![("true".into(), "True".into()), ("false".into(), "False".into())]);
    }
    present(tenant, column, search).await
}

/// The languages that records have, by name; where several codes have one name, with the code.
fn languages(codes: Vec<(String, String)>) -> Vec<(String, String)> {
    let name = |code: &str| names::language(code).unwrap_or(code).to_owned();
    let named: Vec<(String, String)> = codes.into_iter().map(|(code, _)| (name(&code), code)).collect();
    let is_ambiguous = |name: &str| named.iter().filter(|(other, _)| other == name).count() > 1;
    let label = |name: &str, code: &str| match is_ambiguous(name) {
        true => format!("{name} [{code}]"),
        false => name.to_owned(),
    };
    named.iter().map(|(name, code)| (code.clone(), label(name, code))).collect()
}

/// Ids and names of the records of another type.
async fn of_entity_type(
    tenant: &Tenant,
    entity_type: &EntityType,
    column: &str,
    search: &str,
) -> Result<Vec<(String, String)>, Failure> {
    let Some(label) = entity_type.column(column) else { return Ok(Vec::new()) };
    let id = entity_type.id_columns().next().map(|column| column.shown.sql()).unwrap_or_default();
    let table = &entity_type.tables[0];
    let sql = format!(
        "SELECT {id}, {label} FROM {} AS {} WHERE {label} ILIKE $1::text ORDER BY 2 LIMIT {MOST}",
        table.table,
        table.alias,
        label = label.shown.sql(),
    );
    pairs(tenant, &sql, search).await
}

async fn of_records(
    tenant: &Tenant,
    table: &str,
    value: &str,
    label: &str,
    search: &str,
) -> Result<Vec<(String, String)>, Failure> {
    let at = |name: &str| match name {
        "id" => "t.id::text".to_owned(),
        name => format!("(t.doc->>{})", carrel_fql::field::literal(name)),
    };
    let (value, label) = (at(value), at(label));
    let sql = format!(
        "SELECT DISTINCT {value}, {label} FROM {table} t WHERE {label} ILIKE $1::text ORDER BY 2 LIMIT {MOST}"
    );
    pairs(tenant, &sql, search).await
}

/// The values that records have, if the field belongs to one table and declares no list of values.
async fn present(tenant: &Tenant, column: &Column, search: &str) -> Result<Vec<(String, String)>, Failure> {
    let sql = match (&column.field.source, &column.shown) {
        (Source::Elements { array, keys }, _) => {
            let elements = Source::elements(array, keys);
            format!(
                "SELECT DISTINCT v, v FROM {} AS {}, unnest({elements}) AS e(v) WHERE v ILIKE $1::text LIMIT {MOST}",
                column.record_table,
                alias_of(array)
            )
        }
        (Source::Text(text), Shown::Text(_) | Shown::Number(_)) if alias_of(text).ends_with('"') => format!(
            "SELECT DISTINCT {text}, {text} FROM {} AS {} WHERE {text} ILIKE $1::text LIMIT {MOST}",
            column.record_table,
            alias_of(text)
        ),
        _ => return Ok(Vec::new()),
    };
    // There is no such list for an expression over another table than the record's.
    if sql.contains("__") {
        return Ok(Vec::new());
    }
    pairs(tenant, &sql, search).await
}

/// The first quoted name of an expression.
fn alias_of(sql: &str) -> String {
    let name = sql.split('"').nth(1).unwrap_or_default();
    format!("\"{name}\"")
}

async fn pairs(tenant: &Tenant, sql: &str, search: &str) -> Result<Vec<(String, String)>, Failure> {
    let escaped = search.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    let connection = tenant.reader().await?;
    let rows = run(&connection, sql, &[Bind::Text(format!("%{escaped}%"))]).await?;
    Ok(rows
        .iter()
        .filter_map(|row| Some((row.get::<_, Option<String>>(0)?, row.get::<_, Option<String>>(1)?)))
        .collect())
}
