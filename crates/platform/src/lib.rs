//! The basis of all modules: tenants and their connections, the record store, jobs, the outbox, and the HTTP server. No
//! library concepts.

pub mod batch_deletion;
pub mod batcher;
pub mod cache;
pub mod event;
pub mod http;
pub mod jobs;
pub mod module;
pub mod node;
pub mod outbox;
pub mod record_store;
pub mod settings_version;
pub mod stand_in;
pub mod surface;
pub mod tenant;
pub mod tenant_profile;
pub mod tenant_rounds;
pub mod tenant_state;
pub mod token;
pub mod transaction_listeners;

pub use carrel_postgres as database;
pub use carrel_postgres::meter;
pub use database::{Bind, Connection, Json, Pipeline, RowChange, Tx};
pub use event::Event;
pub use http::{Answer, Call, Handler, Router};
pub use module::Module;
pub use node::{Node, SameSite, ServerOptions};
pub use tenant::Tenant;
pub use tenant_profile::TenantProfile;
pub use transaction_listeners::{Changes, TransactionListeners};
