//! A library generated from a seed: the same seed gives the same records, ids included, on every machine, so that
//! runs can be repeated and data files shared by naming three sizes and a seed.
//!
//! Every record is generated from its number alone; nothing is stored, so ten million items need no more memory than
//! ten. Instance n has holdings n; items are distributed over the holdings in turn.

mod copy;
mod library;
mod popular;
mod words;

pub use copy::{CompleteItem, CopiedTable, CopyOptions, copy_library, reset_circulation};
pub use library::{DESK, LOAN_POLICIES, circulation_rules, library, named};
pub use popular::{Demand, PopularInstances, Waiting};

use crate::barcode;
use crate::random::RandomSequence;
use library::{GROUPS, LOCATIONS, MATERIAL_TYPES};
use serde_json::{Value, json};
use uuid::Uuid;
use words::*;

/// Ids of FOLIO's own reference records, the same in every tenant.
mod reference {
    pub const TEXT: &str = "6312d172-f0cf-40f6-b27d-9fa8feaf332f";
    pub const PERSONAL_NAME: &str = "2b94c631-fca9-4892-a730-03ee529ffe2a";
    pub const AUTHOR: &str = "6e09d47d-95e2-4d8a-831b-f777b8ef6d81";
    pub const ISBN: &str = "8261054f-be78-422d-bd51-4ed9f33c3422";
    pub const LC_CLASSIFICATION: &str = "ce176ace-a53e-4b4d-aa89-725ed7b2edac";
    pub const LC_CALL_NUMBER: &str = "95467209-6d7b-468b-94df-0f5d7ad2747d";
    pub const SINGLE_UNIT: &str = "9d18a02f-5897-4c31-9106-c9abb5c7ae8b";
    pub const SOURCE_FOLIO: &str = "f32d531e-df79-46b3-8932-cdd35f7a2264";
    pub const CAN_CIRCULATE: &str = "2b94c631-fca9-4892-a730-03ee529ffe27";
    pub const EMAIL: &str = "002";
}

/// Which records of a kind a random draw belongs to.
#[derive(Clone, Copy)]
enum Kind {
    Instance = 1,
    Holdings = 2,
    Item = 3,
    User = 4,
}

/// A library of given size.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// Titles, each with one holdings record.
    pub instances: u64,
    /// Items, spread evenly over the instances.
    pub items: u64,
    /// Patrons.
    pub users: u64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// An item's ids, and those of its holdings record and instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemIds {
    /// Its instance.
    pub instance: Uuid,
    /// Its holdings record.
    pub holdings: Uuid,
    /// The item.
    pub item: Uuid,
}

