//! Counts login attempts in the database before the password is verified, so that parallel guesses on several nodes
//! count like consecutive ones.
//!
//! There are three limits. One address has few attempts on one account: a stranger who exhausts them closes the account
//! for that address only. All addresses together have more attempts on one account; beyond that limit only addresses
//! that have logged in to the account before are admitted, so that guesses from many addresses end without locking the
//! owner out. One address has a limit over all accounts, against one password tried on many names. Changes
//! `login_attempt`.

use carrel_platform::{Pipeline, Tenant};
use carrel_records::Failure;
use jiff::{SignedDuration, Timestamp};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};
use uuid::Uuid;

/// Attempts without success by one address on one account in [`WINDOW`].
const MAX_PER_ADDRESS_AND_ACCOUNT: i32 = 5;
/// Attempts without success by one address on all accounts together in [`WINDOW`].
const MAX_PER_ADDRESS: i32 = 100;
const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// Attempts without success by all addresses on one account in [`ACCOUNT_WINDOW`].
const MAX_PER_ACCOUNT: i32 = 50;
const ACCOUNT_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// An address that has logged in to an account is known to it for this long.
const KNOWN_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Attempts without success are deleted after this time.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);

/// The account of rows that count an address over all accounts.
const ALL_ACCOUNTS: Uuid = Uuid::nil();
/// The address of rows that count an account over all addresses.
const ALL_ADDRESSES: &str = "";

/// Locks of the node that serialize attempts of one address on one account: people who log in to one account at the
/// same moment would count as failures until their passwords are verified. Accounts that share a lock only wait.
pub struct AttemptLocks([Arc<Mutex<()>>; 64]);

impl Default for AttemptLocks {
    fn default() -> AttemptLocks {
        AttemptLocks(std::array::from_fn(|_| Arc::default()))
    }
}

impl AttemptLocks {
    async fn lock(&self, tenant: &str, account: Uuid, address: &str) -> OwnedMutexGuard<()> {
        let mut hasher = DefaultHasher::new();
        (tenant, account, address).hash(&mut hasher);
        let index = hasher.finish() as usize % self.0.len();
        Arc::clone(&self.0[index]).lock_owned().await
    }
}

/// An attempt that was counted and may go on to the password.
#[derive(Debug)]
pub struct Attempt {
    /// Held until the attempt's outcome is recorded.
    _lock: OwnedMutexGuard<()>,
    account: Uuid,
    address: String,
    /// Attempts by the address on the account, this one included.
    failures: i32,
}

/// The account id under which an unknown name is counted. It is counted like an account, so that answers do not differ.
pub fn account_of_unknown_name(folded_name: &str) -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, folded_name.as_bytes())
}

/// Counts an attempt. `None` if the account is closed to the address; an address with too many attempts on all accounts
/// is refused with 429.
pub async fn count(
    tenant: &Tenant,
    locks: &AttemptLocks,
    account: Uuid,
    address: IpAddr,
    now: Timestamp,
) -> Result<Option<Attempt>, Failure> {
    let address = address_key(address);
    // Waits without a database connection.
    let lock = locks.lock(&tenant.id, account, &address).await;
    let mut tx = tenant.begin().await?;
    let mut pipeline = Pipeline::new();
    // Rows are locked in this order here and in `count_success`.
    let of_address = add_count(&mut pipeline, ALL_ACCOUNTS, &address, now, WINDOW, MAX_PER_ADDRESS);
    let of_both = add_count(&mut pipeline, account, &address, now, WINDOW, MAX_PER_ADDRESS_AND_ACCOUNT);
    let counted = tx.send(pipeline).await?;
    if counted.first(of_address).is_none() {
        return Err(Failure::TooMany("Too many attempts to log in from this address.".into()));
    }
    let Some(row) = counted.first(of_both) else {
        tx.commit().await?;
        return Ok(None);
    };
    let failures: i32 = row.get("attempts");
    let last_success: Option<Timestamp> = row.get("last_success");
    let is_known = last_success.is_some_and(|last| now.duration_since(last) < KNOWN_FOR);
    let mut pipeline = Pipeline::new();
    let of_account = add_count(&mut pipeline, account, ALL_ADDRESSES, now, ACCOUNT_WINDOW, i32::MAX);
    let counted = tx.send_and_commit(pipeline).await?;
    let on_account: i32 = counted.first(of_account).map_or(i32::MAX, |row| row.get("attempts"));
    let is_open = on_account <= MAX_PER_ACCOUNT || is_known;
    Ok(is_open.then_some(Attempt { _lock: lock, account, address, failures }))
}

