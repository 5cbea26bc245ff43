//! Password hashes: argon2id, computed by a few threads of low priority with a bounded queue.
//!
//! A hash uses 19 MiB and tens of milliseconds of one processor on purpose. Without a bound, many people who log in at
//! the same time (or a stranger who guesses) would slow down the desks.

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use carrel_records::Failure;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Longest password that is accepted or compared, in bytes.
pub const MAX_PASSWORD_BYTES: usize = 1024;

/// Hashes that may wait for each thread; one more is answered with 429.
const QUEUE_PER_THREAD: usize = 32;

/// Niceness of the hashing threads: request threads run at 0 and take precedence.
const NICENESS: i32 = 10;

/// A hash of no account's password, for accounts that do not exist.
static DUMMY_HASH: LazyLock<String> =
    LazyLock::new(|| hash_blocking("the password of no account").expect("the parameters are valid"));

type Job = Box<dyn FnOnce() + Send>;

/// The node's hashing threads and their queue.
pub struct PasswordHasher {
    queue: SyncSender<Job>,
    places: Arc<Semaphore>,
}

impl Default for PasswordHasher {
    fn default() -> PasswordHasher {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        PasswordHasher::new((processors / 2).max(1), QUEUE_PER_THREAD)
    }
}

impl PasswordHasher {
    /// Starts `threads` threads; at most `queue_per_thread` hashes wait for each of them.
    fn new(threads: usize, queue_per_thread: usize) -> PasswordHasher {
        let places = threads * (queue_per_thread + 1);
        let (queue, jobs) = sync_channel(places);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..threads {
            let jobs = Arc::clone(&jobs);
            std::thread::Builder::new()
                .name(format!("password-{number}"))
                .spawn(move || run_jobs(&jobs))
                .expect("a thread can be started");
        }
        PasswordHasher { queue, places: Arc::new(Semaphore::new(places)) }
    }

    /// Enters the queue, or refuses at once if it is full. Must be called before anything is read from the database for
    /// the caller.
    pub fn admit(&self) -> Result<Admission<'_>, Failure> {
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => Ok(Admission { hasher: self, _place: place }),
            Err(_) => {
                Err(Failure::TooMany("Too many logins at the moment. Try again in a few seconds.".into()))
            }
        }
    }

    /// Hashes a password for storage.
    pub async fn hash(&self, password: &str) -> Result<String, Failure> {
        self.admit()?.hash(password).await
    }
}

/// A place in the queue; it is free again when this is dropped.
pub struct Admission<'a> {
    hasher: &'a PasswordHasher,
    _place: OwnedSemaphorePermit,
}

impl Admission<'_> {
    /// Hashes a password for storage.
    pub async fn hash(&self, password: &str) -> Result<String, Failure> {
        refuse_if_too_long(password)?;
        let password = password.to_owned();
        self.run(move || hash_blocking(&password)).await?
    }

    /// Whether the hash is that of the password.
    pub async fn verify(&self, password: &str, hash: &str) -> Result<bool, Failure> {
        refuse_if_too_long(password)?;
        let (password, hash) = (password.to_owned(), hash.to_owned());
        self.run(move || {
            PasswordHash::new(&hash)
                .is_ok_and(|hash| argon2().verify_password(password.as_bytes(), &hash).is_ok())
        })
        .await
    }

    /// Takes as long as [`Admission::verify`], for an account that does not exist.
    pub async fn verify_dummy(&self, password: &str) -> Result<(), Failure> {
        refuse_if_too_long(password)?;
        let password = password.to_owned();
        self.run(move || {
            let hash = PasswordHash::new(&DUMMY_HASH).expect("a hash that was made here can be read");
            let _ = argon2().verify_password(password.as_bytes(), &hash);
        })
        .await
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
        let (sender, result) = oneshot::channel();
        let job = Box::new(move || {
            // The client has disconnected and needs no result.
            if !sender.is_closed() {
                let _ = sender.send(work());
            }
        });
        // The queue is as long as there are permits, so a permit holder always finds a free slot.
        self.hasher.queue.try_send(job).map_err(|_| Failure::internal("the queue of passwords is full"))?;
        result.await.map_err(|_| Failure::internal("a password was not hashed"))
    }
}

