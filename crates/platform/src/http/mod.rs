//! From a request's bytes to a handler's call, and from its answer to bytes.

mod answer;
mod authentication;
mod authorizer;
mod call;
mod client_address;
mod concurrency_limit;
mod figures;
mod origin;
mod pretty;
mod request_line;
mod router;
mod serve;
mod tls;

pub use answer::{Answer, Rest};
pub use authentication::{cookie, token_of};
pub use authorizer::{Authorizer, Permissions};
pub use call::{Call, Caller, Query};
pub use figures::{BOUNDS, ModuleFigures};
pub use pretty::pretty;
pub use router::{Handler, Place, Router, handler};
pub use serve::{App, serve, serve_with_tls};
pub use tls::Certificate;
