//! What a scan costs the database: figures that do not depend on the machine.

use carrel_platform::ServerOptions;
use carrel_testkit::{ExecutedPlan, ExecutedPlans, LendingServer, Reply, TestItem, TestPatron, TestServer};
use futures_util::future::join_all;
use serde_json::json;
use std::fmt::Write as _;

async fn pairs(server: &LendingServer, number: usize) -> Vec<(TestPatron, TestItem)> {
    let mut pairs = Vec::new();
    for _ in 0..number {
        pairs.push((server.patron().await, server.item().await));
    }
    pairs
}

/// A scan changes an item's state in its place on the page and touches no index: what changes is not indexed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_update_the_state_of_items_in_place() {
    const ITEMS: usize = 12;
    const ROUNDS: usize = 10;
    let server = LendingServer::open().await;
    let pairs = pairs(&server, ITEMS).await;
    for _ in 0..ROUNDS {
        let lent = join_all(pairs.iter().map(|(patron, book)| server.check_out(book, patron))).await;
        lent.iter().for_each(|reply| drop(reply.expect(201)));
        let back = join_all(pairs.iter().map(|(_, book)| server.check_in(book, server.main_desk))).await;
        back.iter().for_each(|reply| drop(reply.expect(200)));
    }
    // A connection reports its figures when it ends.
    server.server.replace_connections().await;
    let database = server.server.database().await;
    let row = database
        .query_one(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'item_state'",
            &[],
        )
        .await
        .expect("figures of the table");
    let (updates, in_place): (i64, i64) = (row.get(0), row.get(1));
    // A batch that is undone and tried again counts, too.
    assert!(updates >= 2 * (ITEMS * ROUNDS) as i64, "each scan changes one state: {updates}");
    // A page that is full is an exception.
    assert!(in_place * 10 >= updates * 9, "{in_place} of {updates} updates were made in place");
}

/// What each action at the desk may cost at most, one action alone: statements without BEGIN and COMMIT, round trips,
/// buffers (pages of 8 KiB looked at by its statements, checks of foreign keys left out) and bytes of write-ahead log.
const RECORDED: &str = include_str!("costs.tsv");

/// The lengths of names and the fill of pages differ a little from run to run.
const TOLERANCE: f64 = 1.03;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    statements: u64,
    round_trips: u64,
    buffers: u64,
    wal_bytes: u64,
}

impl Cost {
    async fn of(reply: Reply, plans: &mut ExecutedPlans) -> Cost {
        assert!(reply.status < 300, "{}", reply.text());
        let plans = plans.take().await;
        let round_trips = reply.header("x-carrel-round-trips").and_then(|number| number.parse().ok());
        Cost {
            statements: plans.len() as u64,
            round_trips: round_trips.expect("the server counts its round trips"),
            buffers: plans.iter().map(ExecutedPlan::buffers).sum(),
            wal_bytes: plans.iter().map(ExecutedPlan::wal_bytes).sum(),
        }
    }

    fn lower(self, other: Cost) -> Cost {
        Cost {
            statements: self.statements.min(other.statements),
            round_trips: self.round_trips.min(other.round_trips),
            buffers: self.buffers.min(other.buffers),
            wal_bytes: self.wal_bytes.min(other.wal_bytes),
        }
    }

    fn is_within(self, recorded: Cost) -> bool {
        let grows = |now: u64, recorded: u64| now as f64 > recorded as f64 * TOLERANCE;
        self.statements <= recorded.statements
            && self.round_trips <= recorded.round_trips
            && !grows(self.buffers, recorded.buffers)
            && !grows(self.wal_bytes, recorded.wal_bytes)
    }
}

fn recorded(action: &str) -> Option<Cost> {
    let line = RECORDED.lines().find(|line| line.split('\t').next() == Some(action))?;
    let numbers: Vec<u64> = line.split('\t').skip(1).filter_map(|number| number.parse().ok()).collect();
    let [statements, round_trips, buffers, wal_bytes] = numbers[..] else { return None };
    Some(Cost { statements, round_trips, buffers, wal_bytes })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_action_at_the_desk_costs_more_than_recorded() {
    let options = ServerOptions { counts_round_trips: true, ..ServerOptions::default() };
    let server = LendingServer::on(TestServer::start_in(options).await).await;
    let pairs = pairs(&server, 10).await;
    let mut plans = server.server.record_plans().await;
    let mut costs: Vec<(&str, Cost)> = Vec::new();
    let mut note = |action, cost: Cost| match costs.iter_mut().find(|(known, _)| *known == action) {
        Some((_, known)) => *known = known.lower(cost),
        None => costs.push((action, cost)),
    };
    // The lowest of several: the first ones read settings and plan.
    for (patron, item) in &pairs {
        plans.take().await;
        note("check-out", Cost::of(server.check_out(item, patron).await, &mut plans).await);
        let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode});
        let renewed = server.admin().post("/circulation/renew-by-barcode", &renewal).await;
        note("renewal", Cost::of(renewed, &mut plans).await);
        note("check-in", Cost::of(server.check_in(item, server.main_desk).await, &mut plans).await);
    }
    for (patron, item) in &pairs {
        server.check_out(item, &server.patron().await).await.expect(201);
        plans.take().await;
        let held = server.asks_for(item, patron, "Hold", server.main_desk).await;
        note("hold of an item", Cost::of(held, &mut plans).await);
    }
    let mut measured = String::new();
    for (action, cost) in &costs {
        let Cost { statements, round_trips, buffers, wal_bytes } = cost;
        let _ = writeln!(measured, "{action}\t{statements}\t{round_trips}\t{buffers}\t{wal_bytes}");
    }
    for (action, cost) in costs {
        let allowed = recorded(action).unwrap_or_else(|| panic!("{action} is not recorded:\n{measured}"));
        assert!(
            cost.is_within(allowed),
            "{action} costs more than costs.tsv allows ({allowed:?}). Make it cheaper, or give the reason and record:\n{measured}"
        );
    }
    println!("{measured}");
}
