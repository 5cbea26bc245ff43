//! What an operator does with the real program: starts it with a certificate, on a database that speaks TLS, with
//! replicas; stops it in every way; carries tenants to another place.

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
