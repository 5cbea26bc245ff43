//! Which rules of storage a tenant relaxes. A tenant of a library relaxes none; one that a server with `--make-tenants`
//! creates for a public test suite relaxes all, as the suite's fixtures were written against a simulated storage.

/// The rules that a tenant relaxes, each by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TenantProfile {
    /// Of a record only the types of its properties are checked: none is required, none unknown, no value refused.
    pub unchecked_records: bool,
    /// References need not lead anywhere.
    pub dangling_references: bool,
    /// Values that are otherwise unique may repeat, where their declaration says so.
    pub repeated_values: bool,
    /// A replacement need not name the stored version.
    pub unchecked_versions: bool,
    /// `PUT` to an unknown id creates the record.
    pub put_creates: bool,
    /// `POST` of a known id replaces the record.
    pub post_replaces: bool,
    /// `DELETE` of a collection needs no query.
    pub delete_without_query: bool,
    /// Records are stored as they were sent, without HRIDs, dates and snapshots of the server's own.
    pub stored_as_sent: bool,
    /// Changes of fees/fines have no effect on loans: the module under test causes it.
    pub effects_left_to_modules: bool,
    /// Times and nulls are written as FOLIO's modules write them, and not as its storage.
    pub module_formats: bool,
    /// What may be read, changed and granted is not limited by the caller's permissions.
    pub unlimited_permissions: bool,
    /// A service point without a calendar is always open.
    pub open_without_calendar: bool,
    /// Notices that are late are sent nevertheless.
    pub late_notices: bool,
    /// The routes exist by which suites set what a simulated module answers.
    pub stand_ins: bool,
    /// Nothing is done in the background: the suite calls what it wants done.
    pub no_jobs: bool,
    /// The end of the tenant empties its tables instead of dropping them.
    pub emptied_at_end: bool,
}

impl TenantProfile {
    /// Relaxes nothing.
    pub const STRICT: TenantProfile = TenantProfile::stored(false);

    /// The profile of a tenant by its column `lenient`, which never changes.
    pub(crate) const fn stored(lenient: bool) -> TenantProfile {
        TenantProfile {
            unchecked_records: lenient,
            dangling_references: lenient,
            repeated_values: lenient,
            unchecked_versions: lenient,
            put_creates: lenient,
            post_replaces: lenient,
            delete_without_query: lenient,
            stored_as_sent: lenient,
            effects_left_to_modules: lenient,
            module_formats: lenient,
            unlimited_permissions: lenient,
            open_without_calendar: lenient,
            late_notices: lenient,
            stand_ins: lenient,
            no_jobs: lenient,
            emptied_at_end: lenient,
        }
    }
}
