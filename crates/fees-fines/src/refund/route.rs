//! Routes of refunds.

use super::{check, refund};
use crate::actions::{ActionRequest, Scope};
use carrel_platform::{Call, Router};

/// Connects the routes.
pub fn routes(router: &mut Router) {
    for (path, scope) in [("/accounts/{id}", Scope::Single), ("/accounts-bulk", Scope::Bulk)] {
        router.on("POST", &format!("{path}/check-refund"), move |call: Call| async move {
            check(&call, &ActionRequest::read(&call, scope)?).await
        });
        router.on("POST", &format!("{path}/refund"), move |call: Call| async move {
            refund(&call, &ActionRequest::read(&call, scope)?).await
        });
    }
}
