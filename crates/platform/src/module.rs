//! The declaration of a module.

use crate::http::Router;
use crate::jobs::Job;
use crate::record_store::change_listeners::ChangeListener;
use crate::record_store::upgrade::Step;
use crate::transaction_listeners::TransactionListeners;
use carrel_records::RecordType;

/// One area of the library: its records, its tables beyond the declared ones, its routes.
pub struct Module {
    pub name: &'static str,
    pub records: &'static [&'static RecordType],
    /// SQL that runs in a tenant's schema after the declared tables exist; idempotent.
    pub tables: &'static str,
    /// Tables whose values the module caches for a tenant. Every transaction that changes one of them increments the
    /// tenant's settings version.
    pub cached_tables: &'static [&'static str],
    /// Upgrade steps in order; a new tenant starts with all of them applied.
    pub steps: &'static [Step],
    /// Sets the handlers of the module's routes.
    pub routes: fn(&mut Router),
    /// Background jobs for each tenant.
    pub jobs: &'static [&'static Job],
    /// Records of other modules of which this module stores copies.
    pub change_listeners: &'static [ChangeListener],
    /// Registers functions that run in the transactions of other modules.
    pub transaction_listeners: fn(&mut TransactionListeners),
}

impl Module {
    /// The default values of a declaration: `..Module::EMPTY`.
    pub const EMPTY: Module = Module {
        name: "",
        records: &[],
        tables: "",
        cached_tables: &[],
        steps: &[],
        routes: |_| (),
        jobs: &[],
        change_listeners: &[],
        transaction_listeners: |_| (),
    };
}
