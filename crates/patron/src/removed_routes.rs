//! Two routes that mod-patron declares but no longer implements: the answers are the module's.

use carrel_platform::{Answer, Router};
use carrel_records::Failure;
use http::StatusCode;

pub(super) fn connect(router: &mut Router) {
    // FOLIO quirk: the path is also that of PUT /patron/{externalSystemId}, so only the method is not allowed.
    router.on("GET", "/patron/account", |_| async {
        Ok(Answer::text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"))
    });
    router.on("PUT", "/patron/account/by-email/{email}", |_| async {
        Err::<Answer, _>(Failure::NotFound("Resource not found".into()))
    });
}
