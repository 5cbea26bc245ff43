//! What goes with a deleted user: their preferences for requests.

use carrel_users::extensions::UserDependents;

/// What requests store about users. Their number is counted where the record type is declared, in circulation.
pub static DEPENDENTS: UserDependents = UserDependents {
    open: &[],
    delete: |pipeline, users| {
        let sql = "DELETE FROM user_request_preference WHERE user_id = ANY($1)";
        pipeline.add(sql, vec![users.to_vec().into()]);
    },
};
