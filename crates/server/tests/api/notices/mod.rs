//! Notices and their templates.

mod templates;
