//! Permissions of a caller, and the interface of the module that stores them.

use crate::tenant::Tenant;
use crate::token::Claims;
use carrel_records::Failure;
use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use uuid::Uuid;

/// Expanded permissions: with the contents of every permission set.
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
    /// Every permission, for internal calls and for a gateway that has already checked.
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

/// What authentication needs from the module that stores users and permissions.
pub trait Authorizer: Send + Sync {
    /// The expanded permissions of a user, current by the tenant's settings version.
    fn permissions<'a>(
        &'a self,
        tenant: &'a Arc<Tenant>,
        user: Uuid,
    ) -> Future_<'a, Result<Permissions, Failure>>;

    /// Whether a token with a valid signature and expiration was revoked, for instance by logout.
    fn is_revoked<'a>(
        &'a self,
        tenant: &'a Arc<Tenant>,
        claims: &'a Claims,
    ) -> Future_<'a, Result<bool, Failure>>;
}
