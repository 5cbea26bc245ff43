//! Address types: one that users have cannot be deleted.
//!
//! Routes: `DELETE /addresstypes/{addresstypeId}`; the others are those of the record declaration.

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
                 jsonb_build_array(jsonb_build_object('addressTypeId', t.id))) AS is_used
             FROM addresstype t WHERE t.id = $1 FOR UPDATE OF t",
            vec![id.into()],
        )
        .await?;
    let is_used: bool =
        rows.first().map(|row| row.get("is_used")).ok_or_else(|| Failure::NotFound("Not found".into()))?;
    if is_used {
        let words = format!("Cannot remove address type '{id}' as it is being used");
        return Err(Failure::Conflict(words));
    }
    write::delete(tx, tenant, &ADDRESS_TYPE, id, &call.node.records, call.now).await?;
    Ok(Answer::no_content())
}
