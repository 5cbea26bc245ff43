//! The last payment for a lost item closes its loan.

use super::{LOST_FEE, Library, PROCESSING, id, usual, with};
use serde_json::json;

#[tokio::test]
async fn the_last_payment_closes_the_loan_in_its_own_transaction() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let (fee, processing) =
        (library.account(&loan, LOST_FEE).await, library.account(&loan, PROCESSING).await);
    library.settle(&fee, "pay", "10").await;
    assert_eq!(library.lending.status_of(&item).await, "Declared lost");
    library.settle(&processing, "waive", "4").await;
    assert_eq!(library.stored(&loan).await["status"]["name"], "Open");
    library.settle(&processing, "transfer", "1").await;

    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
    let stored = library.stored(&loan).await;
    assert_eq!((&stored["status"]["name"], &stored["action"]), (&json!("Closed"), &json!("closedLoan")));
    // The event of mod-feesfines has no effect afterwards, however often it is sent.
    let event = json!({"loanId": loan["id"], "feeFineId": fee["id"]});
    for body in [&event, &event, &json!({})] {
        let path = "/circulation/handlers/loan-related-fee-fine-closed";
        library.lending.admin().post(path, body).await.expect(204);
        library
            .lending
            .admin()
            .post("/circulation/handlers/fee-fine-balance-changed", body)
            .await
            .expect(204);
    }
    assert_eq!(library.history(&loan).await.len(), 3, "checked out, declared lost, closed");
}

#[tokio::test]
async fn settling_several_fees_at_once_closes_the_loan_too() {
    let library = Library::open(usual()).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let accounts = library.accounts(&loan).await;
    let ids: Vec<&str> = accounts.iter().map(id).collect();
    let body = json!({"accountIds": ids, "amount": "15", "notifyPatron": false, "userName": "Clerk",
        "servicePointId": library.lending.main_desk.0, "paymentMethod": "Cash"});
    library.lending.admin().post("/accounts-bulk/pay", &body).await.expect(201);
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}

#[tokio::test]
async fn an_account_closed_by_replacement_closes_the_loan_too() {
    let library = Library::open(with(json!({"chargeAmountItemPatron": false}))).await;
    let (loan, item, _) = library.lent(0).await;
    library.declare_lost(&loan).await.expect(204);
    let mut fee = library.account(&loan, LOST_FEE).await;
    carrel_testkit::alter(
        &mut fee,
        &json!({"remaining": 0, "status": {"name": "Closed"},
        "paymentStatus": {"name": "Paid fully"}}),
    );
    library.lending.admin().put(&format!("/accounts/{}", id(&fee)), &fee).await.expect(204);
    assert_eq!(library.lending.status_of(&item).await, "Lost and paid");
}
