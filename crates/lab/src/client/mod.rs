//! An API client: one keep-alive connection per worker, a login, JSON.
//!
//! HTTP/1.1, plain or by TLS. The generator shares its cores with what it measures, so figures for Carrel itself come from
//! plain addresses; TLS is the load balancer's business in every setup that the reference reports describe.

mod connection;
mod session;
mod tls;

pub use connection::{Address, Answer, Connection, ErrorKind, Failed};
pub use session::{Credentials, Session, headers_without_login};
