//! Users.

mod settings;
