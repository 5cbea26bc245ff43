//! The database costs of a refresh: figures that do not depend on the machine.

use super::{USERS, create, fql, until};
use carrel_testkit::{ExecutedPlan, ExecutedPlans, TestServer};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// Users of the library: 20 rows of packed identifiers.
const RECORDS: i64 = 20_000;

/// The most that a refresh of [`RECORDS`] may cost when it runs alone: statements without BEGIN and COMMIT, buffers
/// (pages of 8 KiB accessed, checks of foreign keys included) and bytes of write-ahead log.
///
/// - bare statement: an `INSERT … SELECT` of the same packed result into a table without references
/// - packed result: the statement of the refresh that finds and stores the records
/// - everything else: all other statements from the call that asks for the refresh to the end of its job
/// - removal: deletion of the replaced result by maintenance
const RECORDED: &str = include_str!("costs.tsv");

/// Page fill differs slightly between runs.
const TOLERANCE: f64 = 1.05;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    statements: usize,
    buffers: u64,
    wal_bytes: u64,
}

impl Cost {
    fn of<'a>(plans: impl IntoIterator<Item = &'a ExecutedPlan>) -> Cost {
        plans.into_iter().fold(Cost { statements: 0, buffers: 0, wal_bytes: 0 }, |sum, plan| Cost {
            // Checks of foreign keys are statements within another one.
            statements: sum.statements + usize::from(!is_reference_check(plan)),
            buffers: sum.buffers + plan.buffers(),
            wal_bytes: sum.wal_bytes + plan.wal_bytes(),
        })
    }

    fn and(self, other: Cost) -> Cost {
        Cost {
            statements: self.statements + other.statements,
            buffers: self.buffers + other.buffers,
            wal_bytes: self.wal_bytes + other.wal_bytes,
        }
    }

    fn lower(self, other: Cost) -> Cost {
        Cost {
            statements: self.statements.min(other.statements),
            buffers: self.buffers.min(other.buffers),
            wal_bytes: self.wal_bytes.min(other.wal_bytes),
        }
    }
}

fn is_reference_check(plan: &ExecutedPlan) -> bool {
    plan.statement.contains("FROM ONLY \"")
}

fn is_of_packed_result(plan: &ExecutedPlan) -> bool {
    // A reference is checked after the statement that it belongs to, and written to the log before it.
    plan.statement.contains("INSERT INTO list_result_chunk")
        || is_reference_check(plan) && plan.statement.contains("list_result\"")
}

