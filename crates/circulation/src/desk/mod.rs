//! What stands at the desk: the item scanned, the patron in front, the queue behind the item. Shapes that
//! several actions read in the same way.

pub mod blocks;
pub mod item;
pub mod override_blocks;
pub mod patron;
pub mod queue;
pub mod record_change;
pub mod said;
pub mod slip;
pub mod user_note;

pub use item::ItemAtDesk;
pub use override_blocks::OverrideBlocks;
pub use patron::Patron;
pub use queue::QueuedRequest;
pub use record_change::RecordChange;
