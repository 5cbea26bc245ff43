//! Titles that many want, beside the library: some with up to fifty copies, some with a queue, a few with a long
//! one. Like the library they follow from its seed, so that they are made once however often they are asked for.

use super::{Library, ShelfCopy};
use crate::barcode;
use crate::error::{LabError, Result};
use serde_json::Value;
use uuid::Uuid;

/// Titles with 1 to 50 copies.
const MANY_COPIES: u64 = 40;
const MOST_COPIES: u64 = 50;
/// Titles with one copy and 1 to 5 readers waiting for it.
const SHORT_QUEUES: u64 = 400;
const SHORT: u64 = 5;
/// Titles with one copy and a hundred readers waiting for it, and the one that everybody talks about.
const LONG_QUEUES: u64 = 10;
const LONG: u64 = 100;
const LONGEST: u64 = 1_000;
/// Fewer users than this cannot both wait for these titles and ask for them.
const FEWEST_USERS: u64 = 100;

/// How much a copy is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// Nobody waits; its title has a copy or two.
    None,
    /// Nobody waits for one of many copies.
    NoneForMany,
    /// One reader waits for each of many copies.
    OneForEach,
    /// A few readers wait.
    ShortQueue,
    /// A hundred readers wait.
    LongQueue,
    /// A thousand readers wait.
    LongestQueue,
}

/// A title with its copies and how many wait for each.
#[derive(Debug, Clone)]
pub struct WantedTitle {
    /// How much its copies are wanted.
    pub demand: Demand,
    /// Its copies.
    pub copies: Vec<ShelfCopy>,
    queue: u64,
    number: u64,
    first_item: u64,
}

/// A reader who waits for a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The id of his request.
    pub id: Uuid,
    /// Who waits.
    pub reader: Uuid,
    /// For what.
    pub copy: ShelfCopy,
    /// The first one's copy is fetched from the shelf; who comes later waits for its return.
    pub is_first: bool,
}

/// All titles that many want. Half of the library's users at most, the first ones, wait for them; the others
/// ask.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Where the patrons are.
    library: Library,
    /// Where the titles are.
    shelf: Library,
    /// The titles.
    pub titles: Vec<WantedTitle>,
    /// Users number 1 to this one wait.
    pub waiters: u64,
}

impl Wanted {
    /// The titles beside a library.
    pub fn beside(library: Library) -> Result<Wanted> {
        if library.users < FEWEST_USERS {
            return Err(LabError::new(format!("placing holds needs at least {FEWEST_USERS} users")));
        }
        let waiters = LONGEST.min(library.users / 2);
        // Another seed, hence other ids, for what stands beside the library.
        let mut shelf = Library { instances: 0, items: 0, users: 0, seed: !library.seed };
        let many = (0..MANY_COPIES).map(|n| {
            let copies = 1 + n * (MOST_COPIES - 1) / (MANY_COPIES - 1);
            if n % 2 == 0 { (Demand::NoneForMany, copies, 0) } else { (Demand::OneForEach, copies, 1) }
        });
        let short = (0..SHORT_QUEUES).map(|n| (Demand::ShortQueue, 1, 1 + n % SHORT));
        let long = (0..LONG_QUEUES).map(|_| (Demand::LongQueue, 1, LONG.min(waiters)));
        let longest = [(Demand::LongestQueue, 1, waiters)];
        let mut titles = Vec::new();
        for (demand, copies, queue) in many.chain(short).chain(long).chain(longest) {
            shelf.instances += 1;
            let (number, first_item) = (shelf.instances, shelf.items + 1);
            shelf.items += copies;
            let copies = (first_item..=shelf.items).map(|item| shelf.shelf_copy(item, number)).collect();
            titles.push(WantedTitle { demand, copies, queue, number, first_item });
        }
        Ok(Wanted { library, shelf, titles, waiters })
    }

    /// Number of titles.
    pub fn instances(&self) -> u64 {
        self.shelf.instances
    }

    /// Number of copies.
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
            let copies = (0..title.copies.len() as u64).map(move |nth| {
                let number = title.first_item + nth;
                shelf.copy(number, title.number, nth + 1, barcode::wanted_item(number))
            });
            copies.collect::<Vec<_>>()
        })
    }

    /// The readers who wait for a title's copies, in the order in which they asked.
    pub fn queue(&self, title: &WantedTitle) -> impl Iterator<Item = Waiting> {
        title.copies.iter().zip(title.first_item..).flat_map(move |(copy, item)| {
            (0..title.queue).map(move |place| Waiting {
                id: Uuid::new_v5(&copy.item, &place.to_be_bytes()),
                // Copies begin with different readers, or one of them would wait for everything.
                reader: self.library.user_id(1 + (item * 7 + place) % self.waiters),
                copy: *copy,
                is_first: place == 0,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn wanted(users: u64) -> Wanted {
        Wanted::beside(Library { instances: 20, items: 30, users, seed: 1 }).unwrap()
    }

    #[test]
    fn there_are_titles_with_one_copy_and_with_fifty() {
        let wanted = wanted(20_000);
        let copies: Vec<usize> = wanted.titles[..40].iter().map(|title| title.copies.len()).collect();
        assert_eq!((copies[0], copies[39]), (1, 50));
        assert!(copies.is_sorted());
        assert_eq!(wanted.all_items().count() as u64, wanted.items());
        assert_eq!(wanted.all_instances().count(), wanted.titles.len());
    }

    #[test]
    fn the_longest_queue_has_a_thousand_readers_or_half_of_the_users() {
        for (users, length) in [(20_000, 1_000), (300, 150)] {
            let wanted = wanted(users);
            let title = wanted.titles.iter().find(|title| title.demand == Demand::LongestQueue).unwrap();
            let readers: HashSet<Uuid> = wanted.queue(title).map(|waiting| waiting.reader).collect();
            assert_eq!(readers.len(), length, "nobody waits twice");
            assert_eq!(wanted.queue(title).filter(|waiting| waiting.is_first).count(), 1);
        }
    }

    #[test]
    fn items_hang_on_the_holdings_of_their_title() {
        let wanted = wanted(200);
        let holdings: Vec<Value> = wanted.all_holdings().map(|holdings| holdings["id"].clone()).collect();
        let mut items = wanted.all_items();
        for (title, holdings) in wanted.titles.iter().zip(&holdings) {
            for copy in &title.copies {
                let item = items.next().unwrap();
                assert_eq!(item["holdingsRecordId"], *holdings);
                assert_eq!(
                    (item["id"].clone(), holdings),
                    (copy.item.to_string().into(), &Value::from(copy.holdings.to_string()))
                );
            }
        }
    }

    #[test]
    fn too_few_users_are_refused() {
        assert!(Wanted::beside(Library { instances: 20, items: 30, users: 99, seed: 1 }).is_err());
    }
}
