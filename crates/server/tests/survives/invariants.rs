//! Invariants that must hold at any moment, checked in the database: each is one statement, so that it sees one
//! snapshot, and returns the rows that violate it.

use crate::desks::Scans;
use crate::running::Running;
use std::collections::HashMap;
use uuid::Uuid;

const NEVER: [(&str, &str); 13] = [
    ("an item has two open loans", "SELECT item_id FROM loan WHERE is_open GROUP BY item_id HAVING count(*) > 1"),
    (
        "an item is lent and not checked out",
        "SELECT item_id FROM loan JOIN item_state USING (item_id) WHERE is_open AND status <> 'Checked out'",
    ),
    (
        "an item is checked out and not lent",
        "SELECT item_id FROM item_state WHERE status = 'Checked out'
         AND NOT EXISTS (SELECT 1 FROM loan WHERE loan.item_id = item_state.item_id AND is_open)",
    ),
    (
        "a loan has not one first version in its history",
        "SELECT loan.id FROM loan LEFT JOIN audit_loan version
             ON version.doc->'loan'->>'id' = loan.id::text AND version.doc->>'operation' = 'I'
         GROUP BY loan.id HAVING count(version.id) <> 1",
    ),
    (
        "a loan has not as many later versions in its history as it was changed",
        "SELECT loan.id FROM loan LEFT JOIN audit_loan version
             ON version.doc->'loan'->>'id' = loan.id::text AND version.doc->>'operation' = 'U'
         GROUP BY loan.id, is_open HAVING count(version.id) <>
             CASE WHEN is_open THEN 0 ELSE 1 END + coalesce((loan.doc->>'renewalCount')::int, 0)",
    ),
    (
        "a loan's history does not end with what it is",
        "SELECT loan.id FROM loan WHERE NOT EXISTS (SELECT 1 FROM audit_loan version
             WHERE version.doc->'loan'->>'id' = loan.id::text
             AND version.doc->'loan'->'status' = loan.doc->'status'
             AND version.doc->'loan'->'action' = loan.doc->'action')",
    ),
    (
        "history tells of a loan that is not there",
        "SELECT version.id FROM audit_loan version
         WHERE NOT EXISTS (SELECT 1 FROM loan WHERE loan.id::text = version.doc->'loan'->>'id')",
    ),
    (
        "a loan was not announced once when it began",
        "SELECT loan.id FROM loan LEFT JOIN outbox
             ON key = loan.id::text AND topic = 'circulation.loan' AND payload->>'type' = 'CREATE'
         GROUP BY loan.id HAVING count(outbox.id) <> 1",
    ),
    (
        "a loan was not announced once when it was renewed and once when it ended",
        "SELECT loan.id FROM loan LEFT JOIN outbox
             ON key = loan.id::text AND topic = 'circulation.loan' AND payload->>'type' = 'UPDATE'
         GROUP BY loan.id, is_open HAVING count(outbox.id) <>
             CASE WHEN is_open THEN 0 ELSE 1 END + coalesce((loan.doc->>'renewalCount')::int, 0)",
    ),
    (
        "a loan is announced and not there",
        "SELECT key FROM outbox WHERE topic = 'circulation.loan'
         AND NOT EXISTS (SELECT 1 FROM loan WHERE loan.id::text = key)",
    ),
    (
        "a patron's session lacks a check-out or a check-in, or has it twice",
        "SELECT loan.id FROM loan LEFT JOIN patron_action_session session
             ON session.doc->>'loanId' = loan.id::text
         GROUP BY loan.id, is_open
         HAVING count(session.id) FILTER (WHERE session.doc->>'actionType' = 'Check-out') <> 1
             OR count(session.id) FILTER (WHERE session.doc->>'actionType' = 'Check-in')
                 <> CASE WHEN is_open THEN 0 ELSE 1 END",
    ),
    (
        "an item's state has not changed once with every scan and every page request",
        "SELECT item_id FROM item_state
             LEFT JOIN (SELECT item_id, count(*) AS times FROM loan GROUP BY 1) lent USING (item_id)
             LEFT JOIN (SELECT (doc->>'itemId')::uuid AS item_id, count(*) AS times FROM check_in GROUP BY 1) taken_in
                 USING (item_id)
             LEFT JOIN (SELECT (doc->>'itemId')::uuid AS item_id, count(*) AS times FROM request
                        WHERE doc->>'requestType' = 'Page' GROUP BY 1) paged USING (item_id)
         WHERE version <> coalesce(lent.times, 0) + coalesce(taken_in.times, 0) + coalesce(paged.times, 0)",
    ),
    (
        "a check-in was not announced once",
        "SELECT check_in.id FROM check_in LEFT JOIN outbox
             ON key = check_in.id::text AND topic = 'circulation.check-in'
         GROUP BY check_in.id HAVING count(outbox.id) <> 1",
    ),
];

/// Fails with the first violation.
pub async fn hold(running: &Running) {
    let database = running.database().await;
    for (sentence, contradictions) in NEVER {
        let count = format!("SELECT count(*) FROM ({contradictions}) contradiction");
        let rows = database
            .query_one(&count, &[])
            .await
            .unwrap_or_else(|error| panic!("cannot check whether {sentence}: {error:?}"));
        let found: i64 = rows.get(0);
        assert!(found == 0, "{sentence}: {found} times\n{}", running.end_of_log());
    }
}

/// Every acknowledged scan is stored, and no scan is stored more often than it was sent.
pub async fn hold_every_acknowledged_scan(running: &Running, scans: &Scans) {
    let database = running.database().await;
    let mut is_open: HashMap<Uuid, bool> = HashMap::new();
    for row in database.query("SELECT id, is_open FROM loan", &[]).await.expect("loans can be read") {
        is_open.insert(row.get(0), row.get(1));
    }
    let lost: Vec<_> = scans.lent.iter().filter(|loan| !is_open.contains_key(loan)).collect();
    assert!(lost.is_empty(), "acknowledged check-outs are lost: {lost:?}");
    let undone: Vec<_> = scans.returned.iter().filter(|loan| is_open.get(*loan) != Some(&false)).collect();
    assert!(undone.is_empty(), "acknowledged check-ins are lost: {undone:?}");
    let rows = database
        .query("SELECT doc->>'itemId', count(*) FROM check_in GROUP BY 1", &[])
        .await
        .expect("check-ins can be read");
    let counted: HashMap<String, i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    for (item, (acknowledged, sent)) in &scans.check_ins {
        let stored = counted.get(&item.to_string()).copied().unwrap_or(0) as u64;
        // The sample library's first loan was checked in before.
        assert!(
            (*acknowledged..=*sent + 1).contains(&stored),
            "item {item}: {acknowledged} check-ins acknowledged, {sent} sent, {stored} stored"
        );
    }
}
