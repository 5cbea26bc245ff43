//! Whatever several desks and jobs do with lost items concurrently, accounts stay balanced, and item and loan agree.

use super::{Library, id, with};
use crate::fees_fines::histories::{Dice, check_account};
use carrel_testkit::{TestItem, TestPatron};
use serde_json::{Value, json};
use std::sync::Arc;

const ITEMS: usize = 4;
const WRITERS: u64 = 4;
const ACTIONS: usize = 30;

struct Shelf {
    library: Library,
    items: Vec<(TestItem, TestPatron)>,
}

impl Shelf {
    async fn loans_of(&self, item: &TestItem) -> Vec<Value> {
        let path =
            format!("/loan-storage/loans?limit=200&query=itemId=={} sortBy metadata.createdDate", item.id);
        let page = self.library.lending.admin().get(&path).await.expect(200);
        page["loans"].as_array().cloned().unwrap_or_default()
    }

    /// One action of a desk or a job; refusals are answers, too.
    async fn act(&self, dice: &mut Dice) {
        let (item, patron) = &self.items[dice.below(ITEMS as u64) as usize];
        let lending = &self.library.lending;
        let admin = lending.admin();
        let answer = match dice.below(12) {
            0 | 1 => {
                let long_ago = json!({"loanDate": "2026-01-01T10:00:00Z"});
                lending.check_out_with(item, patron, long_ago).await
            }
            2 => lending.check_in(item, lending.main_desk).await,
            3 => admin.post("/circulation/scheduled-age-to-lost", &json!({})).await,
            4 => admin.post("/circulation/scheduled-age-to-lost-fee-charging", &json!({})).await,
            5 => {
                let renewal = json!({"itemBarcode": item.barcode, "userBarcode": patron.barcode,
                    "overrideBlocks": {"renewalBlock": {}, "comment": "found"}});
                // An item without an open loan is answered with 500, as in FOLIO.
                let answer = admin.post("/circulation/renew-by-barcode", &renewal).await;
                if answer.status == 500 {
                    return;
                }
                answer
            }
            6 | 7 => {
                let Some(loan) = self.loans_of(item).await.pop() else { return };
                self.library.declare_lost(&loan).await
            }
            action => {
                let Some(loan) = self.loans_of(item).await.pop() else { return };
                let accounts = self.library.accounts(&loan).await;
                if accounts.is_empty() {
                    return;
                }
                let account = &accounts[dice.below(accounts.len() as u64) as usize];
                let how = ["pay", "pay", "waive", "transfer", "refund", "cancel"][dice.below(6) as usize];
                // Often the whole balance, so that loans close.
                let amount = match action {
                    8 => format!("{}.{:02}", dice.below(4), 1 + dice.below(99)),
                    _ => account["remaining"].to_string(),
                };
                let body = json!({"amount": amount, "notifyPatron": false, "userName": "Clerk",
                    "servicePointId": lending.main_desk.0, "paymentMethod": "Cash"});
                admin.post(&format!("/accounts/{}/{how}", id(account)), &body).await
            }
        };
        assert!(
            [200, 201, 204, 422].contains(&answer.status),
            "answered with {}: {}",
            answer.status,
            answer.text()
        );
    }

    async fn check(&self, item: &TestItem) -> usize {
        let database = self.library.lending.server.database().await;
        let loans = self.loans_of(item).await;
        let mut charged = 0;
        for loan in &loans {
            let accounts = self.library.accounts(loan).await;
            for account in &accounts {
                let sql = "SELECT (payload->>'balance')::float8 FROM library_diku.outbox
                           WHERE topic = 'feesfines.FEE_FINE_BALANCE_CHANGED' AND key = $1 ORDER BY id";
                let rows = database.query(sql, &[&id(account)]).await.expect("the outbox can be read");
                let balances: Vec<i64> =
                    rows.iter().map(|row| (row.get::<_, f64>(0) * 100.0).round() as i64).collect();
                // The first record is the charge.
                let records = self.library.actions(account).await;
                check_account(account, &records, &balances);
            }
            charged += accounts.len();
            let is_open = loan["status"]["name"] == "Open";
            if is_open && loan["itemStatus"] == "Declared lost" {
                let owed = accounts.iter().any(|account| account["status"]["name"] == "Open");
                assert!(owed, "the last payment closes the loan: {loan}");
            }
        }
        let status = self.library.lending.status_of(item).await;
        let open: Vec<&Value> = loans.iter().filter(|loan| loan["status"]["name"] == "Open").collect();
        assert!(open.len() <= 1, "{open:?}");
        match (open.first(), loans.last()) {
            (Some(loan), _) => {
                assert_eq!(loan["itemStatus"], status.as_str(), "{loan}");
                assert!(
                    ["Checked out", "Declared lost", "Aged to lost"].contains(&status.as_str()),
                    "{status}"
                );
            }
            (None, Some(last)) => {
                assert!(["Available", "Lost and paid"].contains(&status.as_str()), "{status}: {last}");
                if status == "Lost and paid" {
                    assert_eq!(last["action"], "closedLoan");
                }
            }
            (None, None) => assert_eq!(status, "Available"),
        }
        charged
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_losses_keep_money_items_and_loans_consistent() {
    let library = Library::open(with(json!({"lostItemReturned": "Remove"}))).await;
    let mut items = Vec::new();
    for _ in 0..ITEMS {
        items.push((library.lending.item().await, library.lending.patron().await));
    }
    let shelf = Arc::new(Shelf { library, items });
    let writers: Vec<_> = (0..WRITERS)
        .map(|seed| {
            let shelf = Arc::clone(&shelf);
            tokio::spawn(async move {
                let mut dice = Dice(seed * 7919 + 23);
                for _ in 0..ACTIONS {
                    shelf.act(&mut dice).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("no writer fails");
    }
    let mut charged = 0;
    for (item, _) in &shelf.items {
        charged += shelf.check(item).await;
    }
    assert!(charged >= 4, "some items got lost: {charged}");
}
