//! Why a rule refuses an operation: a message for people, the values that led to it, and FOLIO's public code.

use crate::RefusalCode;
use serde_json::{Map, Value, json};

/// At most this many refusals of one request are collected and reported.
pub const MAX_REFUSALS: usize = 100;

/// One reason for a refusal; text, keys and codes are part of FOLIO's API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub parameters: Vec<(String, Option<String>)>,
    pub code: Option<RefusalCode>,
    /// FOLIO's `type` of the error, if its module sends one.
    pub kind: Option<&'static str>,
    /// Present if staff with the right permission may override the refusal.
    pub overridable: Option<OverridableBlock>,
}

/// The block that causes a refusal, and the permissions that the caller lacks to override it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverridableBlock {
    pub name: &'static str,
    pub missing_permissions: Vec<&'static str>,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Self {
        Refusal { message: message.into(), parameters: Vec::new(), code: None, kind: None, overridable: None }
    }
    /// Adds a value that led to the refusal.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((key.into(), Some(value.into())));
        self
    }
    /// Adds an absent value, which FOLIO sends as JSON `null`.
    pub fn with_null(mut self, key: impl Into<String>) -> Self {
        self.parameters.push((key.into(), None));
        self
    }
    pub fn code(mut self, code: RefusalCode) -> Self {
        self.code = Some(code);
        self
    }
    pub fn kind(mut self, kind: &'static str) -> Self {
        self.kind = Some(kind);
        self
    }
    /// The form in which FOLIO's storage modules report invalid documents.
    pub fn of_storage(self) -> Self {
        self.kind("1").code(RefusalCode::Storage)
    }
    pub fn overridable(mut self, name: &'static str, missing_permissions: Vec<&'static str>) -> Self {
        self.overridable = Some(OverridableBlock { name, missing_permissions });
        self
    }
    /// FOLIO's JSON of one error.
    pub fn to_json(&self) -> Value {
        let mut error = Map::new();
        error.insert("message".into(), self.message.clone().into());
        if let Some(kind) = self.kind {
            error.insert("type".into(), kind.into());
        }
        let parameters: Vec<Value> =
            self.parameters.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
        error.insert("parameters".into(), parameters.into());
        if let Some(code) = self.code {
            error.insert("code".into(), code.into());
        }
        if let Some(block) = &self.overridable {
            error.insert(
                "overridableBlock".into(),
                json!({"name": block.name, "missingPermissions": block.missing_permissions}),
            );
        }
        Value::Object(error)
    }
}
