//! The program `carrel`.
fn main() {}
