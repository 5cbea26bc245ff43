//! Notices and their templates.

mod delivery;
mod notifications;
mod rendering;
mod templates;