/// Adds a statement that counts one attempt and gives the row; it gives none where the limit was reached before.
fn add_count(
    pipeline: &mut Pipeline,
    account: Uuid,
    address: &str,
    now: Timestamp,
    window: SignedDuration,
    limit: i32,
) -> usize {
    pipeline.add(
        "INSERT INTO login_attempt AS known (account_id, address, attempts, window_start, last_attempt)
         VALUES ($1, $2, 1, $3, $3)
         ON CONFLICT (account_id, address) DO UPDATE SET
             attempts = CASE WHEN known.window_start <= $4 THEN 1 ELSE known.attempts + 1 END,
             window_start = CASE WHEN known.window_start <= $4 THEN $3 ELSE known.window_start END,
             last_attempt = $3
         WHERE known.attempts < $5 OR known.window_start <= $4
         RETURNING attempts, last_success",
        vec![account.into(), address.into(), now.into(), (now - window).into(), limit.into()],
    )
}

impl Attempt {
    /// Adds the statements that record a successful login: it and the failures before it no longer count.
    pub fn count_success(&self, pipeline: &mut Pipeline, now: Timestamp) {
        pipeline.add(
            "UPDATE login_attempt SET attempts = greatest(attempts - 1, 0)
             WHERE account_id = $1 AND address = $2",
            vec![ALL_ACCOUNTS.into(), self.address.as_str().into()],
        );
        pipeline.add(
            "UPDATE login_attempt SET attempts = 0, last_success = $3 WHERE account_id = $1 AND address = $2",
            vec![self.account.into(), self.address.as_str().into(), now.into()],
        );
        pipeline.add(
            "UPDATE login_attempt SET attempts = greatest(attempts - $3, 0)
             WHERE account_id = $1 AND address = $2",
            vec![self.account.into(), ALL_ADDRESSES.into(), self.failures.into()],
        );
    }
}

/// Adds the statement that opens the account to every address, after its password was reset.
pub fn reset(pipeline: &mut Pipeline, account: Uuid) {
    pipeline.add("UPDATE login_attempt SET attempts = 0 WHERE account_id = $1", vec![account.into()]);
}

/// Adds the statement that deletes the attempts on the accounts.
pub fn delete(pipeline: &mut Pipeline, accounts: Vec<Uuid>) {
    pipeline.add("DELETE FROM login_attempt WHERE account_id = ANY($1)", vec![accounts.into()]);
}

/// Adds the statement that deletes rows that no limit uses any longer.
pub fn delete_old(pipeline: &mut Pipeline, now: Timestamp) {
    pipeline.add(
        "DELETE FROM login_attempt WHERE last_attempt < $1
         AND (last_success IS NULL OR last_success < $2)",
        vec![(now - KEPT_FOR).into(), (now - KNOWN_FOR).into()],
    );
}

/// Attempts on the account without success in the current window, and when the last one was.
pub async fn failures_of(tenant: &Tenant, account: Uuid) -> Result<Option<(i32, Timestamp)>, Failure> {
    let connection = tenant.reader().await?;
    let rows = connection
        .query(
            "SELECT attempts, last_attempt FROM login_attempt WHERE account_id = $1 AND address = $2",
            vec![account.into(), ALL_ADDRESSES.into()],
        )
        .await?;
    Ok(rows.first().map(|row| (row.get("attempts"), row.get("last_attempt"))))
}

/// The key by which an address is counted. For IPv6 it is the /64 network, since a subscriber has all of its addresses.
fn address_key(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [first, second, third, fourth, ..] = address.segments();
            format!("{first:x}:{second:x}:{third:x}:{fourth:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_one_ipv6_network_count_as_one() {
        let key = |text: &str| address_key(text.parse().expect("an address"));
        assert_eq!(key("2001:db8:1:2::1"), key("2001:db8:1:2:ffff::9"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.1"), "192.0.2.1");
    }

    #[test]
    fn two_spellings_of_an_unknown_name_count_as_one_account() {
        assert_eq!(account_of_unknown_name("ada"), account_of_unknown_name("ada"));
        assert_ne!(account_of_unknown_name("ada"), account_of_unknown_name("bob"));
    }
}
