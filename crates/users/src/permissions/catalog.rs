//! The permissions of a tenant in memory: its sets, and the permissions of each user.

use carrel_platform::{Json, Pipeline, Tenant};
use carrel_records::Failure;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// A permission's name.
pub type Name = Arc<str>;

/// The sets of a tenant and their holders, as of one settings version.
#[derive(Default)]
pub struct PermissionCatalog {
    sets: HashMap<Name, Set>,
    /// By user: the id of the record of their permissions, and the permission names in it.
    holders: HashMap<Uuid, (Uuid, Vec<Name>)>,
    /// By user: the current generation of tokens; those of earlier ones are revoked.
    pub generations: HashMap<Uuid, i64>,
}

/// What one permission contains.
#[derive(Default)]
pub struct Set {
    pub contains: Vec<Name>,
    /// Created by the library, not declared by a module.
    pub mutable: bool,
}

impl PermissionCatalog {
    /// The tenant's catalog, read again if its settings version has changed. Reading borrows a connection, so callers
    /// must not hold one.
    pub async fn of(tenant: &Tenant) -> Result<Arc<PermissionCatalog>, Failure> {
        let settings_version = tenant.settings_version().await?;
        if let Some((known, catalog)) = tenant.cache.get::<PermissionCatalog>()
            && known >= settings_version
        {
            return Ok(catalog);
        }
        let connection = tenant.writer().await?;
        let mut pipeline = Pipeline::new();
        // The settings version is read first, so the catalog is at least as new.
        let version_statement = pipeline.add("SELECT value FROM settings_version WHERE id = 1", vec![]);
        let sets = pipeline.add(
            "SELECT doc->>'permissionName' AS name, doc->'subPermissions' AS contains,
                    coalesce(doc->>'mutable' = 'true', false) AS mutable
             FROM permissions",
            vec![],
        );
        let holders = pipeline.add(
            "SELECT user_id, id, doc->'permissions' AS names FROM permissions_users WHERE user_id IS NOT NULL",
            vec![],
        );
        let generations = pipeline.add("SELECT user_id, generation FROM token_revocation", vec![]);
        let results = connection.send(pipeline).await?;
        let settings_version: i64 =
            results.first(version_statement).map_or(settings_version, |row| row.get("value"));
        let catalog = Arc::new(PermissionCatalog {
            sets: results
                .rows(sets)
                .iter()
                .filter_map(|row| {
                    let name: Option<String> = row.get("name");
                    let set = Set { contains: names(row.get("contains")), mutable: row.get("mutable") };
                    Some((name?.into(), set))
                })
                .collect(),
            holders: results
                .rows(holders)
                .iter()
                .map(|row| (row.get("user_id"), (row.get("id"), names(row.get("names")))))
                .collect(),
            generations: results
                .rows(generations)
                .iter()
                .map(|row| (row.get("user_id"), row.get("generation")))
                .collect(),
        });
        tenant.saw_settings_version(settings_version);
        tenant.cache.put(settings_version, Arc::clone(&catalog));
        Ok(catalog)
    }

    /// The given permissions and all that they contain; unknown names are dropped.
    pub fn expand(&self, names: &[Name]) -> HashSet<Name> {
        let mut all = HashSet::new();
        let mut pending: Vec<Name> = names.to_vec();
        while let Some(name) = pending.pop() {
            if let Some(set) = self.sets.get(&name)
                && all.insert(name)
            {
                pending.extend(set.contains.iter().cloned());
            }
        }
        all
    }

    pub fn of_user(&self, user: Uuid) -> HashSet<Name> {
        self.holders.get(&user).map_or_else(HashSet::new, |(_, names)| self.expand(names))
    }

    pub fn find(&self, name: &str) -> Option<&Set> {
        self.sets.get(name)
    }

    /// The names of permissions that do not exist.
    pub fn missing<'n>(&self, names: &'n [String]) -> Vec<&'n str> {
        names.iter().map(String::as_str).filter(|name| !self.sets.contains_key(*name)).collect()
    }

    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.sets.keys()
    }

    /// By permission: the names of the sets that contain it directly, sorted.
    pub fn parents(&self) -> HashMap<&str, Vec<&str>> {
        let mut parents: HashMap<&str, Vec<&str>> = HashMap::new();
        for (name, set) in &self.sets {
            for inner in &set.contains {
                parents.entry(inner).or_default().push(name);
            }
        }
        parents.values_mut().for_each(|names| names.sort_unstable());
        parents
    }

    /// By permission: the ids of the permission users that hold it directly, sorted.
    pub fn grants(&self) -> HashMap<&str, Vec<Uuid>> {
        let mut grants: HashMap<&str, Vec<Uuid>> = HashMap::new();
        for (id, names) in self.holders.values() {
            for name in names {
                grants.entry(name).or_default().push(*id);
            }
        }
        grants.values_mut().for_each(|ids| ids.sort_unstable());
        grants
    }
}

/// The strings in an array. Other values are ignored, so they grant nothing.
fn names(json: Option<Json>) -> Vec<Name> {
    match json.map(|json| json.parse()) {
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).map(Into::into).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> PermissionCatalog {
        let set = |inner: &[&str]| Set {
            contains: inner.iter().map(|name| (*name).into()).collect(),
            ..Set::default()
        };
        PermissionCatalog {
            sets: HashMap::from([
                ("a".into(), set(&["b", "c"])),
                ("b".into(), set(&["a", "d", "gone"])),
                ("c".into(), set(&[])),
                ("d".into(), set(&[])),
            ]),
            ..PermissionCatalog::default()
        }
    }

    #[test]
    fn a_cycle_of_sets_is_expanded_once() {
        let mut all: Vec<_> = catalog().expand(&["a".into()]).into_iter().collect();
        all.sort();
        assert_eq!(all, ["a".into(), "b".into(), "c".into(), "d".into()] as [Name; 4]);
    }

    #[test]
    fn an_unknown_name_expands_to_nothing() {
        assert!(catalog().expand(&["gone".into()]).is_empty());
        assert_eq!(catalog().missing(&["a".into(), "gone".into()]), ["gone"]);
    }

    #[test]
    fn parents_are_the_sets_that_contain_a_permission() {
        assert_eq!(catalog().parents()["a"], ["b"]);
    }
}
