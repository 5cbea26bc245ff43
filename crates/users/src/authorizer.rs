//! Authorization: the platform's interface, implemented by the tenant's permission catalog.

use crate::permissions::PermissionCatalog;
use carrel_platform::Tenant;
use carrel_platform::http::{Authorizer, Permissions};
use carrel_platform::token::Claims;
use carrel_records::Failure;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use uuid::Uuid;

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// Looks up users' permissions and revoked tokens.
#[derive(Default)]
pub struct PermissionAuthorizer {
    /// Expanded permissions by tenant and user, valid for the catalog that they were computed from.
    expanded: Mutex<HashMap<(String, Uuid), Expanded>>,
}

type Expanded = (Arc<PermissionCatalog>, Permissions);

/// Users whose expanded permissions are cached; beyond this number the cache is emptied.
const MAX_CACHED: usize = 20_000;

impl Authorizer for PermissionAuthorizer {
    fn permissions<'a>(&'a self, tenant: &'a Arc<Tenant>, user: Uuid) -> BoxFuture<'a, Permissions> {
        Box::pin(async move {
            let catalog = PermissionCatalog::of(tenant).await?;
            let key = (tenant.id.clone(), user);
            let mut expanded = self.expanded.lock().expect("no holder of this lock panics");
            if let Some((known, permissions)) = expanded.get(&key)
                && Arc::ptr_eq(known, &catalog)
            {
                return Ok(permissions.clone());
            }
            let permissions = Permissions::new(catalog.of_user(user));
            if expanded.len() >= MAX_CACHED {
                expanded.clear();
            }
            expanded.insert(key, (catalog, permissions.clone()));
            Ok(permissions)
        })
    }

    fn is_revoked<'a>(&'a self, tenant: &'a Arc<Tenant>, claims: &'a Claims) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let catalog = PermissionCatalog::of(tenant).await?;
            Ok(catalog.generations.get(&claims.user_id).is_some_and(|current| claims.generation < *current))
        })
    }
}
