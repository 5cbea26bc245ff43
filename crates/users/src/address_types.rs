//! Kinds of postal addresses: one that users have stays.
//!
//! Routes: `DELETE /addresstypes/{addresstypeId}`; the others are those of a plain record.

use crate::records::people::ADDRESS_TYPE;
use carrel_platform::record_store::write;
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;

pub fn connect(router: &mut Router) {
    router.on("DELETE", "/addresstypes/{id}", delete);
}

async fn delete(call: Call) -> Result<Answer, Failure> {
    let id = call.id(0)?;
    let tenant = call.tenant()?;
    let mut tx = tenant.begin().await?;
    let rows = tx
        .query(
            "SELECT EXISTS (SELECT 1 FROM users WHERE users.doc->'personal'->'addresses' @>
                 jsonb_build_array(jsonb_build_object('addressTypeId', t.id)))
             FROM addresstype t WHERE t.id = $1 FOR UPDATE OF t",
            vec![id.into()],
        )
        .await?;
    let used: bool =
        rows.first().map(|row| row.get(0)).ok_or_else(|| Failure::NotFound("Not found".into()))?;
    if used {
        let words = format!("Cannot remove address type '{id}' as it is being used");
        return Err(Failure::Conflict(words));
    }
    write::delete(tx, &tenant.id, &ADDRESS_TYPE, id, &call.node.records, call.now).await?;
    Ok(Answer::no_content())
}
