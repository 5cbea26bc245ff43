//! Opening hours: when a service point is open.
//!
//! Weekly hours over a span of dates, and exceptions such as holidays: calendars in, openings or errors out. Times are
//! wall-clock times of the tenant's zone, and an end time is the last open *minute*, as FOLIO's mod-calendar has it.

mod check;
mod day;
mod opening_days;
mod overlap;
mod record;
mod wording;

pub use check::{CalendarError, check};
pub use day::{DayOpening, OpeningHours};
pub use opening_days::{AllOpenings, OpeningDays, ServicePointHours, SurroundingOpenings, WhichDays};
pub use record::{Calendar, Exception, ExceptionOpening, NormalOpening};

#[cfg(test)]
pub(crate) use record::tests;
