//! Records that are deleted with a user: their request preferences.

use carrel_users::extensions::UserDependents;

/// Records of this module that depend on users. The requests themselves are counted in circulation, where the record
/// type is declared.
pub static DEPENDENTS: UserDependents = UserDependents {
    open: &[],
    delete: |pipeline, users| {
        let sql = "DELETE FROM user_request_preference WHERE user_id = ANY($1)";
        pipeline.add(sql, vec![users.to_vec().into()]);
    },
};
