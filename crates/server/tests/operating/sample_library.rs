//! The sample library of `carrel demo`.

use carrel_testkit::{Client, Program, Scratch, free_port};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;

const CAN_CIRCULATE: &str = "2b94c631-fca9-4892-a730-03ee529ffe27";

/// A running `carrel demo`, whose load was killed once while it recorded loans.
async fn demo(scratch: &Scratch) -> (Program, Client) {
    std::fs::create_dir_all(&scratch.folder).expect("the folder can be made");
    let (folder, port) = (scratch.folder.to_string_lossy().into_owned(), free_port());
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_carrel"));
        command.args(["demo", "--data", &folder]);
        Program::start(command, &scratch.folder, port)
    };
    let mut program = start();
    let longest = Duration::from_secs(240);
    program.wait_until("it listens", longest, |program| program.log_text().contains("listening on"));
    let loans = "/loan-storage/loans?limit=0";
    loop {
        let admin = log_in(&program).await;
        let recorded = admin.get(loans).await.expect(200)["totalRecords"].as_u64();
        if recorded > Some(10) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    program.kill();
    program = start();
    program.wait_until("it is ready", longest, |program| program.log_text().contains("Ctrl-C stops it"));
    let admin = log_in(&program).await;
    (program, admin)
}

async fn log_in(program: &Program) -> Client {
    let stranger = Client::new(program.address).with_header("x-okapi-tenant", "diku");
    let login = stranger.post("/authn/login", &json!({"username": "diku_admin", "password": "admin"})).await;
    login.expect(201);
    stranger.with_header("x-okapi-token", login.header("x-okapi-token").expect("login gives a token"))
}

fn list(page: &Value, key: &str) -> Vec<Value> {
    page[key].as_array().cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn items_can_be_checked_out_renewed_and_checked_in_at_every_service_point() {
    let scratch = Scratch::named("sample");
    let (program, admin) = demo(&scratch).await;

    let points = list(&admin.get("/service-points").await.expect(200), "servicepoints");
    assert!(points.iter().any(|point| point["name"] == "Interim service point"));
    let items = format!(
        "/item-storage/items?limit=20&query=permanentLoanTypeId=={CAN_CIRCULATE} and status.name==Available sortBy barcode"
    );
    let items = list(&admin.get(&items).await.expect(200), "items");
    let users = list(&admin.get("/users?limit=1&query=barcode==290000000005").await.expect(200), "users");
    let user = users.first().map_or_else(|| json!("290000000005"), |user| user["barcode"].clone());
    for (point, item) in points.iter().zip(&items) {
        let (id, item) = (&point["id"], &item["barcode"]);
        let request = json!({"itemBarcode": item, "userBarcode": user, "servicePointId": id});
        let loan = admin.post("/circulation/check-out-by-barcode", &request).await.expect(201);
        let renewal = json!({"itemBarcode": item, "userBarcode": user});
        let renewed = admin.post("/circulation/renew-by-barcode", &renewal).await.expect(200);
        let days = |loan: &Value| loan["dueDate"].as_str().unwrap_or_default()[..10].to_owned();
        assert!(days(&renewed) > days(&loan), "a renewal right after the check-out moves the due date");
        let request = json!({"itemBarcode": item, "servicePointId": id,
            "checkInDate": jiff::Timestamp::now().to_string()});
        admin.post("/circulation/check-in-by-barcode", &request).await.expect(200);
    }

    // The screens have data, and the interrupted load has recorded nothing twice.
    for (path, key, least, most) in [
        ("/circulation/loans?limit=0&query=status.name==Open", "totalRecords", 120, 120),
        ("/circulation/requests?limit=0&query=status==\"Open - Awaiting pickup\"", "totalRecords", 6, 6),
        ("/circulation/requests?limit=0&query=status==\"Open - In transit\"", "totalRecords", 3, 3),
        ("/circulation/requests?limit=0&query=requestType==Hold", "totalRecords", 30, 60),
        ("/item-storage/items?limit=0&query=status.name==\"In transit\"", "totalRecords", 9, 20),
        ("/notes?limit=10", "totalRecords", 4, 4),
        ("/manualblocks?limit=0", "totalRecords", 1, 1),
        ("/accounts?limit=0&query=status.name==Open", "totalRecords", 6, 6),
    ] {
        let count = admin.get(path).await.expect(200)[key].as_u64().unwrap_or(0);
        assert!((least..=most).contains(&count), "{path}: {count}");
    }
    let now = jiff::Timestamp::now();
    let overdue = format!("/circulation/loans?limit=0&query=status.name==Open and dueDate<\"{now}\"");
    assert_eq!(admin.get(&overdue).await.expect(200)["totalRecords"], 20);
    let log_text = program.log_text();
    assert!(log_text.contains("Renewed it: due on"), "{log_text}");
    assert!(log_text.contains("Use the service point Circ Desk 1"), "{log_text}");
}
