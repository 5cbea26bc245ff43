//! inventory.
