//! The sample library's works: each an instance with holdings and items.

use super::ids::*;
use serde_json::{Value, json};
use uuid::Uuid;

const WORKS: &str = include_str!("../../../../sample/works.tsv");

/// Location and loan type of an item.
struct SampleCopy {
    location: &'static str,
    loan_type: Uuid,
}

/// One row of works.tsv.
struct Work<'a> {
    title: &'a str,
    author: &'a str,
    born_died: &'a str,
    year: &'a str,
    language: &'a str,
    subject: &'a str,
    classification: &'a str,
    pages: &'a str,
}

/// Instances, holdings records and items.
pub struct Stock {
    pub instances: Vec<Value>,
    pub holdings: Vec<Value>,
    pub items: Vec<Value>,
}

/// All works as records.
pub fn stock() -> Stock {
    let mut stock = Stock { instances: Vec::new(), holdings: Vec::new(), items: Vec::new() };
    for (number, line) in WORKS.lines().skip(1).enumerate() {
        let work = Work::read(line);
        let instance = id_of(&format!("instance {number}"));
        stock.instances.push(work.instance(instance));
        for (place, copies) in work.copies(number) {
            let holdings = id_of(&format!("holdings {number} {place}"));
            stock.holdings.push(work.holdings(holdings, instance, place));
            for copy in copies {
                let item = stock.items.len() + 1;
                stock.items.push(json!({
                    "id": id_of(&format!("item {item}")),
                    "holdingsRecordId": holdings,
                    "barcode": format!("3900000{item:05}"),
                    "materialTypeId": BOOK,
                    "permanentLoanTypeId": copy.loan_type,
                    "status": {"name": "Available"},
                }));
            }
        }
    }
    stock
}

impl<'a> Work<'a> {
    fn read(line: &'a str) -> Work<'a> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [title, author, born_died, year, language, _, subject, classification, pages] = cells[..] else {
            panic!("works.tsv has nine columns: {line:?}")
        };
        Work { title, author, born_died, year, language, subject, classification, pages }
    }

    fn is_dewey(&self) -> bool {
        self.classification.starts_with(|first: char| first.is_ascii_digit())
    }

    fn instance(&self, id: Uuid) -> Value {
        let years: Vec<&str> = self.born_died.split("; ").collect();
        let contributors: Vec<Value> = self
            .author
            .split("; ")
            .filter(|name| !name.is_empty())
            .enumerate()
            .map(|(place, name)| {
                let name = match years.get(place).filter(|years| !years.is_empty()) {
                    Some(years) => format!("{name}, {years}"),
                    None => name.to_owned(),
                };
                json!({"name": name, "contributorNameTypeId": PERSONAL_NAME, "contributorTypeId": AUTHOR,
                       "primary": place == 0})
            })
            .collect();
        let class = if self.is_dewey() { DEWEY_CLASS } else { LC_CLASS };
        json!({
            "id": id, "source": "FOLIO", "title": self.title, "indexTitle": index_title(self.title),
            "instanceTypeId": TEXT, "instanceFormatIds": [VOLUME], "modeOfIssuanceId": SINGLE_UNIT,
            "statusId": CATALOGED, "contributors": contributors,
            "subjects": [{"value": self.subject}],
            "classifications": [{"classificationNumber": self.classification, "classificationTypeId": class}],
            "publication": [{"dateOfPublication": self.year}],
            "physicalDescriptions": [format!("{} pages", self.pages)],
            "languages": [self.language],
            "discoverySuppress": false, "staffSuppress": false,
        })
    }

    fn holdings(&self, id: Uuid, instance: Uuid, location: &str) -> Value {
        let mark: String = self
            .author
            .chars()
            .chain(self.title.chars())
            .filter(|letter| letter.is_alphabetic())
            .take(3)
            .collect::<String>()
            .to_uppercase();
        json!({
            "id": id, "instanceId": instance, "sourceId": SOURCE_FOLIO, "holdingsTypeId": MONOGRAPH,
            "permanentLocationId": id_of(&format!("location {location}")),
            "callNumber": format!("{} {mark}", self.classification),
            "callNumberTypeId": if self.is_dewey() { DEWEY_CALL_NUMBER } else { LC_CALL_NUMBER },
            "discoverySuppress": false,
        })
    }

    /// Items by location: science is separate, some works are in both libraries, a few are reserves or not for loan.
    fn copies(&self, number: usize) -> Vec<(&'static str, Vec<SampleCopy>)> {
        let lent = |location| SampleCopy { location, loan_type: CAN_CIRCULATE };
        let science = self.classification.starts_with(['5', '6', 'Q', 'R', 'S', 'T']);
        let home = if science { "science" } else { "stacks" };
        let mut copies = vec![lent(home)];
        if number.is_multiple_of(4) {
            copies.push(lent(home));
        }
        if number.is_multiple_of(5) {
            copies.push(lent("branch"));
        }
        if number.is_multiple_of(37) {
            copies.push(SampleCopy { location: "reading room", loan_type: READING_ROOM });
        }
        if number.is_multiple_of(53) {
            copies.push(SampleCopy { location: "stacks", loan_type: COURSE_RESERVES });
        }
        let mut by_location: Vec<(&'static str, Vec<SampleCopy>)> = Vec::new();
        for copy in copies {
            match by_location.iter_mut().find(|(location, _)| *location == copy.location) {
                Some((_, there)) => there.push(copy),
                None => by_location.push((copy.location, vec![copy])),
            }
        }
        by_location
    }
}

/// The index title: without a leading article.
fn index_title(title: &str) -> &str {
    for article in ["The ", "A ", "An "] {
        if let Some(rest) = title.strip_prefix(article) {
            return rest;
        }
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_thousand_works_are_in_four_locations() {
        let stock = stock();
        let locations: BTreeSet<_> =
            stock.holdings.iter().map(|record| record["permanentLocationId"].to_string()).collect();
        assert!(stock.instances.len() >= 1_000);
        assert_eq!(locations.len(), 4);
    }

    #[test]
    fn no_two_items_share_a_barcode() {
        let items = stock().items;
        let barcodes: BTreeSet<_> = items.iter().map(|item| item["barcode"].to_string()).collect();
        assert_eq!(barcodes.len(), items.len());
    }
}
