//! Entity types: what can be listed, with which fields.
//!
//! Routes: `/entity-types…`. Declarations are data of the program; a tenant adds its custom fields of users, and types
//! that its users put together of others (`custom`).

pub mod catalog;
mod custom;
pub mod declaration;
pub mod entity_type;
mod route;
mod values;
mod view;

pub use catalog::{entity_type, permitted_types};
pub use entity_type::{Column, EntityType};
pub use route::{connect, mark_used};
