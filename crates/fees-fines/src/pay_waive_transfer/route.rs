//! Routes of paying, waiving and transferring.

use super::{check, settle};
use crate::actions::{ActionKind, ActionRequest, Scope};
use carrel_platform::{Call, Router};

/// Connects the routes.
pub fn routes(router: &mut Router) {
    for (name, kind) in
        [("pay", ActionKind::Pay), ("waive", ActionKind::Waive), ("transfer", ActionKind::Transfer)]
    {
        for (path, scope) in [("/accounts/{id}", Scope::Single), ("/accounts-bulk", Scope::Bulk)] {
            router.on("POST", &format!("{path}/check-{name}"), move |call: Call| async move {
                check(&call, &ActionRequest::read(&call, scope)?).await
            });
            router.on("POST", &format!("{path}/{name}"), move |call: Call| async move {
                settle(&call, kind, &ActionRequest::read(&call, scope)?).await
            });
        }
    }
}
