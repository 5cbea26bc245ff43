//! Records of an entity type by their identifiers, with chosen fields.

use super::select;
use crate::entity_types::declaration::DataType;
use crate::entity_types::entity_type::{Property, Shown};
use crate::entity_types::{Column, EntityType};
use carrel_platform::{Bind, Connection, Tenant};
use carrel_records::{Failure, names, time};
use jiff::tz::TimeZone;
use serde_json::Value;
use std::sync::Arc;
use tokio_postgres::Row;
use uuid::Uuid;

/// Reads records of one type with the same fields each time.
pub struct Records {
    pub entity_type: Arc<EntityType>,
    /// Indexes of the columns, in the order in which they are shown.
    columns: Vec<usize>,
    sql: String,
    /// Times are shown as days in this zone.
    zone: Option<TimeZone>,
}

/// A record with a text for each column, or a deleted record.
pub enum Record {
    Gone,
    Values(Vec<Option<String>>),
}

impl Records {
    /// Reads the given fields that the type has, in the given order, and the identifier; without fields, all of them.
    pub fn new(entity_type: Arc<EntityType>, fields: &[String]) -> Records {
        let index = |name: &str| entity_type.columns.iter().position(|column| column.name == name);
        let mut columns: Vec<usize> = Vec::new();
        for field in fields {
            if let Some(index) = index(field)
                && !columns.contains(&index)
            {
                columns.push(index);
            }
        }
        if fields.is_empty() {
            columns = (0..entity_type.columns.len()).collect();
        }
        for (index, column) in entity_type.columns.iter().enumerate() {
            if column.flags.is_id && !columns.contains(&index) {
                columns.push(index);
            }
        }
        let chosen: Vec<&Column> = columns.iter().map(|index| &entity_type.columns[*index]).collect();
        let sql = select::contents(&entity_type, &chosen);
        Records { entity_type, columns, sql, zone: None }
    }

    /// Columns in the order of the type, as in a file.
    pub fn in_order_of_type(mut self) -> Records {
        self.columns.sort_unstable();
        let chosen: Vec<&Column> = self.columns().collect();
        self.sql = select::contents(&self.entity_type, &chosen);
        self
    }

    /// Shows times as days in the zone.
    pub fn with_days_of(mut self, zone: TimeZone) -> Records {
        self.zone = Some(zone);
        self
    }

    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().map(|index| &self.entity_type.columns[*index])
    }

    pub fn width(&self) -> usize {
        self.entity_type.id_columns().count()
    }

    /// The records with these concatenated identifiers, in the same order.
    pub async fn read(&self, connection: &Connection, ids: &[Uuid]) -> Result<Vec<Record>, Failure> {
        let width = self.width();
        let binds: Vec<Bind> = (0..width)
            .map(|part| Bind::Uuids(ids.iter().skip(part).step_by(width).copied().collect()))
            .collect();
        let rows = run(connection, &self.sql, &binds).await?;
        Ok(rows.iter().map(|row| self.record(row)).collect())
    }

    fn record(&self, row: &Row) -> Record {
        if !row.get::<_, Option<bool>>(0).unwrap_or(false) {
            return Record::Gone;
        }
        let values = self.columns().enumerate().map(|(index, column)| {
            let value: Option<String> = row.get(index + 1);
            let value = value.or_else(|| column.field.default.clone());
            match (&self.zone, &column.data_type) {
                (Some(zone), DataType::DateTime) => value.map(|text| day_of(&text, zone)),
                _ => value.map(|text| with_names(text, column)),
            }
        });
        Record::Values(values.collect())
    }

    /// A record as a JSON object; for a deleted one only its identifier.
    pub fn write_json(&self, record: &Record, id: &[Uuid], out: &mut String) {
        match record {
            Record::Gone => {
                out.push_str("{\"_deleted\":true");
                for (column, id) in self.entity_type.id_columns().zip(id) {
                    out.push(',');
                    write_text(&column.name, out);
                    out.push_str(&format!(":\"{id}\""));
                }
            }
            Record::Values(values) => {
                out.push('{');
                for (index, (column, value)) in self.columns().zip(values).enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_text(&column.name, out);
                    out.push(':');
                    match (value, &column.shown) {
                        (None, _) => out.push_str("null"),
                        (Some(value), Shown::Array(_)) => out.push_str(value),
                        (Some(value), Shown::Number(_)) if is_number(value) => out.push_str(value),
                        (Some(value), _) => write_text(value, out),
                    }
                }
            }
        }
        out.push('}');
    }

    /// The records with these identifiers as a JSON array.
    pub async fn read_json(&self, connection: &Connection, ids: &[Uuid]) -> Result<String, Failure> {
        let records = self.read(connection, ids).await?;
        let width = self.width();
        let mut out = String::from("[");
        for (index, record) in records.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            self.write_json(record, &ids[index * width..(index + 1) * width], &mut out);
        }
        out.push(']');
        Ok(out)
    }
}

fn is_number(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_number())
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("a text is JSON"));
}

/// The value with names in place of codes of languages and countries.
fn with_names(text: String, column: &Column) -> String {
    if column.options.get("valuesFrom") == Some("built-in:languages") {
        let Ok(Value::Array(codes)) = serde_json::from_str::<Value>(&text) else { return text };
        let name = |code: &Value| match code.as_str().and_then(names::language) {
            Some(name) => Value::from(name),
            None => code.clone(),
        };
        return codes.iter().map(name).collect::<Value>().to_string();
    }
    let of_countries =
        |property: &&Property| property.declaration.options.get("valuesFrom") == Some("built-in:countries");
    let Some(property) = column.properties.iter().find(of_countries) else { return text };
    let Ok(Value::Array(mut elements)) = serde_json::from_str::<Value>(&text) else { return text };
    let key = property.declaration.keys[0];
    for element in elements.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(code) = element.get_mut(key)
            && let Some(name) = code.as_str().and_then(names::country)
        {
            *code = name.into();
        }
    }
    Value::Array(elements).to_string()
}

/// The day of an instant in a zone; other texts are returned unchanged.
fn day_of(text: &str, zone: &TimeZone) -> String {
    match time::parse(text) {
        Some(instant) => instant.to_zoned(zone.clone()).date().to_string(),
        None => text.to_owned(),
    }
}

/// Runs a statement; invalid values are reported as errors of the client.
pub async fn run(connection: &Connection, sql: &str, binds: &[Bind]) -> Result<Vec<Row>, Failure> {
    connection.query(sql.to_owned(), binds.to_vec()).await.map_err(Failure::from)
}

/// The tenant's time zone.
pub async fn zone_of(tenant: &Tenant) -> Result<TimeZone, Failure> {
    let connection = tenant.reader().await?;
    let rows = run(&connection, "SELECT doc->>'timezone' FROM locale LIMIT 1", &[]).await?;
    let name: Option<String> = rows.first().and_then(|row| row.get(0));
    Ok(name.and_then(|name| TimeZone::get(&name).ok()).unwrap_or(TimeZone::UTC))
}
