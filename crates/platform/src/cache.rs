//! A cache of values computed from a tenant's slow-changing records, each valid for one settings version.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};

/// Values by type, each with the settings version at which it was read.
#[derive(Default)]
pub struct Cache {
    values: RwLock<HashMap<TypeId, Cached>>,
}

struct Cached {
    settings_version: i64,
    value: Arc<dyn Any + Send + Sync>,
    name: &'static str,
    /// How often it was found, and how often it was then recomputed because its settings version was out of date.
    found: AtomicU64,
    replaced: u64,
    /// How often it was computed.
    made: u64,
}

/// The use of a value's cache since the start.
#[derive(Debug, PartialEq, Eq)]
pub struct Served {
    /// The value's type.
    pub name: &'static str,
    pub hits: u64,
    pub misses: u64,
}

impl Cache {
    /// The value of this type and the settings version for which it is valid.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<(i64, Arc<T>)> {
        let values = self.values.read().expect("no holder of this lock panics");
        let known = values.get(&TypeId::of::<T>())?;
        known.found.fetch_add(1, Relaxed);
        Some((
            known.settings_version,
            Arc::clone(&known.value).downcast().expect("stored under its own type"),
        ))
    }

    /// Stores a value unless a newer one is present.
    pub fn put<T: Send + Sync + 'static>(&self, settings_version: i64, value: Arc<T>) {
        let mut values = self.values.write().expect("no holder of this lock panics");
        match values.get_mut(&TypeId::of::<T>()) {
            Some(known) => {
                known.made += 1;
                known.replaced += 1;
                if known.settings_version <= settings_version {
                    (known.settings_version, known.value) = (settings_version, value);
                }
            }
            None => {
                let name = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
                let new =
                    Cached { settings_version, value, name, found: AtomicU64::new(0), replaced: 0, made: 1 };
                values.insert(TypeId::of::<T>(), new);
            }
        }
    }

    /// The use of each value's cache, by name.
    pub fn served(&self) -> Vec<Served> {
        let values = self.values.read().expect("no holder of this lock panics");
        let mut all: Vec<Served> = values
            .values()
            .map(|known| Served {
                name: known.name,
                // A lookup that finds an outdated value counts as a miss.
                hits: known.found.load(Relaxed).saturating_sub(known.replaced),
                misses: known.made,
            })
            .collect();
        all.sort_by_key(|served| served.name);
        all
    }

    /// Removes all values: the next lookup reads them again.
    pub fn clear(&self) {
        self.values.write().expect("no holder of this lock panics").clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rules(u8);

    #[test]
    fn a_lookup_of_an_outdated_value_is_a_miss() {
        let cache = Cache::default();
        assert!(cache.get::<Rules>().is_none());
        cache.put(1, Arc::new(Rules(1)));
        cache.get::<Rules>();
        cache.get::<Rules>();
        // Out of date for the current version.
        cache.get::<Rules>();
        cache.put(2, Arc::new(Rules(2)));
        assert_eq!(cache.served(), [Served { name: "Rules", hits: 2, misses: 2 }]);
        assert_eq!(
            cache.get::<Rules>().map(|(settings_version, rules)| (settings_version, rules.0)),
            Some((2, 2))
        );
    }

    #[test]
    fn an_older_value_does_not_replace_a_newer_one() {
        let cache = Cache::default();
        cache.put(7, Arc::new(Rules(7)));
        cache.put(5, Arc::new(Rules(5)));
        assert_eq!(
            cache.get::<Rules>().map(|(settings_version, rules)| (settings_version, rules.0)),
            Some((7, 7))
        );
    }
}
