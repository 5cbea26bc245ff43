//! Concurrent scans share transactions, and each gets the answer that it would get alone.

use carrel_testkit::queues::placed;
use carrel_testkit::{LendingServer, TestItem, TestPatron};
use futures_util::future::join_all;
use serde_json::Value;

const DESKS: usize = 40;

async fn patrons_with_items(server: &LendingServer) -> Vec<(TestPatron, TestItem)> {
    join_all((0..DESKS).map(|_| async { (server.patron().await, server.item().await) })).await
}

async fn total(server: &LendingServer, path: &str) -> u64 {
    server.admin().get(path).await.expect(200)["totalRecords"].as_u64().unwrap_or_default()
}

/// Scans of this kind, and the number of their transactions.
async fn scans(server: &LendingServer, kind: &str) -> (u64, u64) {
    let metrics = server.server.get("/metrics").await.text();
    let figure = |name: &str| {
        let line = metrics.lines().find(|line| line.starts_with(name) && line.contains(kind));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or_default() as u64
    };
    (figure("carrel_scans_total"), figure("carrel_scan_transactions_total"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_of_forty_desks_share_transactions() {
    let server = LendingServer::open().await;
    let pairs = patrons_with_items(&server).await;

    let lent = join_all(pairs.iter().map(|(reader, test_item)| server.check_out(test_item, reader))).await;
    for (answer, (reader, test_item)) in lent.iter().zip(&pairs) {
        let loan = answer.expect(201);
        assert_eq!(
            (&loan["userId"], &loan["itemId"]),
            (&reader.id.to_string().into(), &test_item.id.to_string().into())
        );
        assert_eq!(
            loan["item"]["barcode"],
            Value::from(test_item.barcode.as_str()),
            "each desk hears of its own item"
        );
        assert_eq!(server.open_loans_of(reader).await.len(), 1);
        assert_eq!(server.status_of(test_item).await, "Checked out");
    }
    assert_eq!(total(&server, "/loan-storage/loan-history?limit=0").await, DESKS as u64);
    assert_eq!(
        total(&server, "/patron-action-session-storage/patron-action-sessions?limit=0").await,
        DESKS as u64
    );
    let (calls, transactions) = scans(&server, "check-out").await;
    assert_eq!(calls, DESKS as u64);
    assert!(transactions < calls, "{calls} check-outs took {transactions} transactions");

    let back =
        join_all(pairs.iter().map(|(_, test_item)| server.check_in(test_item, server.main_desk))).await;
    for (answer, (_, test_item)) in back.iter().zip(&pairs) {
        let answer = answer.expect(200);
        assert_eq!(answer["loan"]["status"]["name"], "Closed");
        assert_eq!(answer["item"]["barcode"], Value::from(test_item.barcode.as_str()));
        assert_eq!(server.status_of(test_item).await, "Available");
    }
    assert_eq!(total(&server, "/loan-storage/loans?query=status.name==Closed&limit=0").await, DESKS as u64);
    assert_eq!(total(&server, "/loan-storage/loan-history?limit=0").await, 2 * DESKS as u64);
    assert_eq!(total(&server, "/check-in-storage/check-ins?limit=0").await, DESKS as u64);
    let (calls, transactions) = scans(&server, "check-in").await;
    assert!(transactions < calls, "{calls} check-ins took {transactions} transactions");

    // Each change is published once: two events for the loan, one for the check-in.
    let database = server.server.database().await;
    let events = database
        .query_one(
            "SELECT count(*), count(DISTINCT key) FROM outbox
             WHERE topic IN ('circulation.loan', 'circulation.check-in')",
            &[],
        )
        .await
        .expect("events are counted");
    assert_eq!((events.get::<_, i64>(0), events.get::<_, i64>(1)), (3 * DESKS as i64, 2 * DESKS as i64));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_scan_does_not_affect_the_others_of_its_batch() {
    let server = LendingServer::open().await;
    let pairs = patrons_with_items(&server).await;
    let nobody = TestPatron { barcode: "no such card".into(), ..pairs[0].0.clone() };
    let unknown = TestItem { barcode: "no such\u{0}book".into(), ..pairs[0].1.clone() };
    let (waited_for, waiting) = (server.item().await, server.patron().await);
    server.check_out(&waited_for, &server.patron().await).await.expect(201);
    placed(&server.place_request(&waited_for, &waiting, "Hold", server.main_desk).await);
    server.check_in(&waited_for, server.main_desk).await.expect(200);

    // Every fourth scan is refused: an unknown patron, an unknown item, an item awaiting another patron.
    let answers = join_all(pairs.iter().enumerate().map(|(desk, (reader, test_item))| {
        let (server, nobody, unknown, waited_for) = (&server, &nobody, &unknown, &waited_for);
        async move {
            match desk % 12 {
                0 => server.check_out(test_item, nobody).await,
                4 => server.check_out(unknown, reader).await,
                8 => server.check_out(waited_for, reader).await,
                _ => server.check_out(test_item, reader).await,
            }
        }
    }))
    .await;

    for (desk, answer) in answers.iter().enumerate() {
        match desk % 12 {
            0 => assert_eq!(answer.refusals(), ["Could not find user with matching barcode"]),
            4 => assert!(matches!(answer.status, 400 | 422), "{}", answer.text()),
            8 => assert!(answer.refusals()[0].contains("requested by another patron"), "{}", answer.text()),
            _ => drop(answer.expect(201)),
        }
    }
    let lent = (0..DESKS).filter(|desk| desk % 4 != 0).count() as u64;
    assert_eq!(total(&server, "/loan-storage/loans?query=status.name==Open&limit=0").await, lent);
    server.check_out(&waited_for, &waiting).await.expect(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_item_scanned_at_many_desks_is_checked_out_and_in_once() {
    let server = LendingServer::open().await;
    let (test_item, pairs) = (server.item().await, patrons_with_items(&server).await);

    let answers = join_all(pairs.iter().map(|(reader, _)| server.check_out(&test_item, reader))).await;
    let lent = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(lent, 1);
    for refused in answers.iter().filter(|answer| answer.status != 201) {
        assert_eq!(refused.status, 422, "{}", refused.text());
    }

    let back = join_all((0..DESKS).map(|_| server.check_in(&test_item, server.main_desk))).await;
    let closed = back.iter().filter(|answer| answer.expect(200)["loan"].is_object()).count();
    assert_eq!(closed, 1, "the first one closes the loan, the others find the book on the desk");
    assert_eq!(total(&server, "/check-in-storage/check-ins?limit=0").await, DESKS as u64);
}
