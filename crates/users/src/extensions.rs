//! Functions that dependent modules contribute to this module's use cases; the program connects them.
//!
//! Only those modules use their tables; their statements run in this module's pipelines and transactions.

use carrel_platform::Pipeline;
use jiff::Timestamp;
use uuid::Uuid;

/// The contributions of all modules.
#[derive(Debug)]
pub struct Extensions {
    pub dependents: &'static [&'static UserDependents],
    /// Adds a statement that gives at most one row, whose column `document` holds the service points of the user.
    pub service_points_of_user: fn(&mut Pipeline, Uuid) -> usize,
}

/// What another module stores about users.
#[derive(Debug)]
pub struct UserDependents {
    pub open: &'static [OpenTransactionCount],
    /// Adds statements that delete the records that depend on the users.
    pub delete: fn(&mut Pipeline, &[Uuid]),
}

/// Something that prevents the deletion of a user while it is open.
#[derive(Debug)]
pub struct OpenTransactionCount {
    pub kind: OpenTransactionKind,
    /// Adds a statement that gives one row, whose column `open` holds the user's number of them.
    pub count: fn(&mut Pipeline, Uuid, Timestamp) -> usize,
}

/// A number in FOLIO's summary of a user's open transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenTransactionKind {
    Loans,
    Requests,
    FeesFines,
    Blocks,
}

impl OpenTransactionKind {
    /// Its property in the summary.
    pub fn property(self) -> &'static str {
        match self {
            OpenTransactionKind::Loans => "loans",
            OpenTransactionKind::Requests => "requests",
            OpenTransactionKind::FeesFines => "feesFines",
            OpenTransactionKind::Blocks => "blocks",
        }
    }
}
