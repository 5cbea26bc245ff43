//! What a scan costs the database.

use carrel_testkit::{LendingServer, TestItem, TestPatron};
use futures_util::future::join_all;

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
    assert_eq!(updates, 2 * (ITEMS * ROUNDS) as i64, "each scan changes one state");
    // A page that is full is an exception.
    assert!(in_place * 10 >= updates * 9, "{in_place} of {updates} updates were made in place");
}
