//! The database costs of a scan: figures that do not depend on the machine.

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

/// A scan updates an item's state in place (HOT), since it changes no indexed column.
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
    // A connection reports its statistics when it ends.
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
    // A batch that is rolled back and retried counts, too.
    assert!(updates >= 2 * (ITEMS * ROUNDS) as i64, "each scan changes one state: {updates}");
    // An index on a column that changes prevents every update in place. A full page prevents one: while a transaction
    // of another test is open, PostgreSQL does not clear old rows away, and about a fifth of the updates meets one.
    assert!(in_place * 2 >= updates, "{in_place} of {updates} updates were made in place");
}

/// The most that each desk action may cost when it runs alone: statements without BEGIN and COMMIT, round trips,
/// buffers (pages of 8 KiB accessed by its statements, without checks of foreign keys) and bytes of write-ahead log.
const RECORDED: &str = include_str!("costs.tsv");

/// The lengths of names and the fill of pages differ slightly between runs.
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
    // The lowest of several runs: the first ones read settings and plan statements.
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
        let held = server.place_request(item, patron, "Hold", server.main_desk).await;
        note("hold of an item", Cost::of(held, &mut plans).await);
    }
    super::overdue_fines::charge_overdue_fines(&server, json!({})).await;
    let long_ago = json!({"loanDate": "2024-01-01T00:00:00Z"});
    for _ in 0..5 {
        let (patron, item) = (server.patron().await, server.item().await);
        server.check_out_with(&item, &patron, long_ago.clone()).await.expect(201);
        plans.take().await;
        let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode});
        let renewed = server.admin().post("/circulation/renew-by-barcode", &renewal).await;
        note("renewal with an overdue fine", Cost::of(renewed, &mut plans).await);
        let item = server.item().await;
        server.check_out_with(&item, &patron, long_ago.clone()).await.expect(201);
        plans.take().await;
        let returned = server.check_in(&item, server.main_desk).await;
        note("check-in with an overdue fine", Cost::of(returned, &mut plans).await);
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

/// With limits for all six conditions, the same statement reads the patron's loans and accounts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_for_all_conditions_make_a_check_out_at_most_a_fifth_more_expensive() {
    const CONDITIONS: [&str; 6] = [
        "3d7c52dc-c732-4223-8bf8-e5917801386f",
        "72b67965-5b73-4840-bc0b-be8f3f6e047e",
        "584fbd4f-6a34-4730-a6ca-73a6a6a9d845",
        "e5b45031-a202-4abb-917b-e1df9346fe2c",
        "08530ac4-07f2-48e6-9dda-a97bc2bf7053",
        "cf7a0d5f-a327-4ca1-aa9e-dc55ec006b8a",
    ];
    /// Loans of each patron before the check-out.
    const LOANS: [usize; 3] = [0, 3, 10];
    let options = ServerOptions { counts_round_trips: true, ..ServerOptions::default() };
    let server = LendingServer::on(TestServer::start_in(options).await).await;
    let mut patrons = Vec::new();
    for loans in LOANS {
        let patron = server.patron().await;
        for _ in 0..loans {
            server.check_out(&server.item().await, &patron).await.expect(201);
        }
        patrons.push(patron);
    }
    let items = pairs(&server, 8).await;
    let mut plans = server.server.record_plans().await;
    let mut measured: Vec<Vec<Cost>> = Vec::new();
    for limited in [false, true] {
        if limited {
            for condition in CONDITIONS {
                server.blocks_above(condition, 999.0, "Too much").await;
            }
        }
        let mut costs = Vec::new();
        for patron in &patrons {
            let mut lowest: Option<Cost> = None;
            for (_, item) in &items {
                plans.take().await;
                let cost = Cost::of(server.check_out(item, patron).await, &mut plans).await;
                lowest = Some(lowest.map_or(cost, |known| known.lower(cost)));
                server.check_in(item, server.main_desk).await.expect(200);
            }
            costs.extend(lowest);
        }
        measured.push(costs);
    }
    for ((loans, without), with) in LOANS.iter().zip(&measured[0]).zip(&measured[1]) {
        println!("{loans} loans before: without limits {without:?}, with six {with:?}");
        assert_eq!((with.statements, with.round_trips), (without.statements, without.round_trips));
        // The fill of pages differs by one between runs.
        assert!(
            with.buffers as f64 <= without.buffers as f64 * 1.2 + 1.0 || *loans > 3,
            "{loans} loans before: {} pages instead of {}",
            with.buffers,
            without.buffers
        );
    }
}
