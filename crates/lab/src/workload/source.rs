//! The rows of a tenant's variables, from the API or from files.

use super::check::find;
use super::{Source, Workload};
use crate::cico::{TestData, TestDataFiles};
use crate::client::{Connection, Session};
use crate::error::{Context, LabError, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

const PAGE: usize = 1000;

/// Maximum number of records used.
#[derive(Debug, Clone, Copy)]
pub struct Most {
    /// Items, at most.
    pub items: usize,
    /// Users and other records, at most.
    pub users: usize,
}

/// The rows of a workload's variables, and the barcodes of the items that were lent for it.
pub struct Rows {
    /// By variable.
    pub by_variable: BTreeMap<String, Vec<String>>,
    /// The service point and the items that are to be checked in after the level.
    pub lent: Option<(String, Vec<String>)>,
}

/// Reads the rows; items are lent where the workload checks in items that are on loan.
pub async fn read(
    workload: &Workload,
    connection: &mut Connection,
    session: &Session,
    most: Most,
) -> Result<Rows> {
    let has = |wanted: &[Source]| workload.data.values().any(|source| wanted.contains(source));
    let mut rows = Rows { by_variable: BTreeMap::new(), lent: None };
    let mut scans = None;
    if has(&[Source::Users, Source::AvailableItems, Source::LentItems, Source::ServicePoints]) {
        let (items, users) = if has(&[Source::AvailableItems, Source::LentItems]) {
            // The other half of a small library is for the workloads that run concurrently.
            let all = session.get(connection, "/item-storage/items?limit=0").await?;
            let half = all["totalRecords"].as_u64().unwrap_or(0) as usize / 2;
            (most.items.min(half.max(20)), most.users)
        } else {
            (1, most.users)
        };
        scans = Some(TestData::find(connection, session, &TestDataFiles::default(), items, users).await?);
    }
    if let Some(scans) = &mut scans {
        let mut lent = Vec::new();
        if has(&[Source::LentItems]) {
            lent = scans.lend(connection, session).await?;
        }
        if has(&[Source::AvailableItems, Source::LentItems]) {
            rows.lent = Some((scans.service_point.clone(), lent));
        }
    }
    let mut pages: BTreeMap<(&str, u64), Vec<Value>> = BTreeMap::new();
    for (variable, source) in &workload.data {
        let scan = || scans.as_ref().expect("it was read for these sources");
        let values = match source {
            Source::Users => scan().users.clone(),
            Source::AvailableItems => scan().items.clone(),
            Source::LentItems => rows.lent.as_ref().map(|(_, lent)| lent.clone()).unwrap_or_default(),
            Source::ServicePoints => vec![scan().service_point.clone()],
            Source::Values(values) => values.clone(),
            Source::File { file, column } => {
                let text = std::fs::read_to_string(file).context(format!("reading {}", file.display()))?;
                column_of(&text, *column)
            }
            Source::Records { path, key, field, from } => {
                // Variables of the same collection come from the same record in each turn.
                let place = (path.as_str(), from.to_bits());
                if let Entry::Vacant(vacant) = pages.entry(place) {
                    vacant.insert(records(connection, session, path, key, *from, most).await?);
                }
                let text = |record: &Value| match find(record, field, &mut |_| 0) {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                pages[&place].iter().map(text).collect()
            }
        };
        if values.is_empty() {
            return Err(LabError::new(format!("there are no rows for {variable}; load a data set first")));
        }
        rows.by_variable.insert(variable.clone(), values);
    }
    Ok(rows)
}

async fn records(
    connection: &mut Connection,
    session: &Session,
    path: &str,
    key: &str,
    from: f64,
    most: Most,
) -> Result<Vec<Value>> {
    let path = super::template::target(path, &BTreeMap::new());
    let joint = if path.contains('?') { '&' } else { '?' };
    let total = session.get(connection, &format!("{path}{joint}limit=0")).await?;
    let total = total["totalRecords"].as_u64().unwrap_or(0) as usize;
    let start = (total as f64 * from) as usize;
    let mut found = Vec::new();
    while found.len() < most.users {
        let offset = start + found.len();
        let page = session.get(connection, &format!("{path}{joint}limit={PAGE}&offset={offset}")).await?;
        let records = page[key].as_array().map(Vec::as_slice).unwrap_or_default();
        found.extend(records.iter().cloned());
        if records.len() < PAGE {
            break;
        }
    }
    found.truncate(most.users);
    Ok(found)
}

/// A column of a CSV file without quotes, blank lines and a heading.
fn column_of(text: &str, column: usize) -> Vec<String> {
    let cell =
        |line: &str| line.split(',').nth(column - 1).unwrap_or("").trim().trim_matches('"').to_string();
    let is_heading = |cell: &String| !cell.bytes().any(|byte| byte.is_ascii_digit());
    let mut cells: Vec<String> =
        text.trim_start_matches('\u{feff}').lines().map(cell).filter(|cell| !cell.is_empty()).collect();
    if cells.len() > 1 && is_heading(&cells[0]) && !is_heading(&cells[1]) {
        cells.remove(0);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_a_file_is_taken_without_heading_and_quotes() {
        assert_eq!(column_of("user,barcode\n\"u1\",\"123\"\n\nu2,456\r\n", 2), ["123", "456"]);
        assert_eq!(column_of("item-000001\nitem-000002", 1), ["item-000001", "item-000002"]);
    }
}
