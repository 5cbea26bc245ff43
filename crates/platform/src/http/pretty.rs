//! JSON as FOLIO's business modules print it: two spaces a level and a space on both sides of the colon. Load plans and
//! scripts extract `"id" : "…"` from such answers with a pattern.

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io;

#[derive(Default)]
struct Spaced<'a>(PrettyFormatter<'a>);

impl Formatter for Spaced<'_> {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }
    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }
    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }
    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" : ")
    }
    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// The JSON text of a value, indented, with spaces around the colon.
pub fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::with_capacity(1024);
    value
        .serialize(&mut Serializer::with_formatter(&mut text, Spaced::default()))
        .expect("our own values are JSON");
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_a_space_on_both_sides_of_the_colon() {
        let text = super::pretty(&serde_json::json!({"id": "x", "a": [1]}));
        assert_eq!(
            String::from_utf8(text).expect("text"),
            "{\n  \"id\" : \"x\",\n  \"a\" : [\n    1\n  ]\n}"
        );
    }
}
