//! The records that a run uses: available items, patrons and a service point. They are read from the API, or from
//! files as the public load plans do.

use crate::client::{Connection, Session};
use crate::error::{Context, LabError, Result};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const PAGE: usize = 1000;

/// Files with the data, instead of the API: one barcode per line, or the first column of a CSV file.
#[derive(Debug, Clone, Default)]
pub struct TestDataFiles {
    /// Barcodes of users without blocks.
    pub users: Option<PathBuf>,
    /// Barcodes of available items.
    pub items: Option<PathBuf>,
    /// The service point's id; it must be one of those that serve the items' locations, else a check-in sends
    /// the item into transit and it is not available again.
    pub service_point: Option<String>,
}

/// Available items, patrons and the worker's service point.
#[derive(Debug)]
pub struct TestData {
    /// Barcodes of available items.
    pub items: Vec<String>,
    /// Barcodes of users.
    pub users: Vec<String>,
    /// The service point of all calls.
    pub service_point: String,
}

impl TestData {
    /// Finds up to `items` items and `users` users.
    pub async fn find(
        connection: &mut Connection,
        session: &Session,
        files: &TestDataFiles,
        items: usize,
        users: usize,
    ) -> Result<TestData> {
        let mut locations = HashSet::new();
        let service_point = match &files.service_point {
            Some(id) => id.clone(),
            None => main_service_point(connection, session, &mut locations).await?,
        };
        let available = "/item-storage/items?query=status.name==%22Available%22";
        let items = match &files.items {
            Some(path) => read_barcodes(path)?,
            None => {
                // Without a list of locations, the service point is used as given.
                let at_worker = |item: &Value| {
                    locations.is_empty()
                        || text(item, "effectiveLocationId").is_some_and(|l| locations.contains(l))
                };
                barcodes(connection, session, available, "items", items, at_worker).await?
            }
        };
        let active = "/users?query=active==%22true%22";
        let users = match &files.users {
            Some(path) => read_barcodes(path)?,
            None => barcodes(connection, session, active, "users", users, |_| true).await?,
        };
        if items.is_empty() || users.is_empty() {
            return Err(LabError::new(format!(
                "found {} available items and {} active users with barcodes; load a data set first",
                items.len(),
                users.len()
            )));
        }
        Ok(TestData { items, users, service_point })
    }
}

/// The service point that is primary for most locations; collects these locations.
async fn main_service_point(
    connection: &mut Connection,
    session: &Session,
    served: &mut HashSet<String>,
) -> Result<String> {
    let answer = session.get(connection, &format!("/locations?limit={PAGE}")).await?;
    let locations = answer["locations"].as_array().cloned().unwrap_or_default();
    let primary = |location: &Value| text(location, "primaryServicePoint").map(str::to_string);
    let mut points: Vec<String> = locations.iter().filter_map(primary).collect();
    points.sort();
    let most = points.chunk_by(|a, b| a == b).max_by_key(|same| same.len()).map(|same| same[0].clone());
    let point =
        most.ok_or_else(|| LabError::new("no location has a primary service point; load a data set first"))?;
    served.extend(
        locations
            .iter()
            .filter(|location| primary(location).as_ref() == Some(&point))
            .filter_map(|location| text(location, "id").map(str::to_string)),
    );
    Ok(point)
}

/// The barcodes of the records in a collection that are `wanted`, page by page.
async fn barcodes(
    connection: &mut Connection,
    session: &Session,
    target: &str,
    key: &str,
    most: usize,
    popular: impl Fn(&Value) -> bool,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut offset = 0;
    while found.len() < most {
        let page = session.get(connection, &format!("{target}&limit={PAGE}&offset={offset}")).await?;
        let records = page[key].as_array().map(Vec::as_slice).unwrap_or_default();
        let with_barcode =
            records.iter().filter(|record| popular(record)).filter_map(|record| text(record, "barcode"));
        found.extend(with_barcode.map(str::to_string));
        if records.len() < PAGE {
            break;
        }
        offset += PAGE;
    }
    found.truncate(most);
    Ok(found)
}

fn text<'a>(record: &'a Value, field: &str) -> Option<&'a str> {
    record[field].as_str().filter(|text| !text.is_empty())
}

fn read_barcodes(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).context(format!("reading {}", path.display()))?;
    Ok(first_column(&text))
}

/// The first column without quotes, blank lines and a heading.
pub fn first_column(text: &str) -> Vec<String> {
    let cell = |line: &str| line.split(',').next().unwrap_or("").trim().trim_matches('"').to_string();
    let heading = |cell: &String| cell.to_ascii_lowercase().contains("barcode");
    text.trim_start_matches('\u{feff}')
        .lines()
        .map(cell)
        .filter(|cell| !cell.is_empty() && !heading(cell))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_column_of_a_file_is_taken_without_heading_and_quotes() {
        assert_eq!(first_column("barcode,name\n\"123\",x\n\n456\r\n"), ["123", "456"]);
        assert_eq!(first_column("item-000001\nitem-000002"), ["item-000001", "item-000002"]);
    }
}
