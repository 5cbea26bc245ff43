//! Records of a library: their types as declarations, the shape of their JSON, refusals, money, points in time. No I/O,
//! no clock, no database.

pub mod declaration;
pub mod failure;
pub mod item_status;
pub mod metadata;
pub mod money;
pub mod names;
pub mod refusal;
pub mod refusal_code;
pub mod shape;
pub mod soundness;
pub mod text_enum;
pub mod time;

/// A document as JSON text.
pub fn json_text(document: &impl serde::Serialize) -> String {
    serde_json::to_string(document).expect("documents have texts as keys")
}

pub use declaration::*;
pub use failure::Failure;
pub use item_status::ItemStatus;
pub use money::{Money, UnitPrice};
pub use refusal::{MAX_REFUSALS, OverridableBlock, Refusal};
pub use refusal_code::RefusalCode;
