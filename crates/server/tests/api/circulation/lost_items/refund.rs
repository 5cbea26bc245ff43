//! Lost items that are returned, found or renewed: their fees are cancelled or refunded.

use super::{LOST_FEE, Library, PROCESSING, id, state, usual, with};
use carrel_testkit::{LendingServer, TestServer};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

#[tokio::test]
async fn the_payments_for_a_lost_item_are_refunded_when_it_is_returned() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let fee = library.account(&loan, LOST_FEE).await;
    library.settle(&fee, "pay", "4").await;
    library.settle(&fee, "transfer", "3").await;

    let answer = library.lending.check_in(&item, library.lending.main_desk).await.expect(200);

    assert_eq!(answer["loan"]["action"], "checkedin");
    assert_eq!(library.lending.status_of(&item).await, "Available");
    assert_eq!(state(&library.account(&loan, LOST_FEE).await), (10.0, 0.0, "Cancelled item returned"));
    assert_eq!(state(&library.account(&loan, PROCESSING).await), (5.0, 0.0, "Cancelled item returned"));
    let kinds: Vec<(String, f64)> = library.actions(&fee).await[3..]
        .iter()
        .map(|it| {
            (it["typeAction"].as_str().unwrap_or("").to_owned(), it["amountAction"].as_f64().unwrap_or(0.0))
        })
        .collect();
    let sum = |kind: &str| kinds.iter().filter(|it| it.0.starts_with(kind)).map(|it| it.1).sum::<f64>();
    assert_eq!((sum("Credited"), sum("Refunded"), sum("Cancelled item returned")), (7.0, 7.0, 10.0));
    let stored = library.stored(&loan).await;
    assert_eq!((&stored["action"], &stored["itemStatus"]), (&json!("checkedin"), &json!("Available")));
    assert_eq!(library.history(&loan).await.len(), 3, "the fees that close do not close the loan again");
}

#[tokio::test]
async fn nothing_is_refunded_after_the_interval_of_the_policy() {
    let policy = with(json!({"feesFinesShallRefunded": {"duration": 1, "intervalId": "Days"}}));
    let library = Library::open(policy).await;
    let (loan, item, _) = library.lent(0).await;
    let path = format!("/circulation/loans/{}/declare-item-lost", id(&loan));
    let long_ago = Timestamp::now() - SignedDuration::from_hours(25);
    let body =
        json!({"servicePointId": library.lending.main_desk.0, "declaredLostDateTime": long_ago.to_string()});
    library.lending.admin().post(&path, &body).await.expect(204);
    library.lending.check_in(&item, library.lending.main_desk).await.expect(200);
    assert_eq!(state(&library.account(&loan, LOST_FEE).await), (10.0, 10.0, "Outstanding"));
    assert_eq!(library.lending.status_of(&item).await, "Available");
}

#[tokio::test]
async fn the_fees_of_the_last_loan_are_refunded_when_a_lost_and_paid_item_is_found() {
    let library = Library::open(with(json!({"returnedLostItemProcessingFee": false}))).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    for account in library.accounts(&loan).await {
        let amount = account["amount"].to_string();
        library.settle(&account, "pay", &amount).await;
    }
    let closed = library.stored(&loan).await;
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");

    let answer = library.lending.check_in(&item, library.lending.main_desk).await.expect(200);

    assert!(answer.get("loan").is_none(), "the loan had ended");
    assert_eq!(library.lending.status_of(&item).await, "Available");
    assert_eq!(state(&library.account(&loan, LOST_FEE).await), (10.0, 0.0, "Cancelled item returned"));
    assert_eq!(state(&library.account(&loan, PROCESSING).await), (5.0, 0.0, "Paid fully"));
    assert_eq!(library.stored(&loan).await, closed, "the loan stays as it ended");
}

#[tokio::test]
async fn a_renewal_by_override_reverses_the_fees_of_a_lost_item() {
    let library = Library::open(usual()).await;
    let (loan, item, patron) = library.lent(60).await;
    library.age().await;
    library.bill().await;
    let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode,
        "servicePointId": library.lending.main_desk.0});
    let refused = library.lending.admin().post("/circulation/renew-by-barcode", &renewal).await;
    assert_eq!(refused.refusals(), ["item is Aged to lost"]);
    let mut by_override = renewal.clone();
    by_override["overrideBlocks"] = json!({"renewalBlock": {}, "comment": "found"});
    library.lending.admin().post("/circulation/renew-by-barcode", &by_override).await.expect(200);

    assert_eq!(library.lending.status_of(&item).await, "Checked out");
    let fee = library.account(&loan, LOST_FEE).await;
    assert_eq!(state(&fee), (10.0, 0.0, "Cancelled item renewed"));
    assert_eq!(state(&library.account(&loan, PROCESSING).await), (5.0, 0.0, "Cancelled item renewed"));
    let cancelled = library.actions(&fee).await.pop().expect("a record");
    assert_eq!(cancelled["createdAt"], json!(library.lending.main_desk.0));
    let stored = library.stored(&loan).await;
    assert_eq!(stored["status"]["name"], "Open");
    assert!(stored["agedToLostDelayedBilling"].get("lostItemHasBeenBilled").is_none());
    library.bill().await;
    assert_eq!(library.accounts(&loan).await.len(), 2, "a renewed loan is not billed again");
}

#[tokio::test]
async fn an_ordinary_check_in_still_takes_two_round_trips() {
    let options = carrel_platform::ServerOptions { counts_round_trips: true, ..Default::default() };
    let library = Library::on(LendingServer::on(TestServer::start_in(options).await).await, usual()).await;
    let (loan, item, patron) = library.lent(0).await;
    let answer = library.lending.check_in(&item, library.lending.main_desk).await;
    assert_eq!(answer.header("x-carrel-round-trips"), Some("2"));
    let _ = loan;
    let loan = library.lend(&item, &patron, 0).await;
    let lost = library.declare_lost(&loan).await;
    assert_eq!(lost.header("x-carrel-round-trips"), Some("3"), "loan, fees, changes");
}
