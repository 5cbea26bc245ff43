//! Users: logging in, permissions, user records and settings.

mod authorization;
mod behind_a_gateway;
mod bootstrap;
mod custom_fields;
mod escalation;
mod gateway;
mod lenient;
mod login;
mod login_limits;
mod notes;
mod permissions;
mod sessions;
mod settings;
mod user_records;
