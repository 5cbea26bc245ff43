//! The outbox of user events.
//!
//! Routes: `POST /users/outbox/process`. In FOLIO a timer makes mod-users send events that it could not send with their
//! change. Here an event is committed with its change in the tenant's outbox, so none is left to be sent.

use carrel_platform::{Answer, Router};
use http::StatusCode;

pub fn connect(router: &mut Router) {
    router.on("POST", "/users/outbox/process", |call| async move {
        call.tenant()?;
        Ok(Answer::text(StatusCode::OK, ""))
    });
}
