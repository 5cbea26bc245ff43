//! Fees and fines.

mod storage;
