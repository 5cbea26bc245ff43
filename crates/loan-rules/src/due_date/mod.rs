//! Due dates of loans, and expirations on the hold shelf.
//!
//! The date of a new, a recalled and a renewed loan; and its changes when the library is closed, when a schedule limits
//! it, or when the patron's account expires earlier. Used by check-out, renewal, recall and check-in; this module has
//! no routes. It takes a loan policy, its schedules and the calendar as values and changes nothing.

mod adjustment;
mod closed_library;
mod hold_shelf;
mod new_loan;
mod recall;
mod renewal;
mod timetable;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::opening_hours::OpeningDays;

pub use adjustment::adjusted;
pub use closed_library::ClosedLibraryStrategy;
pub use hold_shelf::{HoldShelf, hold_shelf_expiration, use_at_location_expiration};
pub use new_loan::{NewLoan, due_date_of_new_loan, proposed_for_new_loan};
pub use recall::{RecallMoment, RecalledLoan, due_date_after_recall};
pub use renewal::{
    Renewal, due_date_of_renewal, proposed_for_renewal, refusals_of_renewal,
    refuse_if_renewal_changes_nothing,
};

/// The inputs of a due date besides the loan and its policy.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    pub now: Timestamp,
    /// The tenant's zone, in which days begin and end.
    pub zone: &'a TimeZone,
    /// The calendar of the service point where the item was checked out.
    pub calendar: &'a dyn OpeningDays,
    /// When the patron's account expires.
    pub patron_expires: Option<Timestamp>,
}

/// A due date and the reasons why it differs from the policy's period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueDate {
    pub at: Timestamp,
    /// The loan's `dueDateChangedByHold`.
    pub changed_by_hold: bool,
    /// The loan's `dueDateChangedByNearExpireUser`.
    pub changed_by_near_expire_user: bool,
}

// FOLIO quirk: loan periods are computed in UTC; only opening hours and ends of days use the tenant's time zone.
const ZONE_OF_LOAN_PERIODS: TimeZone = TimeZone::UTC;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod properties;
