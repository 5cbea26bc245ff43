//! Who is served next.

use super::*;

/// A budget whose connections and callers are numbers, and its clock.
struct Desk {
    budget: Budget<usize, &'static str>,
    now: Instant,
    opened: usize,
    /// What is borrowed: the caller, its pool and purpose, and its connection.
    borrowed: VecDeque<(&'static str, u64, Purpose, usize, Instant)>,
}

impl Desk {
    fn new(limit: usize) -> Desk {
        let now = Instant::now();
        Desk { budget: Budget::new(limit), now, opened: 0, borrowed: VecDeque::new() }
    }

    fn pool(&mut self, tenant: &'static str) -> u64 {
        let kind = PoolKind { tenant: Some(tenant), size: 10, is_second: false, hands_over: true };
        self.budget.add_pool(&kind)
    }

    fn second_pool(&mut self, tenant: &'static str) -> u64 {
        let kind = PoolKind { tenant: Some(tenant), size: 4, is_second: true, hands_over: true };
        self.budget.add_pool(&kind)
    }

    fn asks_for(&mut self, pool: u64, purpose: Purpose, caller: &'static str) {
        self.budget.wait(pool, purpose, caller);
        self.serve();
    }

    fn asks(&mut self, pool: u64, caller: &'static str) {
        self.asks_for(pool, Purpose::Call, caller);
    }

    fn serve(&mut self) {
        while let Some((pool, purpose, caller, grant)) = self.budget.serve_next(self.now, |_| false) {
            let (connection, obtained) = match grant {
                Grant::Own(connection, obtained) => (connection, obtained),
                Grant::HandedOver(connection) => (connection, self.now),
                Grant::New => {
                    self.opened += 1;
                    (self.opened, self.now)
                }
            };
            self.borrowed.push_back((caller, pool, purpose, connection, obtained));
        }
        assert!(self.budget.open() <= self.budget.limit() || self.borrowed.len() > self.budget.limit());
    }

    /// The one who has borrowed for the longest time returns the connection, after this time.
    fn first_returns_after(&mut self, milliseconds: u64) {
        self.now += Duration::from_millis(milliseconds);
        let (_, pool, purpose, connection, obtained) = self.borrowed.pop_front().expect("one has borrowed");
        self.budget.give_back(pool, purpose, Some((connection, obtained)), self.now);
        self.serve();
    }

    fn holders(&self) -> Vec<&'static str> {
        self.borrowed.iter().map(|(caller, ..)| *caller).collect()
    }
}

#[test]
fn the_queue_of_one_tenant_does_not_delay_the_call_of_another() {
    let mut desk = Desk::new(8);
    let (busy, quiet) = (desk.pool("busy"), desk.pool("quiet"));
    for _ in 0..200 {
        desk.asks(busy, "storm");
    }
    assert_eq!(desk.holders(), ["storm"; 6], "a quarter is left to others");
    desk.asks(quiet, "check-out");
    assert_eq!(desk.holders().last(), Some(&"check-out"), "it does not wait at all");
}

#[test]
fn waiting_tenants_are_served_in_turn() {
    let mut desk = Desk::new(1);
    let tenants: Vec<u64> = ["a", "b", "c"].map(|name| desk.pool(name)).into();
    for _ in 0..50 {
        desk.asks(tenants[0], "a");
    }
    desk.asks(tenants[1], "b");
    desk.asks(tenants[2], "c");
    desk.asks(tenants[1], "b");
    let mut served = Vec::new();
    for _ in 0..7 {
        served.extend(desk.holders());
        desk.first_returns_after(150);
    }
    assert_eq!(served, ["a", "b", "c", "a", "b", "a", "a"]);
    assert_eq!(desk.opened, 1, "the connection is handed over");
}

#[test]
fn a_pool_keeps_a_connection_for_its_own_callers_for_a_moment() {
    let mut desk = Desk::new(1);
    let (a, b) = (desk.pool("a"), desk.pool("b"));
    for _ in 0..10 {
        desk.asks(a, "a");
    }
    desk.asks(b, "b");
    let mut before = 0;
    while desk.holders() == ["a"] {
        desk.first_returns_after(30);
        before += 1;
    }
    assert_eq!(before, 4, "calls of 30 ms within {KEEP_FOR_OWN:?}");
}

#[test]
fn background_work_leaves_connections_to_calls_and_gets_some_itself() {
    let mut desk = Desk::new(16);
    let pool = desk.pool("a");
    for _ in 0..10 {
        desk.asks_for(pool, Purpose::Background, "job");
    }
    assert_eq!(desk.holders(), ["job"; 4]);
    desk.asks(pool, "call");
    assert_eq!(desk.holders().last(), Some(&"call"));
}

#[test]
fn second_connections_do_not_wait_for_the_first_ones() {
    let mut desk = Desk::new(8);
    let (pool, second) = (desk.pool("a"), desk.second_pool("a"));
    for _ in 0..20 {
        desk.asks(pool, "call");
    }
    assert_eq!(desk.holders(), ["call"; 7]);
    desk.asks_for(second, Purpose::Second, "second");
    assert_eq!(desk.holders().last(), Some(&"second"));
}

#[test]
fn a_smaller_limit_closes_what_is_idle_now_and_what_is_borrowed_when_it_is_returned() {
    let mut desk = Desk::new(4);
    let pool = desk.pool("a");
    for _ in 0..4 {
        desk.asks(pool, "call");
    }
    desk.first_returns_after(1);
    assert_eq!(desk.budget.set_limit(2), [1], "the idle one");
    assert_eq!(desk.budget.open(), 3);
    desk.first_returns_after(1);
    assert_eq!((desk.budget.open(), desk.budget.usage_of(pool)), (2, (2, 0, 0)), "one more than may be open");
    desk.first_returns_after(1);
    assert_eq!((desk.budget.open(), desk.budget.usage_of(pool)), (2, (2, 1, 0)));
}

#[test]
fn a_closed_pool_gives_its_connections_to_others() {
    let mut desk = Desk::new(1);
    let (a, b) = (desk.pool("a"), desk.pool("b"));
    desk.asks(a, "a");
    desk.asks(b, "b");
    desk.budget.close_pool(a);
    desk.first_returns_after(1);
    assert_eq!(desk.holders(), ["b"]);
    assert_eq!(desk.budget.number_of_tenants, 1);
}

#[test]
fn only_connections_that_nobody_has_used_for_a_while_are_closed() {
    let mut desk = Desk::new(4);
    let pool = desk.pool("a");
    desk.asks(pool, "one");
    desk.asks(pool, "two");
    desk.first_returns_after(1);
    desk.first_returns_after(60);
    let minute = Duration::from_millis(60);
    assert_eq!(desk.budget.take_idle(minute, desk.now), [1]);
    assert_eq!(desk.budget.open(), 1);
}
