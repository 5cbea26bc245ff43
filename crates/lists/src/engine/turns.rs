//! Fair assignment of workers to tenants: no tenant delays another.

use std::collections::{HashMap, VecDeque};

/// Tenants with waiting jobs, and the number of workers of each.
#[derive(Debug, Default)]
pub struct Turns {
    waiting: VecDeque<String>,
    running: HashMap<String, usize>,
    /// Number of submissions of each tenant, to notice one that arrives while its jobs are being read.
    submissions: HashMap<String, u64>,
}

impl Turns {
    /// A tenant has a job.
    pub fn submitted(&mut self, tenant: &str) {
        *self.submissions.entry(tenant.to_owned()).or_default() += 1;
        if !self.waiting.iter().any(|other| other == tenant) {
            self.waiting.push_back(tenant.to_owned());
        }
    }

    /// The tenant that gets a free worker, and the number of its last submission: of those below their limit the one
    /// with the fewest workers, and of these the one served longest ago. A single tenant never gets all workers, so
    /// that another one need not wait for the end of its work.
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
        let submissions = self.submissions.get(&tenant).copied().unwrap_or(0);
        Some((tenant, submissions))
    }

    /// The tenant had no job after all.
    pub fn nothing_to_do(&mut self, tenant: &str, submissions: u64) {
        if self.submissions.get(tenant) == Some(&submissions) {
            self.waiting.retain(|other| other != tenant);
            self.submissions.remove(tenant);
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
        turns.submitted("a");
        assert_eq!([next(&mut turns, 3), next(&mut turns, 3), next(&mut turns, 3)], ["a", "a", ""]);
        turns.submitted("b");
        assert_eq!(next(&mut turns, 3), "b");
        assert_eq!(next(&mut turns, 3), "");
    }

    #[test]
    fn tenants_take_turns() {
        let mut turns = Turns::default();
        for tenant in ["a", "b", "c"] {
            turns.submitted(tenant);
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
        turns.submitted("a");
        let (tenant, submissions) = turns.next(2).expect("a waits");
        turns.submitted("a");
        turns.nothing_to_do(&tenant, submissions);
        turns.free(&tenant);
        let (tenant, submissions) = turns.next(2).expect("a has submitted again");
        turns.nothing_to_do(&tenant, submissions);
        turns.free(&tenant);
        assert_eq!(turns.next(2), None);
    }
}
