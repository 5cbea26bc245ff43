//! Listeners within a transaction: what a module does because a module below it changes something.
//!
//! The module below defines an event as a type of its own and announces it before it sends its changes. Modules above
//! connect functions to that type. So a table is written by its own module and by those above it only, and all of it
//! commits together or not at all.

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
    /// For reading what a listener decides on; rows that it changes are locked by that.
    pub tx: &'a mut Tx,
    /// The changes so far; listeners add theirs.
    pub pipeline: &'a mut Pipeline,
    pub caller: &'a Caller,
    pub now: Timestamp,
}

/// What a listener returns: nothing, or why the whole transaction must not happen.
pub type Outcome<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// A function that hears of events of one type. It may write into the event where the announcing module reads it
/// afterwards, for instance to count what would be left behind.
pub type Listener<E> = for<'a, 'c> fn(&'a mut Changes<'c>, &'a mut E) -> Outcome<'a>;

/// The listeners of all modules by the type of their event.
#[derive(Default)]
pub struct TransactionListeners {
    by_event: HashMap<TypeId, Vec<Box<dyn Any + Send + Sync>>>,
}

impl TransactionListeners {
    /// Connects a listener; those of one event run in the order in which they were connected.
    pub fn connect<E: Send + 'static>(&mut self, listener: Listener<E>) {
        self.by_event.entry(TypeId::of::<E>()).or_default().push(Box::new(listener));
    }

    /// Runs the listeners of an event; the first failure ends it.
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
