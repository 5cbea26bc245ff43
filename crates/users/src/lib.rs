//! users.
