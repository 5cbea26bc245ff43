//! The library says no: a message for people, the values that led to it, and FOLIO's public code.

use crate::RefusalCode;
use serde_json::{Map, Value, json};

/// Refusals of one request that are collected and reported; what is wrong beyond them shows once these are mended.
pub const MAX_REFUSALS: usize = 100;

/// One reason why something was not done; the text, keys and codes are FOLIO's interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub parameters: Vec<(String, Option<String>)>,
    pub code: Option<RefusalCode>,
    /// FOLIO's `type` of the error, where its module tells one.
    pub kind: Option<&'static str>,
    /// Present where staff with the right permission may insist.
    pub overridable: Option<OverridableBlock>,
}

/// The block that stands behind a refusal, and the permissions that the caller lacks to override it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverridableBlock {
    pub name: &'static str,
    pub missing_permissions: Vec<&'static str>,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Self {
        Refusal { message: message.into(), parameters: Vec::new(), code: None, kind: None, overridable: None }
    }
    /// Names a value that led to the refusal.
    pub fn with(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((key.into(), Some(value.into())));
        self
    }
    /// Names a value that is absent; FOLIO shows it as JSON `null`.
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
    /// The form that FOLIO's storage modules give to what a document must not be.
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
