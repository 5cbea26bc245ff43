//! Who may pass: the permissions of a caller, and the module that knows them.

use crate::tenant::Tenant;
use crate::token::Claims;
use carrel_records::Failure;
use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use uuid::Uuid;

/// Permissions with all that their sets contain.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    names: Arc<HashSet<Arc<str>>>,
    everything: bool,
}

impl Permissions {
    pub fn new(names: HashSet<Arc<str>>) -> Permissions {
        let everything = names.contains(crate::surface::EVERYTHING);
        Permissions { names: Arc::new(names), everything }
    }
    /// Everything is allowed: the caller is ourselves or a gateway that has checked.
    pub fn all() -> Permissions {
        Permissions { names: Arc::default(), everything: true }
    }
    pub fn holds(&self, permission: &str) -> bool {
        self.everything || self.names.contains(permission)
    }
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }
}

type Future_<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the gateway asks the module that keeps users and permissions.
pub trait Authorizer: Send + Sync {
    /// The expanded permissions of a user, fresh by the tenant's settings version.
    fn permissions<'a>(
        &'a self,
        tenant: &'a Arc<Tenant>,
        user: Uuid,
    ) -> Future_<'a, Result<Permissions, Failure>>;

    /// Whether a token that is signed and in time was taken back (logout).
    fn is_revoked<'a>(
        &'a self,
        tenant: &'a Arc<Tenant>,
        claims: &'a Claims,
    ) -> Future_<'a, Result<bool, Failure>>;
}
