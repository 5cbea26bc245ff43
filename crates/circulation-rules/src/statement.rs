//! The syntax tree of a rules text, in the order of the text.

use crate::PolicyKind;
use crate::matching::Field;
use crate::weight::LineOrder;

/// A line counted from 1 and a column counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// A text with valid structure, whose contents are not validated yet.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    pub(crate) header: Header<'a>,
    pub(crate) statements: Vec<Statement<'a>>,
    pub(crate) fallback: Fallback<'a>,
    /// Number of statements before the fallback policies.
    pub(crate) statements_before_fallback: usize,
}

/// The line that determines which of several matching rules wins.
#[derive(Debug)]
pub(crate) enum Header<'a> {
    /// Seven letters: criterium, then number of criteria, then last line.
    Letters(Letters<'a>),
    /// Up to two regulations, and the order of lines.
    Regulations(Vec<Regulation<'a>>, LineOrder),
}

#[derive(Debug)]
pub(crate) struct Regulation<'a> {
    pub(crate) position: Position,
    /// The letters of `criterium(…)`, or none for `number-of-criteria`.
    pub(crate) letters: Option<Letters<'a>>,
}

/// Criterium letters, most important first, each with its position.
pub(crate) type Letters<'a> = Vec<(&'a str, Position)>;

#[derive(Debug)]
pub(crate) struct Fallback<'a> {
    pub(crate) position: Position,
    pub(crate) policies: Policies<'a>,
}

/// The policies after a colon.
#[derive(Debug)]
pub(crate) struct Policies<'a> {
    /// Position of the colon.
    pub(crate) colon: Position,
    pub(crate) named: Vec<(PolicyKind, &'a str)>,
}

/// One line of criteria.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) position: Position,
    pub(crate) indentation: usize,
    pub(crate) criteria: Vec<Criterium<'a>>,
    pub(crate) policies: Option<Policies<'a>>,
    /// Whether deeper lines follow, so that the policies may be missing.
    pub(crate) has_children: bool,
}

#[derive(Debug)]
pub(crate) struct Criterium<'a> {
    pub(crate) field: Field,
    pub(crate) selection: Selection<'a>,
}

/// Which names a criterium accepts.
#[derive(Debug)]
pub(crate) enum Selection<'a> {
    All,
    AnyOf(Vec<&'a str>),
    NoneOf(Vec<&'a str>),
}
