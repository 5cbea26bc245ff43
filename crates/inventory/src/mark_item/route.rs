//! Routes, requests and answers.

use super::decide::MARKS;
use super::mark;
use crate::item_view;
use carrel_platform::Router;

/// Connects the routes.
pub fn routes(router: &mut Router) {
    for (level, status) in MARKS {
        router.on("POST", &format!("/inventory/items/{{id}}/{level}"), move |call| {
            let status = status.clone();
            async move {
                let id = call.id(0)?;
                mark(&call, id, status).await?;
                let connection = call.tenant()?.writer().await?;
                item_view::show(&connection, id).await
            }
        });
    }
}
