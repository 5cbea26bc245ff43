//! The work of the database for a scan does not depend on the number of open loans.

use carrel_testkit::queues::placed;
use carrel_testkit::{ExecutedPlan, ExecutedPlans, LendingServer, TestItem, TestPatron};
use futures_util::future::join_all;
use serde_json::json;

const OPEN_LOANS: u64 = 20_000;
/// A batch has at most 16 scans; each reads a few rows of each table.
const ROWS_OF_A_BATCH: u64 = 200;

const TABLES: [&str; 7] = ["item", "item_state", "loan", "users", "request", "instance", "holdings_record"];

/// Updates PostgreSQL's statistics now, and disables later updates.
async fn analyze_for_the_last_time(server: &LendingServer) {
    let database = server.server.database().await;
    for table in TABLES {
        let sql = format!("ALTER TABLE {table} SET (autovacuum_enabled = off)");
        database.batch_execute(&sql).await.expect("a table can be left alone");
        database.batch_execute(&format!("VACUUM ANALYZE {table}")).await.expect("a table can be analyzed");
    }
}

/// Adds many items and patrons, copies of those of the given loan, and records them in a table.
async fn grow(server: &LendingServer, lent: &TestItem) {
    let (database, item) = (server.server.database().await, lent.id);
    let sql = format!(
        "CREATE TABLE more AS SELECT number, gen_random_uuid() AS item, gen_random_uuid() AS patron
             FROM generate_series(1, {OPEN_LOANS}) number;
         INSERT INTO item (id, doc) SELECT more.item,
             doc || jsonb_build_object('id', more.item, 'barcode', 'lent-' || number, 'hrid', 'lent-' || number)
             FROM item, more WHERE item.id = '{item}';
         INSERT INTO item_state (item_id, status, version) SELECT more.item, 'Checked out', 1 FROM more;
         INSERT INTO users (id, doc) SELECT more.patron, doc || jsonb_build_object('id', more.patron,
             'username', 'borrower' || number, 'barcode', 'borrower-' || number)
             FROM users, more WHERE users.id = (SELECT user_id FROM loan WHERE item_id = '{item}')"
    );
    database.batch_execute(&sql).await.expect("items can be made");
}

/// Inserts loans of these items to these patrons.
async fn lend_many(server: &LendingServer, lent: &TestItem) {
    let (database, item) = (server.server.database().await, lent.id);
    let sql = format!(
        "INSERT INTO loan (id, doc) SELECT one.id,
             doc || jsonb_build_object('id', one.id, 'itemId', one.item, 'userId', one.patron,
                 'status', jsonb_build_object('name', 'Open'))
             FROM loan, (SELECT gen_random_uuid() AS id, * FROM more) one WHERE loan.item_id = '{item}'"
    );
    database.batch_execute(&sql).await.expect("loans can be made");
}

/// Runs the actions of a day at a desk, and returns the statements of each by name.
async fn day(
    server: &LendingServer,
    pairs: &[(TestPatron, TestItem)],
    plans: &mut ExecutedPlans,
) -> Vec<(&'static str, Vec<ExecutedPlan>)> {
    let mut done = Vec::new();
    plans.take().await;
    let lent = join_all(pairs.iter().map(|(patron, test_item)| server.check_out(test_item, patron))).await;
    lent.iter().for_each(|reply| drop(reply.expect(201)));
    done.push(("check-out", plans.take().await));

    let (patron, test_item) = &pairs[0];
    let renewal = json!({"itemBarcode": test_item.barcode, "userBarcode": patron.barcode});
    server.admin().post("/circulation/renew-by-barcode", &renewal).await.expect(200);
    done.push(("renewal", plans.take().await));

    let back =
        join_all(pairs.iter().map(|(_, test_item)| server.check_in(test_item, server.main_desk))).await;
    back.iter().for_each(|reply| drop(reply.expect(200)));
    done.push(("check-in", plans.take().await));

    let (waited_for, waiting) = (server.item_on_loan().await, server.patron().await);
    plans.take().await;
    placed(&server.place_request(&waited_for, &waiting, "Hold", server.main_desk).await);
    done.push(("hold", plans.take().await));
    server.check_in(&waited_for, server.main_desk).await.expect(200);
    done.push(("check-in of a requested item", plans.take().await));
    server.check_out(&waited_for, &waiting).await.expect(201);
    done.push(("check-out from the hold shelf", plans.take().await));
    done
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_of_a_desk_do_not_read_more_with_more_open_loans() {
    let server = LendingServer::open().await;
    let lent = server.item_on_loan().await;
    let mut pairs = Vec::new();
    for _ in 0..24 {
        pairs.push((server.patron().await, server.item().await));
    }
    grow(&server, &lent).await;
    server.check_in(&lent, server.main_desk).await.expect(200);
    analyze_for_the_last_time(&server).await;
    let mut plans = server.server.record_plans().await;
    // Connections keep the plans that they make now, while there are hardly any loans.
    day(&server, &pairs, &mut plans).await;
    server.enable_title_requests().await;
    day(&server, &pairs, &mut plans).await;
    lend_many(&server, &lent).await;

    let mut wrong = Vec::new();
    for (action, plans) in day(&server, &pairs, &mut plans).await {
        assert!(plans.len() > 1, "{action}: no plans were recorded");
        for plan in plans {
            let (rows, part) = plan.most_rows_read();
            if rows > ROWS_OF_A_BATCH {
                wrong.push(format!("{action}: {rows} rows by {part}:\n{}\n", plan.statement));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
