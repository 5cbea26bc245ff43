//! The calendar: when a service point is open.
//!
//! A librarian knows it as "opening hours": weekly hours over a span of dates, and exceptions such
//! as holidays. Routes `/calendar/calendars` and `/calendar/dates/{servicePointId}/…` answer with
//! the types of this use case; due dates and hold shelf expirations ask it which days are open.
//!
//! All but `route` and `store` is pure: calendars in, openings or errors out. Times are wall-clock
//! times of the tenant's zone, and an end time is the last open *minute*, as FOLIO's mod-calendar
//! has it. Every change of a calendar moves the settings version.

mod answer;
mod asked;
mod check;
mod day;
mod opening_days;
mod overlap;
mod record;
mod route;
mod store;
mod wording;

pub use check::{CalendarError, check};
pub use day::{DayOpening, OpeningHours};
pub use opening_days::{AllOpenings, OpeningDays, ServicePointHours, SurroundingOpenings, WhichDays};
pub use record::{Calendar, Exception, ExceptionOpening, NormalOpening};
pub use route::connect;

#[cfg(test)]
pub(crate) use record::tests;
