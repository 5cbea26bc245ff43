//! Memory that may be thrown away: values computed from a tenant's slow-changing records, each good for one
//! stamp.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, RwLock};

/// Values by their type, each with the stamp it was read at.
#[derive(Default)]
pub struct Cache {
    values: RwLock<HashMap<TypeId, Cached>>,
}

type Cached = (i64, Arc<dyn Any + Send + Sync>);

impl Cache {
    /// The value of this type and the stamp it is good for.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<(i64, Arc<T>)> {
        let values = self.values.read().expect("no holder of this lock panics");
        let (stamp, value) = values.get(&TypeId::of::<T>())?;
        Some((*stamp, Arc::clone(value).downcast().expect("stored under its own type")))
    }

    /// Keeps a value unless a newer one is there.
    pub fn put<T: Send + Sync + 'static>(&self, stamp: i64, value: Arc<T>) {
        let mut values = self.values.write().expect("no holder of this lock panics");
        match values.get(&TypeId::of::<T>()) {
            Some((known, _)) if *known > stamp => {}
            _ => {
                values.insert(TypeId::of::<T>(), (stamp, value));
            }
        }
    }

    pub fn clear(&self) {
        self.values.write().expect("no holder of this lock panics").clear();
    }
}
