//! The shape of a record's JSON in one line per property, and the check of a document against it.
//!
//! Notation: `path:type(flags)*=default`, separated by `;` or line ends; `*` means required. Types are
//! `string integer number boolean object any array array<T>`, each with `|null` where null is allowed. Levels
//! are joined with `.`, elements of an array of objects with `[].`, values of an object with free names with `{}.`.
//! Flags, separated by `,`:
//! - `uuid date-time date time`: what the text is;
//! - `ro` is accepted and overwritten by the server, `virtual` is accepted and not stored, an `open` object may
//!   hold properties that the shape does not name;
//! - `min=1 max=99` bound a number, `length=0..300` a text, `items=1..3` an array; an end may be left out;
//!   `set` drops what an array holds twice; `like=not-blank` and others name a [`Pattern`];
//! - `enum=A|B` stands last. A backslash before a line end in Rust text continues a long one.

mod bounds;
mod check;
mod notation;

pub use bounds::{Bounds, Pattern, Span};
pub use check::{NOT_A_UUID, is_uuid, lenient_uuid};

use serde_json::Value;
use std::collections::BTreeMap;

/// A parsed shape.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    pub properties: BTreeMap<String, Property>,
    /// Properties without a line are refused; applies to levels that have at least one property.
    pub closed: bool,
}

/// How much of a shape a document must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// All of it.
    #[default]
    Whole,
    /// Only the types of the properties that it has; others may be missing, and unknown ones are kept.
    TypesOnly,
}

#[derive(Debug, Clone)]
pub struct Property {
    pub kind: JsonKind,
    pub nullable: bool,
    pub required: bool,
    pub format: Option<Format>,
    pub allowed: Vec<String>,
    pub bounds: Bounds,
    pub read_only: bool,
    pub not_stored: bool,
    pub default: Option<Value>,
    /// Properties that `inner` does not have are kept even if the record's shape is closed.
    pub open: bool,
    /// Names are free, and `inner` is the shape of each value.
    pub free_names: bool,
    /// Properties of an object, of the objects in an array, or of the values of an object with free names.
    pub inner: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    Text,
    Integer,
    Number,
    Boolean,
    Object,
    Array(Element),
    Any,
}

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    Text,
    Object,
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Uuid,
    DateTime,
    Date,
    Time,
}

impl Property {
    fn plain(kind: JsonKind) -> Property {
        Property {
            kind,
            nullable: false,
            required: false,
            format: None,
            allowed: Vec::new(),
            bounds: Bounds::default(),
            read_only: false,
            not_stored: false,
            default: None,
            open: false,
            free_names: false,
            inner: Shape::default(),
        }
    }
}
