//! The mix of items for which holds are placed.
//!
//! Of a thousand requests 500 are for an available item without requests, 400 for an item for which up to five patrons
//! wait, 80 for an instance with up to fifty items (half of them available, half with one request each), 18 for an item
//! with a queue of 100, and 2 for the item with a queue of 1,000.

use crate::data::{Demand, ItemIds, Library, PopularInstances};
use crate::random::RandomSequence;
use std::collections::HashSet;
use uuid::Uuid;

/// The number of requests out of a thousand by demand.
const MIX: [(Demand, u64); 6] = [
    (Demand::None, 500),
    (Demand::ShortQueue, 400),
    (Demand::NoneForMany, 40),
    (Demand::OneForEach, 40),
    (Demand::LongQueue, 18),
    (Demand::LongestQueue, 2),
];
/// Index of the demand that is used when all available items have been requested.
const INSTEAD: usize = 1;
/// The same number as in a run of check-outs.
const MOST_TITLES: u64 = 20_000;
const MOST_READERS: u64 = 20_000;

/// A hold to be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldRequest {
    /// The user's id.
    pub patron: Uuid,
    /// The requested item.
    pub item_ids: ItemIds,
    /// The item is available and requested only once in the phase.
    pub on_the_shelf: bool,
}

/// The items by demand, and the requesting patrons.
pub struct Mix {
    test_data: Vec<TestData>,
    patrons: Vec<Uuid>,
    next_patron: usize,
    random: RandomSequence,
}

/// Items of the same demand.
struct TestData {
    items: Vec<ItemIds>,
    next: usize,
    on_the_shelf: bool,
}

impl Mix {
    /// The mix for a library and its instances with many requests.
    pub fn of(library: &Library, popular: &PopularInstances) -> Mix {
        let mut random = RandomSequence::new(library.seed, 0, 0);
        let test_data = MIX.iter().map(|(demand, _)| {
            let mut items: Vec<ItemIds> = match demand {
                Demand::None => library.first_items(MOST_TITLES).collect(),
                _ => {
                    let titles = popular.titles.iter().filter(|title| title.demand == *demand);
                    titles.flat_map(|title| title.items.iter().copied()).collect()
                }
            };
            for last in (1..items.len()).rev() {
                items.swap(last, random.throw(last as u64 + 1) as usize);
            }
            let on_the_shelf = matches!(demand, Demand::None | Demand::NoneForMany);
            TestData { items, next: 0, on_the_shelf }
        });
        let test_data = test_data.collect();
        // Patrons who already wait place no requests, so that nobody requests an item twice.
        let last = library.users.min(popular.waiters + MOST_READERS);
        let patrons = (popular.waiters + 1..=last).map(|number| library.user_id(number)).collect();
        Mix { test_data, patrons, next_patron: 0, random }
    }

    /// All requesting patrons.
    pub fn patrons(&self) -> &[Uuid] {
        &self.patrons
    }

    /// Draws up to `number` requests for a phase. No patron requests an instance twice, and an available item is
    /// requested once, so that the outcome of each request is known in advance. Fewer are returned when all patrons
    /// have requested all instances.
    pub fn draw(&mut self, number: usize) -> Vec<HoldRequest> {
        let mut asked = HashSet::new();
        let mut taken = vec![0; self.test_data.len()];
        let mut requests = Vec::with_capacity(number);
        for _ in 0..number {
            let mut which = self.throw();
            if self.test_data[which].on_the_shelf {
                if taken[which] == self.test_data[which].items.len() {
                    which = INSTEAD;
                }
                taken[which] += 1;
            }
            let test_data = &mut self.test_data[which];
            let item_ids = if test_data.on_the_shelf {
                test_data.next += 1;
                test_data.items[(test_data.next - 1) % test_data.items.len()]
            } else {
                *self.random.pick(&test_data.items)
            };
            let on_the_shelf = test_data.on_the_shelf;
            let everybody = self.patrons.len();
            let mut patrons = (0..everybody).map(|n| (self.next_patron + n) % everybody);
            let Some(patron) = patrons.find(|patron| asked.insert((*patron, item_ids.instance))) else {
                break;
            };
            self.next_patron = patron + 1;
            requests.push(HoldRequest { patron: self.patrons[patron], item_ids, on_the_shelf });
        }
        requests
    }

    fn throw(&mut self) -> usize {
        let mut left = self.random.throw(MIX.iter().map(|(_, share)| share).sum());
        MIX.iter()
            .position(|(_, share)| {
                let here = left < *share;
                left = left.saturating_sub(*share);
                here
            })
            .expect("a random number is less than the sum of the shares")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(users: u64) -> Mix {
        let library = Library { instances: 2_000, items: 3_000, users, seed: 1 };
        Mix::of(&library, &PopularInstances::beside(library).unwrap())
    }

    #[test]
    fn nobody_asks_for_a_title_twice_in_a_phase() {
        let requests = mix(150).draw(3_000);
        let pairs: HashSet<_> = requests.iter().map(|ask| (ask.patron, ask.item_ids.instance)).collect();
        assert_eq!((requests.len(), pairs.len()), (3_000, 3_000));
    }

    #[test]
    fn a_copy_on_the_shelf_is_asked_for_once_in_a_phase() {
        let requests = mix(2_000).draw(10_000);
        let on_the_shelf: Vec<Uuid> =
            requests.iter().filter(|ask| ask.on_the_shelf).map(|ask| ask.item_ids.item).collect();
        let different: HashSet<&Uuid> = on_the_shelf.iter().collect();
        assert_eq!(on_the_shelf.len(), different.len());
        assert!(on_the_shelf.len() >= 2_000, "all titles of the library are requested");
    }

    #[test]
    fn one_request_in_fifty_meets_a_long_queue() {
        let library = Library { instances: 2_000, items: 3_000, users: 9_000, seed: 1 };
        let popular = PopularInstances::beside(library).unwrap();
        let long: HashSet<Uuid> = popular
            .titles
            .iter()
            .filter(|title| matches!(title.demand, Demand::LongQueue | Demand::LongestQueue))
            .flat_map(|title| title.items.iter().map(|item_ids| item_ids.item))
            .collect();
        let requests = Mix::of(&library, &popular).draw(3_000);
        let met = requests.iter().filter(|ask| long.contains(&ask.item_ids.item)).count();
        assert!((30..=90).contains(&met), "{met} of 3000");
    }

    #[test]
    fn who_waits_does_not_ask() {
        let library = Library { instances: 20, items: 30, users: 300, seed: 1 };
        let popular = PopularInstances::beside(library).unwrap();
        let actor: HashSet<Uuid> = Mix::of(&library, &popular).patrons().iter().copied().collect();
        let mut waiting = popular.titles.iter().flat_map(|title| popular.queue(title));
        assert!(waiting.all(|waiting| !actor.contains(&waiting.patron)));
    }
}
