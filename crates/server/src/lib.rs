//! The house: the list of wings, the gateway's own routes, configuration, starting and stopping. No rule and no
//! SQL of the library stands here.

mod admin;
pub mod administrator;
mod background;
mod carry;
pub mod config;
mod database;
pub mod demo;
mod enabling;
pub mod first_records;
pub mod gateway;
pub mod laboratory;
pub mod openapi;
pub mod outside;
pub mod serve;
mod tenant_metrics;
pub mod tenants;
pub mod wings;