/// The statements from now on, until these are complete.
async fn plans_until(
    plans: &mut ExecutedPlans,
    are_complete: impl Fn(&[ExecutedPlan]) -> bool,
) -> Vec<ExecutedPlan> {
    let mut all = Vec::new();
    for _ in 0..3_000 {
        all.extend(plans.take().await);
        if are_complete(&all) {
            return all;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let texts: Vec<&str> = all.iter().map(|plan| plan.statement.as_str()).collect();
    panic!("the expected statements were not executed within a minute: {texts:#?}");
}

/// The statements of one refresh. A worker asks for a job once more when it is done.
async fn plans_of_refresh(library: &TestServer, plans: &mut ExecutedPlans, list: &str) -> Vec<ExecutedPlan> {
    plans.take().await;
    library.post(&format!("/lists/{list}/refresh"), &Value::Null).await.expect(200);
    plans_until(plans, |all| {
        let count = |words: &str| all.iter().filter(|plan| plan.statement.contains(words)).count();
        count("UPDATE list_job j SET state = $3") == 1 && count("WITH first AS (") == 2
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refresh_costs_little_more_than_the_statement_that_stores_its_result() {
    let library = TestServer::start().await;
    let options = carrel_lists::Options { visible_for: Duration::ZERO, ..Default::default() };
    carrel_lists::configure(&library.node, options);
    let database = library.database().await;
    let users = format!(
        "INSERT INTO users (id, doc) SELECT id, jsonb_build_object('id', id, 'username', 'cost' || n)
         FROM (SELECT n, gen_random_uuid() AS id FROM generate_series(1, {RECORDS}) AS n) AS new;
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET auto_explain.log_nested_statements = on',
             current_database()); END $$;
         CREATE TABLE bare (n bigint PRIMARY KEY, ids uuid[] NOT NULL);
         ALTER TABLE bare ALTER COLUMN ids SET STORAGE EXTERNAL"
    );
    database.batch_execute(&users).await.expect("users can be added");
    database.batch_execute("VACUUM ANALYZE users").await.expect("a table can be vacuumed");
    let query = fql(json!({"users.username": {"$starts_with": "cost"}}));
    let list = json!({"name": "Users", "entityTypeId": USERS, "fqlQuery": query, "isActive": true,
        "isPrivate": false});
    let list = create(&library.admin, &list).await;
    let mut plans = library.record_plans().await;
    let mut costs: Vec<(&str, Cost)> = Vec::new();
    let mut note = |part, cost: Cost| match costs.iter_mut().find(|(known, _)| *known == part) {
        Some((_, known)) => *known = known.lower(cost),
        None => costs.push((part, cost)),
    };
    // A connection that records its plans, as those of the server do.
    let database = library.database().await;
    let mut found = String::new();
    // The lowest of several runs: the first one reads settings and catalogs.
    for _ in 0..4 {
        let all = plans_of_refresh(&library, &mut plans, &list).await;
        let (packed, rest): (Vec<_>, Vec<_>) = all.iter().partition(|plan| is_of_packed_result(plan));
        found = packed
            .iter()
            .find_map(|plan| plan.statement.split_once("FROM (SELECT id1, "))
            .map(|(_, rest)| rest.to_owned())
            .unwrap_or_default();
        note("packed result", Cost::of(packed));
        note("everything else", Cost::of(rest));
    }
    let shown =
        until(&library.admin, &format!("/lists/{list}"), |list| list["inProgressRefresh"].is_null()).await;
    assert_eq!(shown["successRefresh"]["recordsCount"], RECORDS);

    // The same selection, packed in the same way.
    let (found, _) = found.split_once(" RETURNING").expect("the statement stores what it finds");
    let bare = format!(
        "INSERT INTO bare (n, ids) SELECT n / 1000, array_agg(id1 ORDER BY n) FROM (SELECT id1, {found}"
    )
    .replace("$1::text", "'cost%'::text")
    .replace("$1", "'cost%'")
    .replace("$2", "1000000");
    for _ in 0..3 {
        database.batch_execute("TRUNCATE bare").await.expect("a table can be emptied");
        plans.take().await;
        database.batch_execute(&bare).await.expect("the statement can be executed alone");
        let all = plans_until(&mut plans, |all| !all.is_empty()).await;
        note("bare statement", Cost::of(&all));
    }

    let age = "UPDATE list_result SET created = created - interval '1 day';
               UPDATE list_job SET ended = ended - interval '1 day';
               DELETE FROM list_result WHERE id <> (SELECT result_id FROM list_job WHERE kind = 'refresh'
                   ORDER BY created DESC OFFSET 1 LIMIT 1)
                   AND NOT EXISTS (SELECT 1 FROM list_details l WHERE l.result_id = list_result.id)";
    database.batch_execute(age).await.expect("a day passes, and one replaced result is left");
    plans.take().await;
    let runner = carrel_platform::jobs::start(&library.node);
    library.post("/admin/jobs/lists/run", &Value::Null).await.expect_status(202);
    // The rows of the result are removed by a statement within the one that removes the result, which ends after it.
    let removal = |all: &[ExecutedPlan]| {
        let rows = all.iter().position(|plan| {
            plan.statement.contains("DELETE FROM ONLY") && plan.statement.contains("list_result_chunk")
        })?;
        let result = all[rows..].iter().find(|plan| plan.statement.contains("DELETE FROM list_result r"))?;
        Some(Cost::of([&all[rows], result]))
    };
    let all = plans_until(&mut plans, |all| removal(all).is_some()).await;
    runner.stop().await;
    note("removal", removal(&all).expect("it was there"));

    let of = |part: &str| costs.iter().find(|(known, _)| *known == part).expect("it was measured").1;
    let (bare, whole) = (
        of("bare statement"),
        ["packed result", "everything else", "removal"].map(of).into_iter().reduce(Cost::and).expect("three"),
    );
    let mut measured = String::new();
    for (part, Cost { statements, buffers, wal_bytes }) in &costs {
        let _ = writeln!(measured, "{part}\t{statements}\t{buffers}\t{wal_bytes}");
    }
    println!("{measured}");
    for (whole, bare) in [(whole.buffers, bare.buffers), (whole.wal_bytes, bare.wal_bytes)] {
        let ratio = whole as f64 / bare as f64;
        assert!(
            ratio <= 1.1,
            "a refresh with the removal of the old result costs {ratio:.2} of the statement"
        );
    }
    for (part, cost) in &costs {
        let line = RECORDED.lines().find_map(|line| line.strip_prefix(&format!("{part}\t")));
        let recorded: Vec<f64> =
            line.into_iter().flat_map(|line| line.split('\t')).filter_map(|text| text.parse().ok()).collect();
        let within = [(cost.statements as u64, 1.0), (cost.buffers, TOLERANCE), (cost.wal_bytes, TOLERANCE)]
            .into_iter()
            .zip(&recorded)
            .all(|((now, tolerance), recorded)| now as f64 <= recorded * tolerance);
        assert!(
            within && recorded.len() == 3,
            "{part} costs more than costs.tsv allows ({line:?}). Make it cheaper, or give the reason and record:\n{measured}"
        );
    }
}
