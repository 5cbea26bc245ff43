//! Instances with many requests, in addition to the library: some with up to fifty items, some with a queue, a few with
//! a long one. They depend on the library's seed, so that repeated runs find the same ones.

use super::{ItemIds, Library};
use crate::barcode;
use crate::error::{LabError, Result};
use serde_json::Value;
use uuid::Uuid;

/// Titles with 1 to 50 items.
const MANY_COPIES: u64 = 40;
const MOST_COPIES: u64 = 50;
/// Titles with one item and 1 to 5 patrons waiting for it.
const SHORT_QUEUES: u64 = 400;
const SHORT: u64 = 5;
/// Titles with one item and a hundred patrons waiting for it, and the one in highest demand.
const LONG_QUEUES: u64 = 10;
const LONG: u64 = 100;
const LONGEST: u64 = 1_000;
/// Users needed at least, so that some wait for these instances and others request them.
const FEWEST_USERS: u64 = 100;

/// The number of patrons who wait for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// No patron waits; its instance has an item or two.
    None,
    /// No patron waits for one of many items.
    NoneForMany,
    /// One patron waits for each of many items.
    OneForEach,
    /// A few patrons wait.
    ShortQueue,
    /// A hundred patrons wait.
    LongQueue,
    /// A thousand patrons wait.
    LongestQueue,
}

/// An instance with its items and the number of waiting patrons for each.
#[derive(Debug, Clone)]
pub struct PopularInstance {
    /// The number of waiting patrons for each of its items.
    pub demand: Demand,
    /// Its items.
    pub items: Vec<ItemIds>,
    queue: u64,
    number: u64,
    first_item: u64,
}

/// A patron who waits for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Id of the request.
    pub id: Uuid,
    /// The requester.
    pub patron: Uuid,
    /// The item.
    pub item_ids: ItemIds,
    /// The item of the first one is paged; later patrons wait for its return.
    pub is_first: bool,
}

/// All instances with many requests. At most half of the library's users, the first ones, wait for them; the others
/// place holds.
#[derive(Debug, Clone)]
pub struct PopularInstances {
    /// The library of the patrons.
    library: Library,
    /// The library of the instances.
    shelf: Library,
    /// The instances.
    pub titles: Vec<PopularInstance>,
    /// Users number 1 to this one wait.
    pub waiters: u64,
}

impl PopularInstances {
    /// The instances with many requests for a library.
    pub fn beside(library: Library) -> Result<PopularInstances> {
        if library.users < FEWEST_USERS {
            return Err(LabError::new(format!("placing holds needs at least {FEWEST_USERS} users")));
        }
        let waiters = LONGEST.min(library.users / 2);
        // Another seed, and so other ids, for these instances.
        let mut shelf = Library { instances: 0, items: 0, users: 0, seed: !library.seed };
        let many = (0..MANY_COPIES).map(|n| {
            let items = 1 + n * (MOST_COPIES - 1) / (MANY_COPIES - 1);
            if n % 2 == 0 { (Demand::NoneForMany, items, 0) } else { (Demand::OneForEach, items, 1) }
        });
        let short = (0..SHORT_QUEUES).map(|n| (Demand::ShortQueue, 1, 1 + n % SHORT));
        let long = (0..LONG_QUEUES).map(|_| (Demand::LongQueue, 1, LONG.min(waiters)));
        let longest = [(Demand::LongestQueue, 1, waiters)];
        let mut titles = Vec::new();
        for (demand, items, queue) in many.chain(short).chain(long).chain(longest) {
            shelf.instances += 1;
            let (number, first_item) = (shelf.instances, shelf.items + 1);
            shelf.items += items;
            let items = (first_item..=shelf.items).map(|item| shelf.item_ids(item, number)).collect();
            titles.push(PopularInstance { demand, items, queue, number, first_item });
        }
        Ok(PopularInstances { library, shelf, titles, waiters })
    }

    /// Number of instances.
    pub fn instances(&self) -> u64 {
        self.shelf.instances
    }

    /// Number of items.
    pub fn items(&self) -> u64 {
        self.shelf.items
    }

    /// The instances.
    pub fn all_instances(&self) -> impl Iterator<Item = Value> + use<> {
        self.shelf.all_instances()
    }

    /// The holdings, one for each instance.
    pub fn all_holdings(&self) -> impl Iterator<Item = Value> + use<> {
        self.shelf.all_holdings()
    }

    /// The items.
    pub fn all_items(&self) -> impl Iterator<Item = Value> + use<> {
        let (shelf, titles) = (self.shelf, self.titles.clone());
        titles.into_iter().flat_map(move |title| {
            let items = (0..title.items.len() as u64).map(move |nth| {
                let number = title.first_item + nth;
                shelf.item_record(number, title.number, nth + 1, barcode::popular_item(number))
            });
            items.collect::<Vec<_>>()
        })
    }

    /// The patrons who wait for an instance's items, in the order of their requests.
    pub fn queue(&self, title: &PopularInstance) -> impl Iterator<Item = Waiting> {
        title.items.iter().zip(title.first_item..).flat_map(move |(item_ids, item)| {
            (0..title.queue).map(move |place| Waiting {
                id: Uuid::new_v5(&item_ids.item, &place.to_be_bytes()),
                // The queues of items begin with different patrons, otherwise one patron would wait for all of them.
                patron: self.library.user_id(1 + (item * 7 + place) % self.waiters),
                item_ids: *item_ids,
                is_first: place == 0,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn popular(users: u64) -> PopularInstances {
        PopularInstances::beside(Library { instances: 20, items: 30, users, seed: 1 }).unwrap()
    }

    #[test]
    fn there_are_titles_with_one_copy_and_with_fifty() {
        let popular = popular(20_000);
        let items: Vec<usize> = popular.titles[..40].iter().map(|title| title.items.len()).collect();
        assert_eq!((items[0], items[39]), (1, 50));
        assert!(items.is_sorted());
        assert_eq!(popular.all_items().count() as u64, popular.items());
        assert_eq!(popular.all_instances().count(), popular.titles.len());
    }

    #[test]
    fn the_longest_queue_has_a_thousand_readers_or_half_of_the_users() {
        for (users, length) in [(20_000, 1_000), (300, 150)] {
            let popular = popular(users);
            let title = popular.titles.iter().find(|title| title.demand == Demand::LongestQueue).unwrap();
            let patrons: HashSet<Uuid> = popular.queue(title).map(|waiting| waiting.patron).collect();
            assert_eq!(patrons.len(), length, "nobody waits twice");
            assert_eq!(popular.queue(title).filter(|waiting| waiting.is_first).count(), 1);
        }
    }

    #[test]
    fn items_hang_on_the_holdings_of_their_title() {
        let popular = popular(200);
        let holdings: Vec<Value> = popular.all_holdings().map(|holdings| holdings["id"].clone()).collect();
        let mut items = popular.all_items();
        for (title, holdings) in popular.titles.iter().zip(&holdings) {
            for item_ids in &title.items {
                let item = items.next().unwrap();
                assert_eq!(item["holdingsRecordId"], *holdings);
                assert_eq!(
                    (item["id"].clone(), holdings),
                    (item_ids.item.to_string().into(), &Value::from(item_ids.holdings.to_string()))
                );
            }
        }
    }

    #[test]
    fn too_few_users_are_refused() {
        assert!(PopularInstances::beside(Library { instances: 20, items: 30, users: 99, seed: 1 }).is_err());
    }
}
