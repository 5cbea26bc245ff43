//! circulation-rules.
