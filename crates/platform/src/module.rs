//! What a module brings to the program.

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
    /// SQL run in a new tenant's schema after the declared tables exist; may be run again.
    pub tables: &'static str,
    /// Tables from which it caches values for a tenant. A transaction that changes one of them moves the tenant's
    /// settings version, whoever runs it.
    pub cached_tables: &'static [&'static str],
    /// Changes to what stood before, in the order in which they came; new tenants have them behind them.
    pub steps: &'static [Step],
    /// Connects handlers to routes of the surface.
    pub routes: fn(&mut Router),
    /// What it has done in the background for each tenant.
    pub jobs: &'static [&'static Job],
    /// Records of other modules that it keeps something of.
    pub change_listeners: &'static [ChangeListener],
    /// Connects functions that run in the transactions of other modules.
    pub transaction_listeners: fn(&mut TransactionListeners),
}

impl Module {
    /// A starting point for declarations: `..Module::EMPTY`.
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