/// Refuses a password that is longer than any that is stored.
pub fn refuse_if_too_long(password: &str) -> Result<(), Failure> {
    match password.len() > MAX_PASSWORD_BYTES {
        true => Err(Failure::Invalid(format!("A password has at most {MAX_PASSWORD_BYTES} bytes"))),
        false => Ok(()),
    }
}

/// Hashes a password on the calling thread: for commands, never for a request.
pub fn hash_blocking(password: &str) -> Result<String, Failure> {
    refuse_if_too_long(password)?;
    let failed =
        |error: argon2::password_hash::Error| Failure::internal(format!("hashing a password: {error}"));
    let salt = SaltString::encode_b64(uuid::Uuid::new_v4().as_bytes()).map_err(failed)?;
    Ok(argon2().hash_password(password.as_bytes(), &salt).map_err(failed)?.to_string())
}

/// The first of the parameter sets that OWASP recommends for argon2id: 19 MiB, two passes, one lane.
fn argon2() -> Argon2<'static> {
    let params = Params::new(19 * 1024, 2, 1, None).expect("the parameters are within argon2's bounds");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn run_jobs(jobs: &Mutex<Receiver<Job>>) {
    // On Linux the niceness belongs to the thread; if the call is not allowed, the priority stays unchanged.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        // The hasher was dropped.
        let Ok(job) = job else { return };
        // After a panic the caller finds its channel closed; the thread continues with the next job.
        let _ = catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hash_verifies_its_own_password_and_no_other() {
        let hasher = PasswordHasher::new(1, 1);
        let hash = hasher.hash("right").await.expect("hashed");
        let admission = hasher.admit().expect("a place");
        assert!(admission.verify("right", &hash).await.expect("verified"));
        assert!(!admission.verify("wrong", &hash).await.expect("verified"));
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once_and_a_released_place_admits_again() {
        let hasher = PasswordHasher::new(1, 1);
        let places: Vec<_> = (0..2).map(|_| hasher.admit().expect("a place")).collect();
        assert!(matches!(hasher.admit(), Err(Failure::TooMany(_))));
        drop(places);
        hasher.admit().expect("a place");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn hashes_run_on_threads_of_their_own_with_low_priority() {
        let hasher = PasswordHasher::new(2, 8);
        for _ in 0..8 {
            let admission = hasher.admit().expect("a place");
            let thread = || {
                let niceness = rustix::process::getpriority_process(None);
                (std::thread::current().name().map(str::to_owned), niceness.ok())
            };
            let (name, niceness) = admission.run(thread).await.expect("it runs");
            assert!(name.is_some_and(|name| name.starts_with("password-")));
            assert_eq!(niceness, Some(NICENESS));
        }
    }

    #[tokio::test]
    async fn the_only_thread_of_a_runtime_answers_others_while_all_hashing_threads_are_busy() {
        let hasher = PasswordHasher::new(1, 2);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let [first, second, third] = [(); 3].map(|()| hasher.admit().expect("a place"));
        let call = async {
            // Each time all other tasks that are ready run.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            release.send(()).expect("the first hash still runs");
        };
        let (busy, second, third, ()) = tokio::join!(
            first.run(move || released.recv().is_ok()),
            second.run(|| ()),
            third.run(|| ()),
            call
        );
        assert!(busy.expect("it runs") && second.is_ok() && third.is_ok());
    }

    #[tokio::test]
    async fn an_overlong_password_is_refused_before_it_is_hashed() {
        let hasher = PasswordHasher::new(1, 1);
        let password = "x".repeat(MAX_PASSWORD_BYTES + 1);
        assert!(matches!(hasher.hash(&password).await, Err(Failure::Invalid(_))));
    }
}
