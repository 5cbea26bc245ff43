//! The lab on a server that it starts: data through COPY, and the gate.

use crate::program::{ADMIN, PASSWORD, TENANT, admin_of, carrel_output, carrel_refused, serve};
use carrel_testkit::{Client, Scratch};
use serde_json::{Value, json};

fn lab(command: &[&'static str], data: &str, more: &[&str]) -> Vec<String> {
    let sizes = ["--items", "300", "--patrons", "60", "--open-loans", "40"];
    let login = ["--tenant", TENANT, "--username", ADMIN, "--password", PASSWORD, "--data", data];
    let all = ["lab"].iter().chain(command).chain(&sizes).chain(&login).chain(more);
    all.map(|argument| argument.to_string()).collect()
}

fn arguments(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

async fn total(admin: &Client, path: &str) -> i64 {
    admin.get(path).await.expect(200)["totalRecords"].as_i64().expect("a collection has a total")
}

async fn item(admin: &Client, barcode: &str) -> Value {
    let path = format!("/item-storage/items?query=barcode=={barcode}");
    admin.get(&path).await.expect(200)["items"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_loaded_by_copy_equals_one_loaded_by_the_api() {
    let scratch = Scratch::named("lab-data");
    let data = scratch.folder.to_string_lossy().into_owned();
    let load = lab(&["data"], &data, &[]);
    let output = carrel_output(&arguments(&load));
    assert!(output.contains("item_state"), "{output}");
    let again = carrel_output(&arguments(&load));
    assert!(!again.contains("item_state"), "what is there is not loaded again: {again}");

    let mut reset = load.clone();
    reset.push("--reset".into());
    let output = carrel_output(&arguments(&reset));
    assert!(
        output.contains("loan") && !output.contains("item_state"),
        "only the loans are made again: {output}"
    );

    let program = serve(&scratch.folder, &["--data", &data]);
    let admin = admin_of(&program).await;
    for (path, expected) in [
        ("/instance-storage/instances?limit=0", 200),
        ("/holdings-storage/holdings?limit=0", 200),
        ("/item-storage/items?limit=0", 300),
        ("/item-storage/items?query=status.name==\"Checked out\"&limit=0", 40),
        ("/loan-storage/loans?query=status.name==Open&limit=0", 40),
    ] {
        assert_eq!(total(&admin, path).await, expected, "{path}");
    }
    // The administrator is a user, too.
    assert_eq!(total(&admin, "/users?query=type==patron&limit=0").await, 60);

    let copied = item(&admin, "item-000250").await;
    let new = json!({"holdingsRecordId": copied["holdingsRecordId"], "barcode": "new", "copyNumber": copied["copyNumber"],
        "status": {"name": "Available"}, "materialTypeId": copied["materialTypeId"],
        "permanentLoanTypeId": copied["permanentLoanTypeId"]});
    let made = admin.post("/item-storage/items", &new).await.expect(201);
    for field in ["effectiveLocationId", "effectiveCallNumberComponents", "effectiveShelvingOrder"] {
        assert_eq!(made[field], copied[field], "{field}");
    }
    let hrid = made["hrid"].as_str().unwrap_or_default();
    assert_eq!(total(&admin, &format!("/item-storage/items?query=hrid=={hrid}&limit=0")).await, 1);

    let lent = item(&admin, "item-000008").await;
    assert_eq!(lent["status"]["name"], "Checked out");
    let point =
        admin.get("/service-points?query=code==LAB-DESK").await.expect(200)["servicepoints"][0]["id"].clone();
    let scan =
        json!({"itemBarcode": "item-000008", "servicePointId": point, "checkInDate": "2026-01-01T00:00:00Z"});
    let answer = admin.post("/circulation/check-in-by-barcode", &scan).await.expect(200);
    assert_eq!(answer["loan"]["status"]["name"], "Closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_fails_when_an_action_costs_more_than_its_baseline_allows() {
    let scratch = Scratch::named("lab-gate");
    let data = scratch.folder.to_string_lossy().into_owned();
    let file = std::env::temp_dir().join(format!("carrel-gate-{}.json", std::process::id()));
    let baseline = file.to_string_lossy().into_owned();
    let gate = lab(&["gate", "--counts-only"], &data, &["--baseline", &baseline]);
    let refused = carrel_refused(&arguments(&gate));
    assert!(refused.contains("--update writes it"), "{refused}");

    let mut update = gate.clone();
    update.extend(["--update", "--repeat", "2"].map(str::to_owned));
    let output = carrel_output(&arguments(&update));
    assert!(output.contains("runs that fail") && output.contains("0 of 2"), "{output}");
    let output = carrel_output(&arguments(&gate));
    assert!(output.contains("check-out: round trips"), "{output}");

    let mut figures: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("it was written")).expect("JSON");
    for (name, lowest, highest) in
        [("check-out: WAL records", 5.0, 100.0), ("check-out: WAL bytes", 1000.0, 20_000.0)]
    {
        let value = figures[name].as_f64().unwrap_or_default();
        assert!((lowest..highest).contains(&value), "{name}: {value}");
    }
    figures["check-in: round trips"] = json!(1);
    std::fs::write(&file, figures.to_string()).expect("it can be written");
    let refused = carrel_refused(&arguments(&gate));
    std::fs::remove_file(&file).expect("it can be removed");
    assert!(refused.contains("check-in: round trips: 2.00, the baseline allows 1.00"), "{refused}");
}
