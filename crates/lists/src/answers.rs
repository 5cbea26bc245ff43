//! Errors in the form of FOLIO's two modules: a message, a code, and parameters.

use carrel_fql::QueryError;
use carrel_platform::Answer;
use carrel_platform::database::DatabaseError;
use carrel_records::Failure;
use http::StatusCode;
use serde_json::{Value, json};
use std::future::Future;
use uuid::Uuid;

/// Why a call ends early.
#[derive(Debug)]
pub enum Stop {
    Answer(Box<Answer>),
    Failure(Failure),
}

pub type Outcome<T> = Result<T, Stop>;

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failure(failure)
    }
}

impl From<DatabaseError> for Stop {
    fn from(error: DatabaseError) -> Stop {
        Stop::Failure(error.into())
    }
}

/// The answer of a handler; a malformed request is answered with this code.
pub async fn answered(
    code: &'static str,
    work: impl Future<Output = Outcome<Answer>>,
) -> Result<Answer, Failure> {
    match work.await {
        Ok(answer) => Ok(answer),
        Err(Stop::Answer(answer)) => Ok(*answer),
        Err(Stop::Failure(Failure::Invalid(words) | Failure::Conflict(words))) => {
            Ok(error(StatusCode::BAD_REQUEST, code, &words, &[]))
        }
        Err(Stop::Failure(failure)) => Err(failure),
    }
}

fn error(status: StatusCode, code: &str, message: &str, parameters: &[(&str, String)]) -> Answer {
    let parameters: Vec<Value> =
        parameters.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
    let mut body = json!({"message": message, "code": code});
    if !parameters.is_empty() {
        body["parameters"] = parameters.into();
    }
    Answer::json(&body).status(status)
}

fn stop(status: StatusCode, code: &str, message: String, parameters: &[(&str, String)]) -> Stop {
    Stop::Answer(Box::new(error(status, code, &message, parameters)))
}

/// Errors of the query module (mod-fqm-manager).
pub mod fqm {
    use super::*;

    pub fn entity_type_not_found(id: Uuid) -> Stop {
        let message = format!("Entity type with ID {id} not found");
        stop(StatusCode::NOT_FOUND, "entity.type.not.found", message, &[("entityTypeId", id.to_string())])
    }

    pub fn entity_type_invalid(id: Option<&str>, message: &str) -> Stop {
        let parameters: Vec<_> = id.into_iter().map(|id| ("id", id.to_owned())).collect();
        stop(StatusCode::BAD_REQUEST, "entity.type.invalid", message.to_owned(), &parameters)
    }

    pub fn not_custom(id: Uuid, message: String) -> Stop {
        stop(StatusCode::NOT_FOUND, "entity.type.not.found", message, &[("entityTypeId", id.to_string())])
    }

    pub fn access_denied(id: Uuid) -> Stop {
        let message = format!("Entity type {id} is not shared. It can only be accessed by its owner");
        stop(StatusCode::FORBIDDEN, "entity.type.access.denied", message, &[])
    }

    pub fn entity_type_in_use(id: Uuid, message: String) -> Stop {
        stop(StatusCode::CONFLICT, "entity.type.in.use", message, &[("entityTypeId", id.to_string())])
    }

    /// A query that does not exist: FOLIO looks up its entity type first.
    pub fn entity_type_not_found_for_query(id: Uuid) -> Stop {
        let message = format!("Query with id {id} not found. ");
        stop(StatusCode::NOT_FOUND, "entity.type.not.found", message, &[("queryId", id.to_string())])
    }

    pub fn permissions_missing(missing: &[&str]) -> Stop {
        let message = permissions_message(missing);
        stop(StatusCode::UNAUTHORIZED, "permissions.missing", message, &[])
    }

    pub fn permissions_message(missing: &[&str]) -> String {
        format!("User is missing permissions that are required for this operation: [{}]", missing.join(", "))
    }

    pub fn query_invalid(text: &str, errors: &[QueryError]) -> Stop {
        let message = format!("FQL Query {text} is invalid");
        let parameters: Vec<_> =
            errors.iter().map(|error| (error.field.as_str(), error.message.clone())).collect();
        stop(StatusCode::BAD_REQUEST, "query.invalid", message, &parameters)
    }

    pub fn field_not_found(entity_type: &str, field: &str) -> Stop {
        let message = format!("The entity type {entity_type} does not contain a field with name {field}");
        let parameters = [("entityTypeName", entity_type.to_owned()), ("field", field.to_owned())];
        stop(StatusCode::NOT_FOUND, "field.not.found", message, &parameters)
    }

    pub fn migration_changed_query(migrated: &Value) -> Stop {
        let message = "Migration changed more than just the version".to_owned();
        let parameters = [("migratedQueryInformation", migrated.to_string())];
        stop(StatusCode::BAD_REQUEST, "migration.query.changed", message, &parameters)
    }
}

/// Errors of lists; each code begins with the action.
pub mod lists {
    use super::*;

