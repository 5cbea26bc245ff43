//! A bound on the concurrent calls of one client; calls beyond it are answered with 429.

use carrel_records::Failure;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

/// A client: the user if the caller is authenticated, otherwise the address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Client {
    User { tenant: String, id: Uuid },
    Address(IpAddr),
}

/// The number of concurrent calls of each client.
#[derive(Debug, Clone, Default)]
pub struct ConcurrencyLimit(Arc<Mutex<HashMap<Client, usize>>>);

/// One counted call; dropping it releases the count.
#[derive(Debug)]
pub struct Permit {
    concurrency_limit: ConcurrencyLimit,
    client: Client,
}

impl ConcurrencyLimit {
    pub fn enter(&self, client: Client, most: usize) -> Result<Permit, Failure> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let under_way = clients.entry(client.clone()).or_default();
        if *under_way >= most {
            let words = format!("{most} of your calls are under way already. Try again in a moment.");
            return Err(Failure::TooMany(words));
        }
        *under_way += 1;
        Ok(Permit { concurrency_limit: self.clone(), client })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut clients = self.concurrency_limit.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under_way) = clients.get_mut(&self.client) {
            *under_way -= 1;
            if *under_way == 0 {
                clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn somebody(number: u8) -> Client {
        Client::Address(IpAddr::from([127, 0, 0, number]))
    }

    #[test]
    fn a_client_with_too_many_calls_is_refused_and_others_are_not() {
        let concurrency_limit = ConcurrencyLimit::default();
        let first = concurrency_limit.enter(somebody(1), 2).expect("a permit");
        let _second = concurrency_limit.enter(somebody(1), 2).expect("a permit");
        assert!(matches!(concurrency_limit.enter(somebody(1), 2), Err(Failure::TooMany(_))));
        concurrency_limit.enter(somebody(2), 2).expect("a permit for another");
        drop(first);
        concurrency_limit.enter(somebody(1), 2).expect("the permit that was given back");
    }

    #[test]
    fn a_client_without_calls_is_forgotten() {
        let concurrency_limit = ConcurrencyLimit::default();
        drop(concurrency_limit.enter(somebody(1), 1));
        assert!(concurrency_limit.0.lock().expect("unpoisoned").is_empty());
    }
}
