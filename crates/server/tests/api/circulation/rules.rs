//! Circulation rules through the public API.

use carrel_testkit::LendingServer;
use serde_json::json;
use uuid::Uuid;

fn rule_parameters(server: &LendingServer) -> String {
    format!(
        "item_type_id={}&loan_type_id={}&patron_type_id={}&location_id={}",
        server.material_type, server.loan_type, server.group, server.location
    )
}

#[tokio::test]
async fn the_rules_select_a_policy_and_return_the_applied_conditions() {
    let server = LendingServer::open().await;
    let short = server.loan_policy_with(json!({"period": {"duration": 1, "intervalId": "Hours"}})).await;
    let (usual, exception) = (server.policies(server.loan_policy), server.policies(short));
    let rules = format!("fallback-policy: {usual}\nm {}: {exception}", server.material_type);
    server.lends_by(&rules).await;

    let chosen = server
        .admin()
        .get(&format!("/circulation/rules/loan-policy?{}", rule_parameters(&server)))
        .await
        .expect(200);
    assert_eq!(chosen["loanPolicyId"], json!(short));
    assert_eq!(
        chosen["appliedRuleConditions"],
        json!({"materialTypeMatch": true, "loanTypeMatch": false, "patronGroupMatch": false})
    );

    let all = server
        .admin()
        .get(&format!("/circulation/rules/overdue-fine-policy-all?{}", rule_parameters(&server)))
        .await
        .expect(200);
    let lines: Vec<i64> = all["circulationRuleMatches"]
        .as_array()
        .map(|matches| matches.iter().filter_map(|line| line["circulationRuleLine"].as_i64()).collect())
        .unwrap_or_default();
    assert_eq!(lines, [3, 2]);
    assert_eq!(
        all["circulationRuleMatches"][0]["overduePolicyId"],
        json!(server.overdue_fine_policy),
        "the list of all names the policy otherwise than the look-up of one"
    );
}

#[tokio::test]
async fn rules_with_a_missing_policy_are_refused_with_the_position() {
    let server = LendingServer::open().await;
    let text =
        format!("priority: t, s, c, b, a, m, g\nfallback-policy: {}\n", server.policies(Uuid::new_v4()));
    let before = server.admin().get("/circulation/rules").await.expect(200);

    let answer = server.admin().put("/circulation/rules", &json!({"rulesAsText": text})).await;

    assert_eq!(
        answer.expect(422),
        json!({"message": "The policy l does not exist", "line": 2, "column": 15})
    );
    assert_eq!(server.admin().get("/circulation/rules").await.expect(200), before, "nothing was stored");
}

#[tokio::test]
async fn blank_rules_select_no_policy() {
    let server = LendingServer::open().await;
    server.admin().put("/circulation-rules-storage", &json!({"rulesAsText": " \n"})).await.expect(204);
    let answer =
        server.admin().get(&format!("/circulation/rules/loan-policy?{}", rule_parameters(&server))).await;
    assert_eq!((answer.status, answer.text().as_str()), (500, "Cannot apply blank circulation rules"));
}

#[tokio::test]
async fn a_look_up_needs_four_ids() {
    let server = LendingServer::open().await;
    let answer = server.admin().get("/circulation/rules/request-policy").await;
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (400, "required query parameter missing: item_type_id")
    );
    let unknown = rule_parameters(&server).replace(&server.location.to_string(), &Uuid::new_v4().to_string());
    server.admin().get(&format!("/circulation/rules/request-policy?{unknown}")).await.expect(200);
}

#[tokio::test]
async fn there_is_one_text_after_several_writes() {
    let server = LendingServer::open().await;
    server.lends_by(&format!("fallback-policy: {}", server.policies(server.loan_policy))).await;
    let rows = server
        .server
        .database()
        .await
        .query_one("SELECT count(*) FROM circulation_rules", &[])
        .await
        .expect("the table stands");
    assert_eq!(rows.get::<_, i64>(0), 1);
}