    /// An action on a list.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Action {
        Create,
        Read,
        Update,
        Delete,
        Refresh,
        Export,
        CancelRefresh,
        CancelExport,
    }

    impl Action {
        pub fn name(self) -> &'static str {
            match self {
                Action::Create => "create",
                Action::Read => "read",
                Action::Update => "update",
                Action::Delete => "delete",
                Action::Refresh => "refresh",
                Action::Export => "export",
                Action::CancelRefresh => "cancel_refresh",
                Action::CancelExport => "cancel_export",
            }
        }

        fn stop(
            self,
            status: StatusCode,
            code: &str,
            message: String,
            parameters: &[(&str, String)],
        ) -> Stop {
            super::stop(status, &format!("{}-{code}", self.name()), message, parameters)
        }

        pub fn not_found(self, id: Uuid) -> Stop {
            let message = format!("List ( with id {id} ) does not exist");
            self.stop(StatusCode::NOT_FOUND, "list.not.found", message, &[("id", id.to_string())])
        }

        pub fn private(self, id: Uuid, name: &str) -> Stop {
            let message = format!("List ( with id {id} ) is a private list owned by another user.");
            self.stop(StatusCode::UNAUTHORIZED, "list.is.private", message, &list(id, name))
        }

        pub fn inactive(self, id: Uuid, name: &str) -> Stop {
            let message = format!("List ( with id {id} ) is Inactive");
            self.stop(StatusCode::BAD_REQUEST, "list.is.inactive", message, &list(id, name))
        }

        pub fn canned(self, id: Uuid, name: &str) -> Stop {
            let message = format!("List ( with id {id} ) is canned");
            self.stop(StatusCode::BAD_REQUEST, "list.is.canned", message, &list(id, name))
        }

        pub fn without_query(self, id: Uuid, name: &str) -> Stop {
            let message = format!("List ( with id {id} ) does not have a query defined.");
            self.stop(StatusCode::BAD_REQUEST, "list.missing.query", message, &list(id, name))
        }

        pub fn refreshing(self, id: Uuid, name: &str, refresh: Uuid) -> Stop {
            let message = format!("List ( with id {id} ) is already in refresh state");
            let parameters =
                [("listId", id.to_string()), ("name", name.to_owned()), ("refreshId", refresh.to_string())];
            self.stop(StatusCode::BAD_REQUEST, "list.refresh.in.progress", message, &parameters)
        }

        pub fn not_refreshing(self, id: Uuid, name: &str) -> Stop {
            let message = format!("Illegal State - list {id} is not refreshing");
            self.stop(StatusCode::BAD_REQUEST, "list.not.refreshing", message, &list(id, name))
        }

        pub fn exporting(self, id: Uuid, name: &str) -> Stop {
            let message = format!("List ( with id {id} ) is currently being exported");
            self.stop(StatusCode::BAD_REQUEST, "export.in.progress", message, &list(id, name))
        }

        pub fn restricted(self, entity_type: Uuid, missing: &[&str]) -> Stop {
            let message = format!(
                "User is missing permissions to access entity type {entity_type}. {}",
                fqm::permissions_message(missing)
            );
            let parameters = [("entityTypeId", entity_type.to_string())];
            self.stop(StatusCode::FORBIDDEN, "entity.type.restricted", message, &parameters)
        }

        pub fn entity_type_not_found(self, id: Uuid) -> Stop {
            let message = format!("Entity type with ID {id} does not exist.");
            let parameters = [("entityTypeId", id.to_string())];
            self.stop(StatusCode::NOT_FOUND, "entity.not.found", message, &parameters)
        }

        pub fn query_invalid(self, text: &str, errors: &[QueryError]) -> Stop {
            let message = format!("FQL Query \"{text}\" is invalid");
            let parameters: Vec<_> =
                errors.iter().map(|error| (error.field.as_str(), error.message.clone())).collect();
            self.stop(StatusCode::BAD_REQUEST, "fql.query.invalid", message, &parameters)
        }

        pub fn stale(self, id: Uuid, name: &str, current: i32, requested: i64) -> Stop {
            let message = format!(
                "List ( with id {id} ) cannot be updated since version in request ({requested}) is different from the \
                 version of list ({current})"
            );
            let parameters = [
                ("id", id.to_string()),
                ("name", name.to_owned()),
                ("currentVersion", current.to_string()),
                ("requestVersion", requested.to_string()),
            ];
            self.stop(StatusCode::CONFLICT, "optimistic.lock.exception", message, &parameters)
        }

        pub fn version_not_found(self, id: Uuid, version: i64) -> Stop {
            let message = format!("List (id={id}) does not have a version number {version}");
            let parameters = [("id", id.to_string()), ("versionNumber", version.to_string())];
            self.stop(StatusCode::NOT_FOUND, "version.not.found", message, &parameters)
        }

        pub fn contents_failed(self, id: Uuid, name: &str) -> Stop {
            let message = format!(
                "Failed to retrieve list contents for list {id}. The upstream data schema changed. This can usually be \
                 fixed by refreshing the list."
            );
            self.stop(StatusCode::CONFLICT, "list.contents.request.failed", message, &list(id, name))
        }

        pub fn export_not_found(self, id: Uuid, export: Uuid) -> Stop {
            let message = format!("No export found for list id {id} and export id {export}");
            self.stop(StatusCode::NOT_FOUND, "export.not.found", message, &exported(id, export))
        }

        pub fn export_not_in_progress(self, id: Uuid, export: Uuid) -> Stop {
            let message = format!("Export {export} for list {id} is not in progress");
            self.stop(StatusCode::NOT_FOUND, "export.not.in.progress", message, &exported(id, export))
        }
    }

    /// A malformed request.
    pub fn invalid(message: impl Into<String>) -> Stop {
        super::stop(StatusCode::BAD_REQUEST, INVALID, message.into(), &[])
    }

    pub const INVALID: &str = "invalid.request";

    fn list(id: Uuid, name: &str) -> [(&'static str, String); 2] {
        [("id", id.to_string()), ("name", name.to_owned())]
    }

    fn exported(id: Uuid, export: Uuid) -> [(&'static str, String); 2] {
        [("listId", id.to_string()), ("exportId", export.to_string())]
    }
}
