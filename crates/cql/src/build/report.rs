//! Reports the index that a query lacks.

use super::Builder;
use super::target::Target;
use carrel_records::Index;

/// A field in a query without a suitable index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unindexed {
    /// Name of the record type, such as `item`.
    pub record: &'static str,
    /// The field, if the record's declaration or shape has it, otherwise `?`.
    pub field: String,
    /// The relation as text, or `sortBy`.
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
