//! Entity types: the kinds of records that can be listed, and their fields.
//!
//! Routes: `/entity-types…`. The declarations are part of the program; a tenant adds its custom fields of users, and the
//! types that its users combine from others (`custom`).

pub mod catalog;
mod custom;
pub mod declaration;
pub mod entity_type;
mod field_sql;
mod route;
mod values;
mod view;

pub use catalog::{entity_type, permitted_types};
pub use entity_type::{Column, EntityType};
pub use route::{connect, mark_used};
