//! The object and the action of an entry of the circulation log, with FOLIO's names.

/// The object of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogObject {
    NotApplicable,
    FeeFine,
    ItemBlock,
    Loan,
    ManualBlock,
    Notice,
    PatronBlock,
    Request,
    CheckInCheckOut,
}

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    AgeToLost,
    Anonymize,
    Billed,
    Cancelled,
    CancelledAsError,
    ChangedDueDate,
    CheckIn,
    CheckOut,
    CheckedIn,
    CheckedOut,
    CheckedOutThroughOverride,
    HeldForUseAtLocation,
    PickedUpForUseAtLocation,
    ClaimedReturned,
    ClosedLoan,
    Created,
    CreatedThroughOverride,
    CreditedFully,
    DeclaredLost,
    Deleted,
    Edited,
    Expired,
    MarkedAsMissing,
    Modified,
    Moved,
    PaidFully,
    PaidPartially,
    PatronBlockedFromRequesting,
    PickupExpired,
    QueuePositionReordered,
    RecallRequested,
    RefundedFully,
    RefundedPartially,
    Renewed,
    RenewedThroughOverride,
    RequestStatusChanged,
    Send,
    SendError,
    PatronInfoAdded,
    StaffInfoAdded,
    StaffInformationOnlyAdded,
    TransferredFully,
    TransferredPartially,
    WaivedFully,
    WaivedPartially,
}

impl LogObject {
    /// FOLIO's name.
    pub fn name(self) -> &'static str {
        match self {
            LogObject::NotApplicable => "N/A",
            LogObject::FeeFine => "Fee/Fine",
            LogObject::ItemBlock => "Item Block",
            LogObject::Loan => "Loan",
            LogObject::ManualBlock => "Manual Block",
            LogObject::Notice => "Notice",
            LogObject::PatronBlock => "Patron Block",
            LogObject::Request => "Request",
            LogObject::CheckInCheckOut => "CheckIn/CheckOut",
        }
    }
}

impl Action {
    /// All actions.
    pub const ALL: [Action; 45] = [
        Action::AgeToLost,
        Action::Anonymize,
        Action::Billed,
        Action::Cancelled,
        Action::CancelledAsError,
        Action::ChangedDueDate,
        Action::CheckIn,
        Action::CheckOut,
        Action::CheckedIn,
        Action::CheckedOut,
        Action::CheckedOutThroughOverride,
        Action::HeldForUseAtLocation,
        Action::PickedUpForUseAtLocation,
        Action::ClaimedReturned,
        Action::ClosedLoan,
        Action::Created,
        Action::CreatedThroughOverride,
        Action::CreditedFully,
        Action::DeclaredLost,
        Action::Deleted,
        Action::Edited,
        Action::Expired,
        Action::MarkedAsMissing,
        Action::Modified,
        Action::Moved,
        Action::PaidFully,
        Action::PaidPartially,
        Action::PatronBlockedFromRequesting,
        Action::PickupExpired,
        Action::QueuePositionReordered,
        Action::RecallRequested,
        Action::RefundedFully,
        Action::RefundedPartially,
        Action::Renewed,
        Action::RenewedThroughOverride,
        Action::RequestStatusChanged,
        Action::Send,
        Action::SendError,
        Action::PatronInfoAdded,
        Action::StaffInfoAdded,
        Action::StaffInformationOnlyAdded,
        Action::TransferredFully,
        Action::TransferredPartially,
        Action::WaivedFully,
        Action::WaivedPartially,
    ];

    /// FOLIO's name.
    pub fn name(self) -> &'static str {
        match self {
            Action::AgeToLost => "Age to lost",
            Action::Anonymize => "Anonymize",
            Action::Billed => "Billed",
            Action::Cancelled => "Cancelled",
            Action::CancelledAsError => "Cancelled as error",
            Action::ChangedDueDate => "Changed due date",
            Action::CheckIn => "Check in",
            Action::CheckOut => "Check out",
            Action::CheckedIn => "Checked in",
            Action::CheckedOut => "Checked out",
            Action::CheckedOutThroughOverride => "Checked out through override",
            Action::HeldForUseAtLocation => "Held for use at location",
            Action::PickedUpForUseAtLocation => "Picked up for use at location",
            Action::ClaimedReturned => "Claimed returned",
            Action::ClosedLoan => "Closed loan",
            Action::Created => "Created",
            Action::CreatedThroughOverride => "Created through override",
            Action::CreditedFully => "Credited fully",
            Action::DeclaredLost => "Declared lost",
            Action::Deleted => "Deleted",
            Action::Edited => "Edited",
            Action::Expired => "Expired",
            Action::MarkedAsMissing => "Marked as missing",
            Action::Modified => "Modified",
            Action::Moved => "Moved",
            Action::PaidFully => "Paid fully",
            Action::PaidPartially => "Paid partially",
            Action::PatronBlockedFromRequesting => "Patron blocked from requesting",
            Action::PickupExpired => "Pickup expired",
            Action::QueuePositionReordered => "Queue position reordered",
            Action::RecallRequested => "Recall requested",
            Action::RefundedFully => "Refunded fully",
            Action::RefundedPartially => "Refunded partially",
            Action::Renewed => "Renewed",
            Action::RenewedThroughOverride => "Renewed through override",
            Action::RequestStatusChanged => "Request status changed",
            Action::Send => "Send",
            Action::SendError => "Send error",
            Action::PatronInfoAdded => "Patron info added",
            Action::StaffInfoAdded => "Staff info added",
            Action::StaffInformationOnlyAdded => "Staff information only added",
            Action::TransferredFully => "Transferred fully",
            Action::TransferredPartially => "Transferred partially",
            Action::WaivedFully => "Waived fully",
            Action::WaivedPartially => "Waived partially",
        }
    }

    /// The action with this name in FOLIO.
    pub fn named(name: &str) -> Option<Action> {
        Action::ALL.into_iter().find(|action| action.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_found_by_its_word() {
        for action in Action::ALL {
            assert_eq!(Action::named(action.name()), Some(action));
        }
        assert_eq!(Action::named("Lent"), None);
    }
}
