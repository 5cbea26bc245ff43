//! notices.
