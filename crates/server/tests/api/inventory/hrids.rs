//! HRIDs of instances, holdings records and items.

use carrel_testkit::LendingServer;
use serde_json::{Value, json};

const PATH: &str = "/hrid-settings-storage/hrid-settings";

fn settings(instances: Value) -> Value {
    json!({"instances": instances, "holdings": {"prefix": "ho", "startNumber": 1},
        "items": {"prefix": "it", "startNumber": 1}, "commonRetainLeadingZeroes": false})
}

#[tokio::test]
async fn numbering_continues_where_the_settings_say() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    admin.put(PATH, &settings(json!({"prefix": "x.", "startNumber": 500}))).await.expect(204);
    let item = server.item().await;
    let shown = admin.get(&format!("/instance-storage/instances/{}", item.instance)).await.expect(200);
    assert_eq!(shown["hrid"], "x.500");
    let stored = admin.get(PATH).await.expect(200);
    assert_eq!(
        (&stored["instances"]["startNumber"], &stored["instances"]["currentNumber"]),
        (&json!(500), &json!(500))
    );
}

#[tokio::test]
async fn a_prefix_or_number_beyond_its_bounds_is_refused() {
    let server = LendingServer::open().await;
    let admin = server.admin();
    for (instances, words) in [
        (json!({"prefix": "a b", "startNumber": 1}), "must match \"^[0-9a-zA-Z.-]{0,10}$\""),
        (json!({"prefix": "a", "startNumber": 0}), "must be greater than or equal to 1"),
        (
            json!({"prefix": "a", "startNumber": 100_000_000_000_i64}),
            "must be less than or equal to 99999999999",
        ),
    ] {
        let refused = admin.put(PATH, &settings(instances)).await;
        assert_eq!(refused.expect(422)["errors"][0]["message"], words);
    }
}
