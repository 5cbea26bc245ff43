//! The calendar through the public API.

use carrel_testkit::TestServer;
use serde_json::{Value, json};
use uuid::Uuid;

fn calendar(point: Uuid) -> Value {
    json!({
        "name": "Spring", "startDate": "2024-01-01", "endDate": "2024-06-30", "assignments": [point],
        "normalHours": [{"startDay": "MONDAY", "startTime": "09:00", "endDay": "MONDAY", "endTime": "16:59"}],
        "exceptions": [{"name": "Holiday", "startDate": "2024-01-08", "endDate": "2024-01-08", "openings": []}],
    })
}

#[tokio::test]
async fn openings_around_a_day_skip_closed_days_and_exceptions() {
    let (server, point) = (TestServer::start().await, Uuid::new_v4());
    server.post("/calendar/calendars", &calendar(point)).await.expect(201);
    let path = format!("/calendar/dates/{point}/surrounding-openings?date=2024-01-03");
    let openings = server.get(&path).await.expect(200)["openings"].clone();
    let days: Vec<&str> = (0..3).filter_map(|day| openings[day]["date"].as_str()).collect();
    assert_eq!(days, ["2024-01-01", "2024-01-03", "2024-01-15"]);
    assert_eq!(openings[1]["open"], false);

    let path = format!(
        "/calendar/dates/{point}/all-openings?startDate=2024-01-01&endDate=2024-01-31&includeClosed=false"
    );
    assert_eq!(server.get(&path).await.expect(200)["totalRecords"], 5, "five Mondays, one a holiday");
}

#[tokio::test]
async fn a_service_point_has_one_calendar_a_day() {
    let (server, point) = (TestServer::start().await, Uuid::new_v4());
    let path = "/calendar/calendars";
    let first = server.post(path, &calendar(point)).await.expect(201);
    let conflict = server.post(path, &calendar(point)).await.expect(409);
    assert_eq!(conflict["errors"][0]["code"], "calendarDateOverlap");
    assert_eq!(conflict["errors"][0]["data"]["conflictingServicePointIds"], json!([point]));

    let item = format!("{path}/{}", first["id"].as_str().unwrap_or_default());
    let mut renamed = calendar(point);
    renamed["name"] = "Summer".into();
    assert_eq!(server.put(&item, &renamed).await.expect(200)["name"], "Summer");
    let found = server.get(&format!("{path}?servicePointId={point}&endDate=2024-02-01")).await.expect(200);
    assert_eq!((&found["totalRecords"], &found["calendars"][0]["name"]), (&json!(1), &json!("Summer")));
}

#[tokio::test]
async fn calendars_are_deleted_together_or_not_at_all() {
    let server = TestServer::start().await;
    let path = "/calendar/calendars";
    let id = server.post(path, &calendar(Uuid::new_v4())).await.expect(201)["id"].clone();
    let (id, missing) = (id.as_str().unwrap_or_default().to_owned(), Uuid::new_v4());
    let answer = server.delete(&format!("{path}?id={id}&id={missing}")).await.expect(404);
    assert_eq!(answer["errors"][0]["code"], "calendarNotFound");
    assert_eq!(answer["errors"][0]["data"]["notFound"], json!([missing]));
    server.get(&format!("{path}/{id}")).await.expect(200);
    server.delete(&format!("{path}?id={id}")).await.expect(204);
    server.get(&format!("{path}/{id}")).await.expect(404);
}

#[tokio::test]
async fn an_invalid_calendar_is_refused_in_the_shape_of_mod_calendar() {
    let server = TestServer::start().await;
    let answer = server.post("/calendar/calendars", &json!({"name": "Empty"})).await.expect(400);
    assert_eq!(answer["status"], 400);
    assert_eq!(answer["errors"][0]["code"], "invalidParameter");
}