impl Library {
    /// The first item of each of at most `most` instances, taken evenly from the whole library.
    pub fn first_items(&self, most: u64) -> impl Iterator<Item = ItemIds> + use<'_> {
        let titles = self.instances.min(self.items);
        let number = titles.min(most);
        (0..number).map(move |n| {
            let title = 1 + n * titles / number;
            self.item_ids(title, title)
        })
    }

    /// The id of user number `number`.
    pub fn user_id(&self, number: u64) -> Uuid {
        self.id(Kind::User, number)
    }

    /// The ids of item number `item`, which belongs to instance number `title`.
    fn item_ids(&self, item: u64, title: u64) -> ItemIds {
        ItemIds {
            instance: self.id(Kind::Instance, title),
            holdings: self.id(Kind::Holdings, title),
            item: self.id(Kind::Item, item),
        }
    }

    /// The instances, in order of number.
    pub fn all_instances(self) -> impl Iterator<Item = Value> {
        (1..=self.instances).map(move |number| self.instance(number))
    }

    /// The holdings, in order of number; each belongs to the instance of its number.
    pub fn all_holdings(self) -> impl Iterator<Item = Value> {
        (1..=self.instances).map(move |number| self.holdings(number))
    }

    /// The items, in order of number.
    pub fn all_items(self) -> impl Iterator<Item = Value> {
        (1..=self.items).map(move |number| self.item(number))
    }

    /// The patrons, in order of number.
    pub fn all_users(self) -> impl Iterator<Item = Value> {
        (1..=self.users).map(move |number| self.user(number))
    }

    fn id(&self, kind: Kind, number: u64) -> Uuid {
        let mut name = [0; 17];
        name[..8].copy_from_slice(&self.seed.to_be_bytes());
        name[8] = kind as u8;
        name[9..].copy_from_slice(&number.to_be_bytes());
        Uuid::new_v5(&library::NAMESPACE, &name)
    }

    fn random(&self, kind: Kind, number: u64) -> RandomSequence {
        RandomSequence::new(self.seed, kind as u64, number)
    }

    fn instance(&self, number: u64) -> Value {
        let mut random = self.random(Kind::Instance, number);
        let topic = random.pick(&TOPICS);
        let title = title(&mut random, topic);
        let author = format!("{}, {}", random.pick(&FAMILY_NAMES), random.pick(&GIVEN_NAMES));
        let year = random.between(1890, 2024).to_string();
        let second = random.pick(&TOPICS);
        let bare = title.strip_prefix("The ").or_else(|| title.strip_prefix("A ")).unwrap_or(&title);
        json!({
            "id": self.id(Kind::Instance, number),
            "source": "FOLIO",
            "title": title,
            "indexTitle": bare,
            "instanceTypeId": reference::TEXT,
            "modeOfIssuanceId": reference::SINGLE_UNIT,
            "contributors": [{
                "name": author,
                "contributorNameTypeId": reference::PERSONAL_NAME,
                "contributorTypeId": reference::AUTHOR,
                "contributorTypeText": "",
                "primary": true
            }],
            "identifiers": [{ "value": isbn(number), "identifierTypeId": reference::ISBN }],
            "publication": [{
                "publisher": random.pick(&PUBLISHERS),
                "place": random.pick(&PLACES),
                "dateOfPublication": year
            }],
            "subjects": [{ "value": topic.0 }, { "value": format!("{} -- History", second.0) }],
            "classifications": [{
                "classificationNumber": call_number(topic, &author, &year),
                "classificationTypeId": reference::LC_CLASSIFICATION
            }],
            "physicalDescriptions": [format!("{} pages ; {} cm", random.between(80, 700), random.between(18, 30))],
            "languages": ["eng"],
            "discoverySuppress": false,
            "staffSuppress": false,
            "previouslyHeld": false
        })
    }

    fn holdings(&self, number: u64) -> Value {
        // The same draws as the instance's, in the same order, so that the call number fits the instance.
        let mut of_instance = self.random(Kind::Instance, number);
        let topic = of_instance.pick(&TOPICS);
        title(&mut of_instance, topic);
        let author = of_instance.pick(&FAMILY_NAMES);
        let _given_name = of_instance.pick(&GIVEN_NAMES);
        let year = of_instance.between(1890, 2024).to_string();
        let mut random = self.random(Kind::Holdings, number);
        json!({
            "id": self.id(Kind::Holdings, number),
            "instanceId": self.id(Kind::Instance, number),
            "sourceId": reference::SOURCE_FOLIO,
            "permanentLocationId": named(random.pick(&LOCATIONS).code),
            "callNumber": call_number(topic, author, &year),
            "callNumberTypeId": reference::LC_CALL_NUMBER,
            "discoverySuppress": false
        })
    }

    fn item(&self, number: u64) -> Value {
        let (round, title) = ((number - 1) / self.instances, (number - 1) % self.instances + 1);
        self.item_record(number, title, round + 1, barcode::item(number))
    }

    /// Item number `number`, the copy number `copy_number` of instance number `title`.
    fn item_record(&self, number: u64, title: u64, copy_number: u64, barcode: String) -> Value {
        let mut random = self.random(Kind::Item, number);
        // Nine of ten items are books, as in most libraries.
        let material =
            if random.throw(10) < 9 { &MATERIAL_TYPES[0] } else { random.pick(&MATERIAL_TYPES[1..]) };
        json!({
            "id": self.id(Kind::Item, number),
            "holdingsRecordId": self.id(Kind::Holdings, title),
            "barcode": barcode,
            "status": { "name": "Available" },
            "materialTypeId": material.id,
            "permanentLoanTypeId": reference::CAN_CIRCULATE,
            "copyNumber": copy_number.to_string(),
            "numberOfPieces": "1",
            "discoverySuppress": false
        })
    }

    fn user(&self, number: u64) -> Value {
        let mut random = self.random(Kind::User, number);
        let (given, family) = (random.pick(&GIVEN_NAMES), random.pick(&FAMILY_NAMES));
        // Most users are undergraduates, as at most universities.
        let group = if random.throw(10) < 6 { &GROUPS[0] } else { random.pick(&GROUPS[1..]) };
        json!({
            "id": self.id(Kind::User, number),
            "username": format!("reader{number:06}"),
            "externalSystemId": format!("lab-{number:06}"),
            "barcode": barcode::user(number),
            "active": true,
            "type": "patron",
            "patronGroup": named(group.0),
            "departments": [],
            "proxyFor": [],
            "personal": {
                "lastName": family,
                "firstName": given,
                "email": format!("reader{number:06}@library.example"),
                "preferredContactTypeId": reference::EMAIL,
                "addresses": []
            },
            "enrollmentDate": "2020-09-01T00:00:00.000+00:00",
            "expirationDate": "2099-12-31T23:59:59.000+00:00"
        })
    }
}

