//! The lab's side of the API: one keep-alive connection per worker, a login, JSON.
//!
//! Plain HTTP/1.1 only: the generator shares its cores with what it measures, and TLS is the load balancer's
//! business in every setup that the reference reports describe.

mod connection;
mod session;

pub use connection::{Address, Answer, Connection, ErrorKind, Failed};
pub use session::{Credentials, Session, headers_without_login};
