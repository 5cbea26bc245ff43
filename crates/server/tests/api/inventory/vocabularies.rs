//! Plain records of inventory: refusals of duplicates and missing references, lists of ids, shadow locations.

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn a_duplicate_name_is_refused_with_the_index_expression() {
    let server = TestServer::start().await;
    server.admin.post("/material-types", &json!({"name": "Émail"})).await.expect(201);
    let refused = server.admin.post("/material-types", &json!({"name": "ÉMAIL"})).await.expect(422);
    let expression = "lower(f_unaccent(jsonb ->> 'name'::text))";
    let expected = json!([{
        "message": format!("{expression} value already exists in table material_type: email"),
        "type": "1",
        "parameters": [{"key": expression, "value": "email"}],
        "code": "-1"
    }]);
    assert_eq!(refused["errors"], expected);
}

#[tokio::test]
async fn a_duplicate_service_point_has_a_refusal_of_its_own() {
    let server = TestServer::start().await;
    let desk = json!({"name": "Desk", "code": "d", "discoveryDisplayName": "Desk", "pickupLocation": false});
    server.admin.post("/service-points", &desk).await.expect(201);
    let refused = server.admin.post("/service-points", &desk).await.expect(422);
    assert_eq!(refused["errors"][0]["message"], "Service Point Exists");
    assert_eq!(refused["errors"][0]["parameters"], json!([{"key": "name", "value": "Desk"}]));
}

#[tokio::test]
async fn a_duplicate_name_of_a_holdings_type_has_a_code() {
    let server = TestServer::start().await;
    let scrolls = json!({"name": "Scrolls", "source": "local"});
    server.admin.post("/holdings-types", &scrolls).await.expect(201);
    let refused = server.admin.post("/holdings-types", &scrolls).await.expect(422);
    assert_eq!(refused["errors"][0]["code"], "name.duplicate");
}

#[tokio::test]
async fn a_missing_reference_is_named_by_its_column() {
    let server = TestServer::start().await;
    let nothing = Uuid::new_v4();
    let campus = json!({"name": "East", "code": "e", "institutionId": nothing});
    let refused = server.admin.post("/location-units/campuses", &campus).await.expect(422);
    assert_eq!(refused["errors"][0]["parameters"][0]["key"], "loccampus.institutionid");
}

#[tokio::test]
async fn an_id_in_a_list_of_ids_is_found_as_a_word() {
    let server = TestServer::start().await;
    let desk = json!({"name": "Desk", "code": "d", "discoveryDisplayName": "Desk"});
    let desk = server.admin.post("/service-points", &desk).await.expect(201)["id"].clone();
    let works_there = json!({"userId": Uuid::new_v4(), "servicePointsIds": [desk]});
    server.admin.post("/service-points-users", &works_there).await.expect(201);
    let found = async |query: String| -> Value {
        let path = format!("/service-points-users?query={query}");
        server.admin.get(&path).await.expect(200)["totalRecords"].clone()
    };
    let desk = desk.as_str().expect("an id");
    assert_eq!(found(format!("servicePointsIds={desk}")).await, 1);
    assert_eq!(found(format!("servicePointsIds=\"{}\"", Uuid::new_v4())).await, 0);
}

#[tokio::test]
async fn shadow_locations_are_listed_only_on_request() {
    let server = TestServer::start().await;
    let [institution, campus, building, desk] = [(); 4].map(|()| Uuid::new_v4());
    let location = |name: &str, shadow: Option<bool>| {
        let mut location = json!({"name": name, "code": name, "institutionId": institution, "campusId": campus,
            "libraryId": building, "primaryServicePoint": desk, "servicePointIds": [desk]});
        if let Some(shadow) = shadow {
            location["isShadow"] = shadow.into();
        }
        location
    };
    for (path, record) in [
        ("/location-units/institutions", json!({"id": institution, "name": "I", "code": "I"})),
        (
            "/location-units/campuses",
            json!({"id": campus, "name": "C", "code": "C", "institutionId": institution}),
        ),
        ("/location-units/libraries", json!({"id": building, "name": "L", "code": "L", "campusId": campus})),
        (
            "/service-points",
            json!({"id": desk, "name": "D", "code": "d", "discoveryDisplayName": "D", "pickupLocation": false}),
        ),
        ("/locations", location("Annex", None)),
        ("/locations", location("Borrowed", Some(true))),
        ("/locations", location("Stacks", Some(false))),
    ] {
        server.post(path, &record).await.expect(201);
    }
    for (parameters, expected) in [
        ("", vec!["Annex", "Stacks"]),
        ("&includeShadowLocations=false", vec!["Annex", "Stacks"]),
        ("&includeShadowLocations=true", vec!["Annex", "Borrowed", "Stacks"]),
    ] {
        let path = format!("/locations?query=cql.allRecords=1 sortBy name{parameters}");
        let page = server.get(&path).await.expect(200);
        let names: Vec<&str> =
            page["locations"].as_array().into_iter().flatten().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, expected, "{parameters}");
        assert_eq!(page["totalRecords"], expected.len(), "{parameters}");
    }
    let named = |more: &str| format!("/locations?query=name==Borrowed or name==Annex{more}");
    assert_eq!(server.get(&named("")).await.expect(200)["totalRecords"], 1);
    assert_eq!(server.get(&named("&includeShadowLocations=true")).await.expect(200)["totalRecords"], 2);
    assert_eq!(server.get("/locations").await.expect(200)["totalRecords"], 2);
}
