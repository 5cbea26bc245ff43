//! HTTP: from the bytes of a request to the call of a handler, and from its answer to bytes.

mod answer;
mod authentication;
mod authorizer;
mod body;
mod call;
mod client_address;
mod concurrency_limit;
mod connections;
mod event_stream;
mod figures;
mod internal_call;
mod lenient_target;
mod origin;
mod pages;
mod pretty;
mod response_body;
mod router;
mod serve;
mod timeout;
mod tls;

pub use answer::{Answer, Rest};
pub use authentication::{cookie, token_of};
pub use authorizer::{Authorizer, Permissions};
pub use call::{Call, Caller, Query};
pub use connections::{serve, serve_with_tls};
pub use event_stream::event_stream;
pub use figures::{BOUNDS, ModuleFigures};
pub use internal_call::call_route;
pub use pages::content_security_policy;
pub use pretty::pretty;
pub use router::{Handler, RouteEntry, Router, handler};
pub use serve::App;
pub use tls::Certificate;
