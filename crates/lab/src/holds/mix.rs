//! Who asks for what: the mix of copies that holds meet.
//!
//! Of a thousand requests 500 are for a copy on the shelf that nobody wants, 400 for a copy for which up to five
//! readers wait, 80 for a title with up to fifty copies (half of them on the shelf, half asked for once each), 18
//! for a copy with a queue of 100, and 2 for the one with a queue of 1,000.

use crate::data::{Demand, Library, ShelfCopy, Wanted};
use crate::dice::Dice;
use std::collections::HashSet;
use uuid::Uuid;

/// How many of a thousand requests meet which demand.
const MIX: [(Demand, u64); 6] = [
    (Demand::None, 500),
    (Demand::ShortQueue, 400),
    (Demand::NoneForMany, 40),
    (Demand::OneForEach, 40),
    (Demand::LongQueue, 18),
    (Demand::LongestQueue, 2),
];
/// Which of these is asked for when all copies on the shelf were.
const INSTEAD: usize = 1;
/// As many take part as in a run of check-outs.
const MOST_TITLES: u64 = 20_000;
const MOST_READERS: u64 = 20_000;

/// A reader who wants a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The user's id.
    pub reader: Uuid,
    /// What is asked for.
    pub copy: ShelfCopy,
    /// The copy is on the shelf and nobody else asks for it in the same phase.
    pub on_the_shelf: bool,
}

/// The copies by demand, and the readers who ask.
pub struct Mix {
    stocks: Vec<Stock>,
    readers: Vec<Uuid>,
    next_reader: usize,
    dice: Dice,
}

/// Copies of the same demand.
struct Stock {
    copies: Vec<ShelfCopy>,
    next: usize,
    on_the_shelf: bool,
}

impl Mix {
    /// The mix of a library and what is wanted beside it.
    pub fn of(library: &Library, wanted: &Wanted) -> Mix {
        let mut dice = Dice::new(library.seed, 0, 0);
        let stocks = MIX.iter().map(|(demand, _)| {
            let mut copies: Vec<ShelfCopy> = match demand {
                Demand::None => library.first_copies(MOST_TITLES).collect(),
                _ => {
                    let titles = wanted.titles.iter().filter(|title| title.demand == *demand);
                    titles.flat_map(|title| title.copies.iter().copied()).collect()
                }
            };
            for last in (1..copies.len()).rev() {
                copies.swap(last, dice.throw(last as u64 + 1) as usize);
            }
            let on_the_shelf = matches!(demand, Demand::None | Demand::NoneForMany);
            Stock { copies, next: 0, on_the_shelf }
        });
        let stocks = stocks.collect();
        // Those who wait already do not ask, so nobody asks for what he waits for.
        let last = library.users.min(wanted.waiters + MOST_READERS);
        let readers = (wanted.waiters + 1..=last).map(|number| library.user_id(number)).collect();
        Mix { stocks, readers, next_reader: 0, dice }
    }

    /// All who ask.
    pub fn readers(&self) -> &[Uuid] {
        &self.readers
    }

    /// What happens in a phase of up to `number` requests. Nobody asks for a title twice, and a copy on the shelf
    /// is asked for once, so that it is clear beforehand who gets it and who waits. Fewer requests come back when
    /// all readers have asked for all titles.
    pub fn draw(&mut self, number: usize) -> Vec<Ask> {
        let mut asked = HashSet::new();
        let mut taken = vec![0; self.stocks.len()];
        let mut asks = Vec::with_capacity(number);
        for _ in 0..number {
            let mut which = self.throw();
            if self.stocks[which].on_the_shelf {
                if taken[which] == self.stocks[which].copies.len() {
                    which = INSTEAD;
                }
                taken[which] += 1;
            }
            let stock = &mut self.stocks[which];
            let copy = if stock.on_the_shelf {
                stock.next += 1;
                stock.copies[(stock.next - 1) % stock.copies.len()]
            } else {
                *self.dice.pick(&stock.copies)
            };
            let on_the_shelf = stock.on_the_shelf;
            let everybody = self.readers.len();
            let mut readers = (0..everybody).map(|n| (self.next_reader + n) % everybody);
            let Some(reader) = readers.find(|reader| asked.insert((*reader, copy.instance))) else { break };
            self.next_reader = reader + 1;
            asks.push(Ask { reader: self.readers[reader], copy, on_the_shelf });
        }
        asks
    }

    fn throw(&mut self) -> usize {
        let mut left = self.dice.throw(MIX.iter().map(|(_, share)| share).sum());
        MIX.iter()
            .position(|(_, share)| {
                let here = left < *share;
                left = left.saturating_sub(*share);
                here
            })
            .expect("a throw is less than the sum of the shares")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mix(users: u64) -> Mix {
        let library = Library { instances: 2_000, items: 3_000, users, seed: 1 };
        Mix::of(&library, &Wanted::beside(library).unwrap())
    }

    #[test]
    fn nobody_asks_for_a_title_twice_in_a_phase() {
        let asks = mix(150).draw(3_000);
        let pairs: HashSet<_> = asks.iter().map(|ask| (ask.reader, ask.copy.instance)).collect();
        assert_eq!((asks.len(), pairs.len()), (3_000, 3_000));
    }

    #[test]
    fn a_copy_on_the_shelf_is_asked_for_once_in_a_phase() {
        let asks = mix(2_000).draw(10_000);
        let on_the_shelf: Vec<Uuid> =
            asks.iter().filter(|ask| ask.on_the_shelf).map(|ask| ask.copy.item).collect();
        let different: HashSet<&Uuid> = on_the_shelf.iter().collect();
        assert_eq!(on_the_shelf.len(), different.len());
        assert!(on_the_shelf.len() >= 2_000, "all titles of the library are asked for");
    }

    #[test]
    fn one_request_in_fifty_meets_a_long_queue() {
        let library = Library { instances: 2_000, items: 3_000, users: 9_000, seed: 1 };
        let wanted = Wanted::beside(library).unwrap();
        let long: HashSet<Uuid> = wanted
            .titles
            .iter()
            .filter(|title| matches!(title.demand, Demand::LongQueue | Demand::LongestQueue))
            .flat_map(|title| title.copies.iter().map(|copy| copy.item))
            .collect();
        let asks = Mix::of(&library, &wanted).draw(3_000);
        let met = asks.iter().filter(|ask| long.contains(&ask.copy.item)).count();
        assert!((30..=90).contains(&met), "{met} of 3000");
    }

    #[test]
    fn who_waits_does_not_ask() {
        let library = Library { instances: 20, items: 30, users: 300, seed: 1 };
        let wanted = Wanted::beside(library).unwrap();
        let actor: HashSet<Uuid> = Mix::of(&library, &wanted).readers().iter().copied().collect();
        let mut waiting = wanted.titles.iter().flat_map(|title| wanted.queue(title));
        assert!(waiting.all(|waiting| !actor.contains(&waiting.reader)));
    }
}
