//! Anonymization: patrons are removed from closed loans.
//!
//! Routes: `POST /loan-anonymization/by-user/{userId}` (by staff, for loans without fees/fines), `POST
//! /circulation/scheduled-anonymize-processing` (by the setting `loan_history`; the job of the same name does the same
//! every hour), and storage's `POST /anonymize-storage-loans` and `/loan-storage/loans/anonymize/{userId}`, which check
//! no rule. Reads closed loans with their accounts; removes patron and proxy from loan and history, and deletes desk
//! sessions, scheduled notices and events of the loan.

mod decide;
mod route;

pub use route::{JOB, connect};