fn title(random: &mut RandomSequence, topic: &Topic) -> String {
    let about = topic.0;
    let lower = about.to_lowercase();
    match random.throw(6) {
        0 => {
            format!("The {} {}", random.pick(&ADJECTIVES).to_lowercase(), random.pick(&NOUNS).to_lowercase())
        }
        1 => format!("A history of {lower} in {}", random.pick(&PLACES)),
        2 => format!("{about} : {}", random.pick(&SUBTITLES)),
        3 => format!("{} {lower} and the {}", random.pick(&ADJECTIVES), random.pick(&NOUNS).to_lowercase()),
        4 => format!(
            "The {} of {} : {}",
            random.pick(&NOUNS).to_lowercase(),
            random.pick(&PLACES),
            random.pick(&SUBTITLES)
        ),
        _ => format!("{about} and {}", random.pick(&TOPICS).0.to_lowercase()),
    }
}

/// Class, first letter of the author with a number that keeps authors in order, year: enough to shelve by.
fn call_number(topic: &Topic, author: &str, year: &str) -> String {
    let mut letters = author.chars().filter(|c| c.is_ascii_alphabetic());
    let first = letters.next().unwrap_or('X').to_ascii_uppercase();
    let second = letters.next().unwrap_or('a').to_ascii_lowercase() as u32 - 'a' as u32;
    format!("{} .{first}{} {year}", topic.1, 10 + second * 3)
}

/// An ISBN of thirteen digits with the number in it and a right check digit.
fn isbn(number: u64) -> String {
    let body = format!("978{:09}", number % 1_000_000_000);
    let weighted =
        body.bytes().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| u32::from(digit - b'0') * weight);
    format!("{body}{}", (10 - weighted.sum::<u32>() % 10) % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const SMALL: Library = Library { instances: 30, items: 100, users: 20, seed: 1 };

    #[test]
    fn the_same_seed_makes_the_same_library_and_another_seed_another() {
        let titles =
            |library: Library| library.all_instances().map(|i| i["title"].to_string()).collect::<Vec<_>>();
        assert_eq!(titles(SMALL), titles(SMALL));
        assert_ne!(titles(SMALL), titles(Library { seed: 2, ..SMALL }));
        assert_eq!(SMALL.all_items().next().unwrap()["id"], "aa509611-4d1d-5128-9ffd-1b9aa7b7f227");
    }

    #[test]
    fn every_item_hangs_on_a_holdings_record_and_every_holdings_record_on_an_instance() {
        let ids = |records: Vec<Value>| records.iter().map(|r| r["id"].to_string()).collect::<HashSet<_>>();
        let instances = ids(SMALL.all_instances().collect());
        let holdings = ids(SMALL.all_holdings().collect());
        assert_eq!((instances.len(), holdings.len()), (30, 30));
        assert!(SMALL.all_holdings().all(|h| instances.contains(&h["instanceId"].to_string())));
        let with_items: HashSet<String> =
            SMALL.all_items().map(|i| i["holdingsRecordId"].to_string()).collect();
        assert_eq!(with_items, holdings, "items are spread over all titles");
    }

    #[test]
    fn barcodes_are_unique_and_numbered() {
        let barcodes: HashSet<String> = SMALL
            .all_items()
            .chain(SMALL.all_users())
            .map(|r| r["barcode"].as_str().unwrap().into())
            .collect();
        assert_eq!(barcodes.len(), 120);
        assert!(barcodes.contains("item-000001") && barcodes.contains("user-000020"));
    }

    #[test]
    fn the_call_number_on_the_shelf_is_that_of_the_title() {
        for (instance, holdings) in SMALL.all_instances().zip(SMALL.all_holdings()) {
            assert_eq!(instance["classifications"][0]["classificationNumber"], holdings["callNumber"]);
        }
    }

    #[test]
    fn an_isbn_has_a_right_check_digit() {
        assert_eq!(isbn(30_640_615), "9780306406157");
    }
}
