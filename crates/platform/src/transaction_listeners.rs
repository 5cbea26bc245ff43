//! Listeners within a transaction: what a module does because a module that it depends on changes something.
//!
//! The lower module defines an event as a type and announces it before it sends its changes. The dependent modules
//! register functions for that type. So a table is written only by its module and those that depend on it, and all
//! changes commit together or not at all.

use crate::database::{Pipeline, Tx};
use crate::http::Caller;
use crate::tenant::Tenant;
use carrel_records::Failure;
use jiff::Timestamp;
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;

/// A transaction with changes that are not sent yet.
pub struct Changes<'a> {
    pub tenant: &'a Tenant,
    /// For reading the facts of a listener's decision; it must lock the rows that it changes.
    pub tx: &'a mut Tx,
    /// The changes so far, to which listeners add theirs.
    pub pipeline: &'a mut Pipeline,
    pub caller: &'a Caller,
    pub now: Timestamp,
}

/// The result of a listener: nothing, or why the whole transaction must fail.
pub type Outcome<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// A function that receives events of one type. It may write into the event, which the announcing module reads
/// afterwards, for instance to count dependent records.
pub type Listener<E> = for<'a, 'c> fn(&'a mut Changes<'c>, &'a mut E) -> Outcome<'a>;

/// The listeners of all modules by the type of their event.
#[derive(Default)]
pub struct TransactionListeners {
    by_event: HashMap<TypeId, Vec<Box<dyn Any + Send + Sync>>>,
}

impl TransactionListeners {
    /// Registers a listener; those of one event run in the order of registration.
    pub fn connect<E: Send + 'static>(&mut self, listener: Listener<E>) {
        self.by_event.entry(TypeId::of::<E>()).or_default().push(Box::new(listener));
    }

    /// Runs the listeners of an event; the first failure ends the run.
    pub async fn announce<E: Send + 'static>(
        &self,
        changes: &mut Changes<'_>,
        event: &mut E,
    ) -> Result<(), Failure> {
        for listener in self.by_event.get(&TypeId::of::<E>()).into_iter().flatten() {
            let listener: &Listener<E> =
                listener.downcast_ref().expect("a listener is stored under the type of its event");
            listener(changes, event).await?;
        }
        Ok(())
    }
}
