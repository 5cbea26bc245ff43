//! Notices and their templates.

mod delivery;
mod forgotten_credentials;
mod notifications;
mod rendering;
mod templates;
