//! A query as a tree. Operands of equal rank are siblings in one [`Chain`], so that a thousand terms joined by `or` are
//! no deeper than two.

use crate::Term;
use std::sync::Arc;

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub node: Node,
    pub sort: Vec<SortKey>,
}

impl Query {
    /// The query with one more condition, in the same order.
    #[must_use]
    pub fn and(self, condition: Node) -> Query {
        let link = Link { word: BooleanWord::And, modifiers: Vec::new(), node: condition };
        Query { node: Node::Chain(Chain { first: Box::new(self.node), rest: vec![link] }), sort: self.sort }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Clause(Clause),
    Chain(Chain),
}

/// Operands joined by boolean operators of equal rank, to be read from left to right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    pub first: Box<Node>,
    pub rest: Vec<Link>,
}

/// A boolean operator and the operand after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub word: BooleanWord,
    /// Accepted, without effect.
    pub modifiers: Vec<Modifier>,
    pub node: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BooleanWord {
    And,
    Or,
    /// And not.
    Not,
}

/// Index, relation and term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Shared by the terms in one pair of brackets, like the relation.
    pub index: Arc<str>,
    pub relation: Arc<Relation>,
    pub term: Term,
    pub position: Offset,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    pub verb: Verb,
    pub modifiers: Vec<Modifier>,
}

/// The comparison of index and term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `=`: the field contains the words, in this order and next to each other.
    Words,
    /// `==` or `exact`: the whole value, with wildcards.
    Equal,
    /// `<>`
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `all`: the field contains every word.
    All,
    /// `any`: the field contains at least one word.
    Any,
    /// `adj`: the same as `=`.
    Adjacent,
}

impl Verb {
    pub fn sign(self) -> &'static str {
        match self {
            Verb::Words => "=",
            Verb::Equal => "==",
            Verb::NotEqual => "<>",
            Verb::Less => "<",
            Verb::LessOrEqual => "<=",
            Verb::Greater => ">",
            Verb::GreaterOrEqual => ">=",
            Verb::All => "all",
            Verb::Any => "any",
            Verb::Adjacent => "adj",
        }
    }
}

impl BooleanWord {
    pub fn name(self) -> &'static str {
        match self {
            BooleanWord::And => "and",
            BooleanWord::Or => "or",
            BooleanWord::Not => "not",
        }
    }
}

/// `/name` or `/name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modifier {
    /// In lower case, with its `@` if it has one.
    pub name: String,
    pub value: Option<(Verb, Term)>,
}

/// A field to sort by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortKey {
    pub index: String,
    pub modifiers: Vec<Modifier>,
    pub position: Offset,
}

/// Byte offset in the query's text; ignored when queries are compared.
#[derive(Debug, Clone, Copy)]
pub struct Offset(pub usize);

impl PartialEq for Offset {
    fn eq(&self, _: &Offset) -> bool {
        true
    }
}
impl Eq for Offset {}
