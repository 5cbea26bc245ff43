//! A query as a tree.

use serde_json::{Map, Value, json};
use std::fmt;

/// A query: all conditions must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The version of FQL that the query is written in; "0" if the text has none.
    pub version: String,
    /// In the order of the text, with nested `$and` flattened. Without conditions the query finds every record.
    pub conditions: Vec<Condition>,
}

/// One comparison of a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// As the client wrote it, such as `items.notes[*]->note`.
    pub field: String,
    pub operator: Operator,
    pub operand: Operand,
}

/// How a field is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    Eq,
    Ne,
    In,
    Nin,
    Gt,
    Gte,
    Lt,
    Lte,
    Regex,
    StartsWith,
    Contains,
    /// Before version 17: some element is one of the values.
    ContainsAny,
    /// Before version 18: no element is one of the values.
    NotContainsAny,
    /// Before version 20: every value is an element.
    ContainsAll,
    /// Before version 21: some value is not an element.
    NotContainsAll,
    Empty,
}

/// The form of the operand that an operator needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expects {
    Scalar,
    Text,
    List,
    Flag,
}

impl Operator {
    /// Every operator, in the order in which an object with several of them is read.
    pub const ALL: [Operator; 16] = [
        Operator::Eq,
        Operator::Ne,
        Operator::In,
        Operator::Nin,
        Operator::Gt,
        Operator::Gte,
        Operator::Lt,
        Operator::Lte,
        Operator::Regex,
        Operator::StartsWith,
        Operator::Contains,
        Operator::ContainsAny,
        Operator::NotContainsAny,
        Operator::ContainsAll,
        Operator::NotContainsAll,
        Operator::Empty,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Operator::Eq => "$eq",
            Operator::Ne => "$ne",
            Operator::In => "$in",
            Operator::Nin => "$nin",
            Operator::Gt => "$gt",
            Operator::Gte => "$gte",
            Operator::Lt => "$lt",
            Operator::Lte => "$lte",
            Operator::Regex => "$regex",
            Operator::StartsWith => "$starts_with",
            Operator::Contains => "$contains",
            Operator::ContainsAny => "$contains_any",
            Operator::NotContainsAny => "$not_contains_any",
            Operator::ContainsAll => "$contains_all",
            Operator::NotContainsAll => "$not_contains_all",
            Operator::Empty => "$empty",
        }
    }

    /// The version of FQL from which on the operator does not exist.
    pub fn ends_in_version(self) -> Option<u32> {
        match self {
            Operator::ContainsAny => Some(17),
            Operator::NotContainsAny => Some(18),
            Operator::ContainsAll => Some(20),
            Operator::NotContainsAll => Some(21),
            _ => None,
        }
    }

    pub(crate) fn expects(self) -> Expects {
        match self {
            Operator::Eq | Operator::Ne | Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
                Expects::Scalar
            }
            Operator::Regex | Operator::StartsWith | Operator::Contains => Expects::Text,
            Operator::In
            | Operator::Nin
            | Operator::ContainsAny
            | Operator::NotContainsAny
            | Operator::ContainsAll
            | Operator::NotContainsAll => Expects::List,
            Operator::Empty => Expects::Flag,
        }
    }
}

/// What a field is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    One(Scalar),
    Many(Vec<Scalar>),
    Flag(bool),
}

/// A value of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    Text(String),
    /// A number with the digits of the query.
    Number(serde_json::Number),
    Boolean(bool),
    Null,
}

impl Scalar {
    /// The value as text; `None` for null.
    pub fn text(&self) -> Option<String> {
        match self {
            Scalar::Text(text) => Some(text.clone()),
            Scalar::Number(number) => Some(number.to_string()),
            Scalar::Boolean(flag) => Some(flag.to_string()),
            Scalar::Null => None,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Scalar::Text(text) => Value::String(text.clone()),
            Scalar::Number(number) => Value::Number(number.clone()),
            Scalar::Boolean(flag) => Value::Bool(*flag),
            Scalar::Null => Value::Null,
        }
    }
}

impl Condition {
    /// The condition as a JSON object.
    pub fn to_json(&self) -> Value {
        let operand = match &self.operand {
            Operand::One(scalar) => scalar.to_json(),
            Operand::Many(scalars) => scalars.iter().map(Scalar::to_json).collect(),
            Operand::Flag(flag) => Value::Bool(*flag),
        };
        json!({ self.field.as_str(): { self.operator.name(): operand } })
    }

    /// The condition as FQL.
    pub fn text(&self) -> String {
        self.to_json().to_string()
    }
}

impl Query {
    /// The query as FQL of its version.
    pub fn text(&self) -> String {
        let mut object = Map::new();
        object.insert("_version".into(), Value::String(self.version.clone()));
        match self.conditions.as_slice() {
            [] => {}
            [condition] => {
                if let Value::Object(inner) = condition.to_json() {
                    object.extend(inner);
                }
            }
            many => {
                object.insert("$and".into(), many.iter().map(Condition::to_json).collect());
            }
        }
        Value::Object(object).to_string()
    }
}

/// An error in a query, and the field that it concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// The field, or the whole text if no field can be named.
    pub field: String,
    pub message: String,
}

impl QueryError {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> QueryError {
        QueryError { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
