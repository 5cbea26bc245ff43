//! Users: who gets in, who may do what, and the records of people.

mod added_fields;
mod behind_a_gateway;
mod bootstrap;
mod doors;
mod escalation;
mod gateway;
mod lenient;
mod login;
mod login_limits;
mod notes;
mod people;
mod permissions;
mod sessions;
mod settings;
