//! Whose turn it is: tenants that wait for a worker, served so that no tenant keeps another waiting.

use std::collections::{HashMap, VecDeque};

/// Tenants with something to do, and how many workers each has.
#[derive(Debug, Default)]
pub struct Turns {
    waiting: VecDeque<String>,
    running: HashMap<String, usize>,
    /// How often each tenant has asked; tells whether it asked again while its jobs were looked at.
    asked: HashMap<String, u64>,
}

impl Turns {
    /// A tenant has something to do.
    pub fn ask(&mut self, tenant: &str) {
        *self.asked.entry(tenant.to_owned()).or_default() += 1;
        if !self.waiting.iter().any(|other| other == tenant) {
            self.waiting.push_back(tenant.to_owned());
        }
    }

    /// The tenant that gets a free worker, and the number of its last asking: of those below their limit the one with
    /// the fewest workers, the longest without a turn first. One worker is kept from a single tenant, so that another
    /// one never waits for the end of its work.
    pub fn next(&mut self, workers: usize) -> Option<(String, u64)> {
        let busy: usize = self.running.values().sum();
        if busy >= workers {
            return None;
        }
        let limit = workers.saturating_sub(1).max(1);
        let of = |tenant: &String| self.running.get(tenant).copied().unwrap_or(0);
        let (index, _) = self
            .waiting
            .iter()
            .enumerate()
            .filter(|(_, tenant)| of(tenant) < limit)
            .min_by_key(|(index, tenant)| (of(tenant), *index))?;
        let tenant = self.waiting.remove(index)?;
        self.waiting.push_back(tenant.clone());
        *self.running.entry(tenant.clone()).or_default() += 1;
        let asked = self.asked.get(&tenant).copied().unwrap_or(0);
        Some((tenant, asked))
    }

    /// The tenant had nothing to do after all.
    pub fn nothing_to_do(&mut self, tenant: &str, asked: u64) {
        if self.asked.get(tenant) == Some(&asked) {
            self.waiting.retain(|other| other != tenant);
            self.asked.remove(tenant);
        }
    }

    /// A worker of the tenant is free again.
    pub fn free(&mut self, tenant: &str) {
        if let Some(count) = self.running.get_mut(tenant) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(turns: &mut Turns, workers: usize) -> String {
        turns.next(workers).map(|(tenant, _)| tenant).unwrap_or_default()
    }

    #[test]
    fn a_single_tenant_leaves_a_worker_to_others() {
        let mut turns = Turns::default();
        turns.ask("a");
        assert_eq!([next(&mut turns, 3), next(&mut turns, 3), next(&mut turns, 3)], ["a", "a", ""]);
        turns.ask("b");
        assert_eq!(next(&mut turns, 3), "b");
        assert_eq!(next(&mut turns, 3), "");
    }

    #[test]
    fn tenants_take_turns() {
        let mut turns = Turns::default();
        for tenant in ["a", "b", "c"] {
            turns.ask(tenant);
        }
        let mut served = Vec::new();
        for _ in 0..6 {
            let tenant = next(&mut turns, 1);
            turns.free(&tenant);
            served.push(tenant);
        }
        assert_eq!(served, ["a", "b", "c", "a", "b", "c"]);
    }

    #[test]
    fn who_asks_again_meanwhile_keeps_the_place() {
        let mut turns = Turns::default();
        turns.ask("a");
        let (tenant, asked) = turns.next(2).expect("a waits");
        turns.ask("a");
        turns.nothing_to_do(&tenant, asked);
        turns.free(&tenant);
        let (tenant, asked) = turns.next(2).expect("a has asked again");
        turns.nothing_to_do(&tenant, asked);
        turns.free(&tenant);
        assert_eq!(turns.next(2), None);
    }
}
