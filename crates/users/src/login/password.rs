//! Passwords: argon2id, computed by few threads at a time so that a storm of logins leaves the desk its share
//! of the machine.

use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use carrel_records::Failure;
use std::sync::{Arc, LazyLock};
use tokio::sync::Semaphore;

/// At most this many hashes are computed at once.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(1)));

/// A hash of nothing in particular, for names that are not known.
static NOBODY: LazyLock<String> =
    LazyLock::new(|| hash_now("nobody knows this password").expect("hashing works"));

fn hasher() -> Argon2<'static> {
    // OWASP's first recommendation for argon2id: 19 MiB, two passes.
    let params = Params::new(19 * 1024, 2, 1, None).expect("the parameters are within argon2's bounds");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// Hashes a password for keeping.
pub async fn hash(password: &str) -> Result<String, Failure> {
    let password = password.to_owned();
    in_turn(move || hash_now(&password)).await?
}

/// Whether the password is the one that was hashed.
pub async fn fits(password: &str, hash: &str) -> Result<bool, Failure> {
    let (password, hash) = (password.to_owned(), hash.to_owned());
    in_turn(move || {
        PasswordHash::new(&hash)
            .is_ok_and(|hash| hasher().verify_password(password.as_bytes(), &hash).is_ok())
    })
    .await
}

/// Takes as long as a check, for a name that is not known.
pub async fn verify_dummy(password: &str) -> Result<(), Failure> {
    let hash = NOBODY.clone();
    fits(password, &hash).await.map(|_| ())
}

fn hash_now(password: &str) -> Result<String, Failure> {
    let failed =
        |error: argon2::password_hash::Error| Failure::internal(format!("hashing a password: {error}"));
    let salt: [u8; 16] = *uuid::Uuid::new_v4().as_bytes();
    let salt = SaltString::encode_b64(&salt).map_err(failed)?;
    Ok(hasher().hash_password(password.as_bytes(), &salt).map_err(failed)?.to_string())
}

async fn in_turn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let _turn =
        TURNS.acquire().await.map_err(|_| Failure::Unavailable("The server is shutting down.".into()))?;
    tokio::task::spawn_blocking(work).await.map_err(|error| Failure::Internal {
        context: "hashing a password".into(),
        cause: Some(error.into()),
    })
}
