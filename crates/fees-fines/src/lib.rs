//! fees-fines.
