//! Accounts and blocks that prevent the deletion of a user, and records that are deleted with a user.

use carrel_platform::Pipeline;
use carrel_records::time;
use carrel_users::extensions::{OpenTransactionCount, OpenTransactionKind, UserDependents};
use uuid::Uuid;

/// Records of this module that depend on users.
pub static DEPENDENTS: UserDependents = UserDependents {
    open: &[
        OpenTransactionCount {
            kind: OpenTransactionKind::FeesFines,
            count: |pipeline, user, _| {
                let sql = "SELECT count(*) AS open FROM accounts
                           WHERE user_id = $1 AND doc->'status'->>'name' = 'Open'";
                pipeline.add(sql, vec![user.into()])
            },
        },
        OpenTransactionCount {
            kind: OpenTransactionKind::Blocks,
            count: |pipeline, user, now| {
                let sql = "SELECT count(*) AS open FROM manualblocks
                           WHERE user_id = $1 AND doc->>'expirationDate' >= $2";
                pipeline.add(sql, vec![user.into(), time::format(now).into()])
            },
        },
    ],
    delete,
};

fn delete(pipeline: &mut Pipeline, users: &[Uuid]) {
    pipeline.add("DELETE FROM manualblocks WHERE user_id = ANY($1)", vec![users.to_vec().into()]);
}
