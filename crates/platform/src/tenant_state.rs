//! State that use cases keep in memory for a tenant while this node serves it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

/// Values by type, each created at its first use.
#[derive(Default)]
pub struct TenantState {
    values: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl TenantState {
    /// The value of this type.
    pub fn of<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let kind = TypeId::of::<T>();
        let known = self.values.read().expect("no holder of this lock panics").get(&kind).map(Arc::clone);
        let value = known.unwrap_or_else(|| {
            let mut values = self.values.write().expect("no holder of this lock panics");
            Arc::clone(values.entry(kind).or_insert_with(|| Arc::new(T::default())))
        });
        value.downcast().expect("stored under its own type")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn a_value_is_created_once() {
        let kept = TenantState::default();
        kept.of::<AtomicU64>().store(7, Relaxed);
        assert_eq!(kept.of::<AtomicU64>().load(Relaxed), 7);
    }
}
