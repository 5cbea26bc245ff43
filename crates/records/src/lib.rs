//! What a library writes down: record types as declarations, the shape of their JSON, refusals, periods of
//! time. No I/O, no clock, no database.

pub mod declaration;
pub mod failure;
pub mod metadata;
pub mod money;
pub mod refusal;
pub mod shape;
pub mod soundness;
pub mod time;

pub use declaration::*;
pub use failure::Failure;
pub use money::Money;
pub use refusal::{OverridableBlock, Refusal};
