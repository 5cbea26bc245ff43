//! The platform: routes, authentication, bounds, malformed input, tenants, indexes, jobs.

mod api_document;
mod bounds;
mod connections;
mod desk_pages;
mod distributed_tables;
mod framing;
mod fuzzed_queries;
mod habits;
mod health;
mod index_builds;
mod indexes;
mod long_lists;
mod nonsense;
mod operators;
mod origins;
mod routes;
mod tenants;
mod timers;
mod upgrade;
