//! The program: the list of modules, Okapi's own routes, configuration, start and stop. It contains no library rules
//! and no SQL on tables of modules.

mod admin;
mod background;
pub mod backup;
pub mod config;
mod database;
pub mod demo;
mod desk_pages;
pub mod event_stream;
pub mod first_records;
pub mod gateway;
mod health;
pub mod lab;
pub mod modules;
pub mod observability;
mod okapi_modules;
pub mod openapi;
mod postgres_programs;
pub mod serve;
mod tenant_metrics;
mod tenant_transfer;
pub mod tenants;
mod timers;

pub use carrel_users::administrator;
