//! circulation.
