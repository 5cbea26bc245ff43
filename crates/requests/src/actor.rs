//! The user who changes a request, and the time.

use carrel_circulation::desk::override_blocks::MayOverride;
use carrel_platform::Call;
use carrel_platform::http::Caller;
use carrel_platform::record_store::write::uuid_time;
use jiff::Timestamp;
use uuid::Uuid;

/// The caller and the time.
#[derive(Clone)]
pub struct Actor {
    pub caller: Caller,
    pub may: MayOverride,
    pub now: Timestamp,
    /// Id of a new request if the client sends none.
    pub request_id: Uuid,
}

impl Actor {
    pub fn of(call: &Call) -> Actor {
        Actor {
            caller: call.caller.clone(),
            may: MayOverride::of(&call.caller),
            now: call.now,
            request_id: Uuid::new_v7(uuid_time(call.now)),
        }
    }
}
