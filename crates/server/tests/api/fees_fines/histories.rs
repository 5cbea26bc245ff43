//! Accounts stay balanced, whatever several desks do to them concurrently.

use super::{Fees, action, bulk};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

const ACCOUNTS: usize = 5;
const WRITERS: u64 = 4;
const ACTIONS: usize = 40;

/// A random number generator with the same sequence in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn cents(amount: &Value) -> i64 {
    (amount.as_f64().expect("an amount") * 100.0).round() as i64
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_actions_keep_every_account_balanced_and_recorded() {
    let fees = Arc::new(Fees::open().await);
    let mut accounts = Vec::new();
    for number in 0..ACCOUNTS {
        accounts.push(fees.account(20.0 + number as f64 * 7.25).await);
    }
    let accounts = Arc::new(accounts);
    let acknowledged: Arc<Mutex<Vec<Value>>> = Arc::default();
    let writers: Vec<_> = (0..WRITERS)
        .map(|seed| {
            let (fees, accounts, acknowledged) =
                (Arc::clone(&fees), Arc::clone(&accounts), Arc::clone(&acknowledged));
            tokio::spawn(async move { act(&fees, &accounts, Dice(seed * 7919 + 17), &acknowledged).await })
        })
        .collect();
    for writer in writers {
        writer.await.expect("no writer fails");
    }

    let acknowledged = acknowledged.lock().expect("no writer panics").clone();
    let mut recorded = 0;
    let database = fees.server.database().await;
    for account in accounts.iter() {
        let records = fees.records_of(account).await;
        recorded += records.len();
        for record in &records {
            assert!(acknowledged.iter().any(|it| it["id"] == record["id"]), "not acknowledged: {record}");
        }
        let sql = "SELECT (payload->>'balance')::float8 FROM library_diku.outbox \
                   WHERE topic = 'feesfines.FEE_FINE_BALANCE_CHANGED' AND key = $1 ORDER BY id";
        let rows = database.query(sql, &[account]).await.expect("the outbox can be read");
        let balances: Vec<i64> =
            rows.iter().map(|row| (row.get::<_, f64>(0) * 100.0).round() as i64).collect();
        check_account(&fees.stored(account).await, &records, &balances);
    }
    assert_eq!(recorded, acknowledged.len(), "every acknowledged action is recorded once");
    assert!(recorded > 40, "the desks got something done: {recorded}");
}

/// Compares the records of an account with its balance and with the published balances.
pub fn check_account(account: &Value, records: &[Value], balances: &[i64]) {
    let mut sums: HashMap<&str, i64> = HashMap::new();
    let mut settled = Vec::new();
    let mut cancellations = 0;
    for record in records {
        let amount = cents(&record["amountAction"]);
        let kind = record["typeAction"].as_str().and_then(|kind| kind.split(' ').next()).unwrap_or_default();
        match kind {
            "Paid" | "Waived" | "Transferred" => settled.push(amount),
            "Cancelled" => cancellations += 1,
            _ => {}
        }
        *sums.entry(kind).or_default() += amount;
    }
    let sum = |kind: &str| sums.get(kind).copied().unwrap_or(0);
    let (charged, remaining) = (cents(&account["amount"]), cents(&account["remaining"]));
    assert_eq!(balances.first(), Some(&charged), "the charge is announced");
    assert_eq!(balances.last(), Some(&remaining), "the last balance is that of the account");
    assert!(balances.iter().all(|balance| (0..=charged).contains(balance)), "{balances:?}");

    // A decrease of the balance is a settlement or a cancellation, an increase a refund.
    let steps: Vec<i64> = balances.windows(2).map(|pair| pair[0] - pair[1]).collect();
    let mut falls: Vec<i64> = steps.iter().copied().filter(|step| *step > 0).collect();
    for amount in settled {
        let index = falls.iter().position(|fall| *fall == amount);
        falls.swap_remove(
            index.unwrap_or_else(|| panic!("{amount} was recorded and not settled: {balances:?}")),
        );
    }
    assert_eq!(falls.len(), cancellations, "what else fell was cancelled: {balances:?}");
    let cancelled: i64 = falls.iter().sum();
    let risen: i64 = steps.iter().filter(|step| **step < 0).map(|step| -step).sum();
    assert_eq!(risen, sum("Refunded"));
    assert_eq!(sum("Credited"), sum("Refunded"));
    assert!(sum("Refunded") <= sum("Paid") + sum("Transferred"));
    assert_eq!(
        charged + sum("Refunded"),
        sum("Paid") + sum("Waived") + sum("Transferred") + cancelled + remaining,
        "charged + refunded = paid + waived + transferred + cancelled + remaining"
    );
    assert_eq!(remaining == 0, account["status"]["name"] == "Closed");
}

async fn act(fees: &Fees, accounts: &[String], mut dice: Dice, acknowledged: &Mutex<Vec<Value>>) {
    for _ in 0..ACTIONS {
        let name = match dice.below(20) {
            0..=7 => "pay",
            8..=10 => "waive",
            11..=13 => "transfer",
            14..=18 => "refund",
            _ => "cancel",
        };
        let amount = format!("{}.{:02}", dice.below(9), 1 + dice.below(99));
        let first = dice.below(ACCOUNTS as u64) as usize;
        let reply = if dice.below(3) == 0 {
            let several: Vec<&str> = (0..1 + dice.below(3) as usize)
                .map(|offset| accounts[(first + offset * 2) % ACCOUNTS].as_str())
                .collect();
            fees.server.post(&format!("/accounts-bulk/{name}"), &bulk(&several, &amount)).await
        } else {
            fees.server.post(&format!("/accounts/{}/{name}", accounts[first]), &action(&amount)).await
        };
        match reply.status {
            201 => {
                let records = reply.json()["feefineactions"].as_array().cloned().unwrap_or_default();
                assert!(!records.is_empty(), "an action that is done has a record");
                acknowledged.lock().expect("no writer panics").extend(records);
            }
            422 => assert!(reply.json()["errorMessage"].is_string(), "{}", reply.text()),
            other => panic!("{name} was answered with {other}: {}", reply.text()),
        }
    }
}
