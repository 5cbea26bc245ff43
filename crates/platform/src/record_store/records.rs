//! The record types of a node, and what the record store knows of them in memory.

use super::change_listeners::ChangeListener;
use super::missing_index::MissingIndexes;
use carrel_records::RecordType;
use std::ops::Deref;

/// Every declared record type.
#[derive(Default)]
pub struct Records {
    declared: Vec<&'static RecordType>,
    pub(super) listeners: Vec<&'static ChangeListener>,
    /// Fields that were searched without an index since the node started.
    pub missing_indexes: MissingIndexes,
}

impl Records {
    pub fn new(declared: Vec<&'static RecordType>, listeners: Vec<&'static ChangeListener>) -> Records {
        Records { declared, listeners, missing_indexes: MissingIndexes::default() }
    }
}

impl Deref for Records {
    type Target = [&'static RecordType];

    fn deref(&self) -> &[&'static RecordType] {
        &self.declared
    }
}
