use super::{barcodes, create, library_with_items, list_of_items, refreshed, until};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

#[tokio::test]
async fn a_running_refresh_is_shown_and_prevents_another_one() {
    let (lending, _) = library_with_items(2).await;
    let admin = lending.admin();
    let id = create(admin, &list_of_items("All", json!({}))).await;
    let path = format!("/lists/{id}");
    let begun = admin.post(&format!("{path}/refresh"), &Value::Null).await.expect(200);
    assert_eq!(begun["status"], "IN_PROGRESS");
    let list = admin.get(&path).await.expect(200);
    assert_eq!(list["inProgressRefresh"]["id"], begun["id"]);
    for (method, path, code) in [
        ("POST", format!("{path}/refresh"), "refresh-list.refresh.in.progress"),
        ("POST", format!("{path}/exports"), "export-list.refresh.in.progress"),
        ("DELETE", path.clone(), "delete-list.refresh.in.progress"),
    ] {
        let refused = admin.call(method, &path, None).await.expect(400);
        assert_eq!(refused["code"], code);
    }
    let ended = until(admin, &path, |list| list["inProgressRefresh"].is_null()).await;
    assert_eq!(
        (&ended["successRefresh"]["recordsCount"], &ended["successRefresh"]["contentVersion"]),
        (&json!(2), &json!(1))
    );
}

#[tokio::test]
async fn a_cancelled_refresh_can_be_repeated() {
    let (lending, _) = library_with_items(1).await;
    let admin = lending.admin();
    let id = create(admin, &list_of_items("All", json!({}))).await;
    let path = format!("/lists/{id}/refresh");
    admin.post(&path, &Value::Null).await.expect(200);
    admin.delete(&path).await.expect_status(204);
    let list = admin.get(&format!("/lists/{id}")).await.expect(200);
    assert!(list["inProgressRefresh"].is_null() && list["successRefresh"].is_null());
    assert_eq!(admin.delete(&path).await.expect(400)["code"], "cancel_refresh-list.not.refreshing");
    let list = refreshed(admin, &id).await;
    assert_eq!(list["successRefresh"]["recordsCount"], 1);
    // The cancelled run has no visible effect.
    assert_eq!(list["successRefresh"]["contentVersion"], 1);
}

#[tokio::test]
async fn a_failed_refresh_keeps_the_old_contents_and_has_a_reason() {
    let (lending, items) = library_with_items(1).await;
    let admin = lending.admin();
    let id = create(admin, &list_of_items("All", json!({"items.barcode": {"$regex": "."}}))).await;
    refreshed(admin, &id).await;
    // A field that was removed after the list was stored.
    let database = lending.server.database().await;
    let broken = "UPDATE list_details SET fql_query = '{\"gone\":{\"$eq\":1}}' WHERE NOT is_canned";
    database.batch_execute(broken).await.expect("the query is stored");
    let list = refreshed(admin, &id).await;
    assert_eq!(list["failedRefresh"]["error"]["code"], "unexpected.error");
    assert_eq!(barcodes(admin, &id).await, [items[0].barcode.clone()]);
    let summary = admin.get(&format!("/lists?ids={id}")).await.expect(200);
    assert_eq!(summary["content"][0]["latestRefreshFailed"], true);
    refreshed(admin, &id).await;
}

#[tokio::test]
async fn the_refresh_of_a_list_beyond_the_limit_fails_with_a_reason() {
    let (lending, _) = library_with_items(3).await;
    let options = carrel_lists::Options { max_size: 2, visible_for: Duration::ZERO, ..Default::default() };
    carrel_lists::configure(&lending.server.node, options);
    let id = create(lending.admin(), &list_of_items("All", json!({}))).await;
    let list = refreshed(lending.admin(), &id).await;
    assert_eq!(list["failedRefresh"]["error"]["code"], "refresh-max.list.size.exceeded");
}

