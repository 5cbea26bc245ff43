//! Facts that several desk actions read in the same way: the scanned item, the patron, the request queue of the item.

pub mod blocks;
pub mod charged_item;
pub mod confirmation;
pub mod idempotency;
pub mod item;
pub mod lenient_json;
pub mod log;
pub mod override_blocks;
pub mod patron;
pub mod queue;
pub mod record_change;
pub mod scan_figures;
pub mod slip;
pub mod user_note;

pub use item::ItemAtDesk;
pub use override_blocks::OverrideBlocks;
pub use patron::{Patron, is_valid_relation};
pub use queue::QueuedRequest;
pub use record_change::RecordChange;
