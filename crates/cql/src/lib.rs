//! cql.
