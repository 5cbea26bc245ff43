//! The error answers of mod-scheduler.

use carrel_platform::Answer;
use http::StatusCode;
use serde_json::{Value, json};

/// A refused request, in the shape of mod-scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulerError {
    status: StatusCode,
    message: String,
    /// Its error class in FOLIO.
    kind: &'static str,
    code: &'static str,
    parameter: Option<(&'static str, String)>,
}

impl SchedulerError {
    /// A refused value, with its key.
    pub fn refused(message: impl Into<String>, parameter: Option<(&'static str, String)>) -> SchedulerError {
        SchedulerError {
            status: StatusCode::BAD_REQUEST,
            message: message.into(),
            kind: "RequestValidationException",
            code: "validation_error",
            parameter,
        }
    }

    /// A malformed request.
    pub fn invalid(message: impl Into<String>) -> SchedulerError {
        SchedulerError { kind: "IllegalArgumentException", ..SchedulerError::refused(message, None) }
    }

    pub fn exists(id: uuid::Uuid) -> SchedulerError {
        let message = format!("TimerDescriptor already exist for id {id}");
        SchedulerError {
            kind: "EntityExistsException",
            code: "found_error",
            ..SchedulerError::refused(message, None)
        }
    }

    pub fn not_found(id: uuid::Uuid) -> SchedulerError {
        SchedulerError {
            status: StatusCode::NOT_FOUND,
            kind: "EntityNotFoundException",
            code: "not_found_error",
            ..SchedulerError::refused(format!("Unable to find timer descriptor with id {id}"), None)
        }
    }

    pub fn answer(self) -> Answer {
        let mut error = json!({"message": self.message, "type": self.kind, "code": self.code});
        if let Some((key, value)) = self.parameter {
            error["parameters"] = json!([{"key": key, "value": value}]);
        }
        let body: Value = json!({"errors": [error], "total_records": 1});
        Answer::json(&body).status(self.status)
    }
}
