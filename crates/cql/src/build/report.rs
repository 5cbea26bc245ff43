//! Which index a query misses.

use super::Builder;
use super::target::Target;
use carrel_records::Index;

/// A field that was asked for without an index behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unindexed {
    /// Name of the record type, such as `item`.
    pub record: &'static str,
    /// The field; only one that the record's declaration or shape knows, else `?`.
    pub field: String,
    /// The relation's sign, or `sortBy`.
    pub relation: &'static str,
    /// The index that is missing, `Value` or `Words`; `None` where no index could help.
    pub needs: Index,
}

impl Builder<'_> {
    pub(super) fn report(&mut self, target: &Target, relation: &'static str, needs: Index) {
        let entry = Unindexed { record: target.record, field: target.name.clone(), relation, needs };
        if !self.unindexed.contains(&entry) && self.unindexed.len() < 50 {
            self.unindexed.push(entry);
        }
    }
}
