//! Loans and requests that prevent the deletion of a user.

use carrel_users::extensions::{OpenTransactionCount, OpenTransactionKind, UserDependents};

/// Records of this module that depend on users.
pub static DEPENDENTS: UserDependents = UserDependents {
    open: &[
        OpenTransactionCount {
            kind: OpenTransactionKind::Loans,
            count: |pipeline, user, _| {
                let sql = "SELECT count(*) AS open FROM loan WHERE user_id = $1 AND is_open";
                pipeline.add(sql, vec![user.into()])
            },
        },
        OpenTransactionCount {
            kind: OpenTransactionKind::Requests,
            count: |pipeline, user, _| {
                let sql = "SELECT count(*) AS open FROM request
                           WHERE requester_id = $1 AND doc->>'status' LIKE 'Open%'";
                pipeline.add(sql, vec![user.into()])
            },
        },
    ],
    delete: |_, _| {},
};
