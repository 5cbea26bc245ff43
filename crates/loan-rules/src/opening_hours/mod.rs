//! Opening hours: when a service point is open.
//!
//! Calendars consist of weekly hours over a period, and exceptions such as holidays; this module computes openings or
//! validation errors. Times are wall-clock times of the tenant's zone, and an end time is the last open *minute*, as in
//! FOLIO's mod-calendar.

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
