//! Operation of the real program: certificates, a database with TLS, replicas, every way to stop, backups, and moving
//! tenants.

mod backups;
mod database_tls;
mod frozen_database;
mod health;
mod https;
mod lab;
mod many_tenants;
mod moves;
mod packages;
mod program;
mod promotion;
mod replicas;
mod rolling_upgrade;
mod sample_library;
mod statistics;
mod stopping;
mod tenants;
