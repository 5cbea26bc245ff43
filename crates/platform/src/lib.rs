//! What every wing stands on: tenants and their pools, flights of statements, the store of plain records, the
//! outbox, and the glue to HTTP. No library words here.

pub mod cache;
pub mod database;
pub mod event;
pub mod http;
pub mod jobs;
pub mod kept;
pub mod meter;
pub mod outbox;
pub mod private_postgres;
pub mod record_store;
pub mod replicas;
pub mod stand_in;
pub mod surface;
pub mod tenant;
pub mod together;
pub mod token;
pub mod wing;

pub use database::{Bind, Connection, Flight, Json, RowChange, Tx};
pub use event::Event;
pub use http::{Answer, Call, Handler, Router};
pub use tenant::{Library, Tenant};
pub use wing::Wing;