#[tokio::test]
async fn waiting_jobs_with_the_same_query_share_one_run() {
    let (lending, _) = library_with_items(2).await;
    let admin = lending.admin();
    let options = carrel_lists::Options { workers: 1, visible_for: Duration::ZERO, ..Default::default() };
    carrel_lists::configure(&lending.server.node, options);
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(create(admin, &list_of_items(&format!("List {number}"), json!({}))).await);
    }
    // The rows that a node leaves if it is killed after the commit, before it has notified its workers.
    let database = lending.server.database().await;
    for id in &ids {
        database
            .execute(
                "INSERT INTO list_job (id, kind, state, list_id, entity_type_id, fql_query, fields, max_size, share,
                     created, visible_until)
                 SELECT gen_random_uuid(), 'refresh', 'queued', id, entity_type_id, fql_query, fields, 1000, 'same',
                     clock_timestamp(), clock_timestamp() FROM list_details WHERE id = $1",
                &[&id.parse::<Uuid>().expect("an id")],
            )
            .await
            .expect("the job is stored");
    }
    carrel_lists::start(&lending.server.node);
    for id in &ids {
        let list = until(admin, &format!("/lists/{id}"), |list| list["successRefresh"].is_object()).await;
        assert_eq!(list["successRefresh"]["recordsCount"], 2);
    }
    let row = database
        .query_one(
            "SELECT count(*), count(DISTINCT result_id) FROM list_details WHERE result_id IS NOT NULL",
            &[],
        )
        .await
        .expect("lists are counted");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (6, 1));
}

#[tokio::test]
async fn a_job_of_a_dead_node_is_taken_over_and_fails_after_three_attempts() {
    let (lending, _) = library_with_items(1).await;
    let admin = lending.admin();
    let database = lending.server.database().await;
    for (attempts, succeeds) in [(1, true), (3, false)] {
        let id = create(admin, &list_of_items("All", json!({}))).await;
        database
            .execute(
                "INSERT INTO list_job (id, kind, state, list_id, entity_type_id, fql_query, fields, max_size, share,
                     created, visible_until, owner, lease_ends, attempts)
                 SELECT gen_random_uuid(), 'refresh', 'running', id, entity_type_id, fql_query, fields, 1000, 'x',
                     clock_timestamp(), clock_timestamp(), gen_random_uuid(), clock_timestamp() - interval '1 second', $2
                 FROM list_details WHERE id = $1",
                &[&id.parse::<Uuid>().expect("an id"), &attempts],
            )
            .await
            .expect("the job is stored");
        let list = until(admin, &format!("/lists/{id}"), |list| list["inProgressRefresh"].is_null()).await;
        assert_eq!(list["successRefresh"].is_object(), succeeds, "{list}");
        assert_eq!(list["failedRefresh"].is_object(), !succeeds, "{list}");
        let list = refreshed(admin, &id).await;
        assert_eq!(list["successRefresh"]["recordsCount"], 1);
    }
}

#[tokio::test]
async fn maintenance_removes_unused_results_and_refreshes_due_lists() {
    let (lending, _) = library_with_items(1).await;
    let admin = lending.admin();
    let mut list = list_of_items("All", json!({}));
    list["refreshEverySeconds"] = 300.into();
    let id = create(admin, &list).await;
    refreshed(admin, &id).await;
    refreshed(admin, &id).await;
    let database = lending.server.database().await;
    let first = "SELECT result_id FROM list_job WHERE kind = 'refresh' ORDER BY created LIMIT 1";
    let replaced: Uuid = database.query_one(first, &[]).await.expect("there are refreshes").get(0);
    let age = "UPDATE list_result SET created = created - interval '1 day';
               UPDATE list_job SET created = created - interval '1 day', ended = ended - interval '1 day'";
    database.batch_execute(age).await.expect("a day passes");
    let runner = carrel_platform::jobs::start(&lending.server.node);
    admin.post("/admin/jobs/lists/run", &Value::Null).await.expect_status(202);
    let history = format!("/lists/{id}/refreshes");
    until(admin, &history, |history| history["refreshes"].as_array().map(Vec::len) == Some(3)).await;
    let is_there = "SELECT count(*) FROM list_result WHERE id = $1";
    let mut looks = 0;
    while database.query_one(is_there, &[&replaced]).await.expect("results can be read").get::<_, i64>(0) > 0
    {
        looks += 1;
        assert!(looks < 1_200, "the replaced result is removed within a minute");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    runner.stop().await;
    let list = until(admin, &format!("/lists/{id}"), |list| list["inProgressRefresh"].is_null()).await;
    assert_eq!(list["successRefresh"]["recordsCount"], 1);
    assert_eq!(barcodes(admin, &id).await.len(), 1);
}
