//! The patron at the desk, and whether their account is active.

use carrel_platform::Json;
use carrel_records::{Failure, time};
use carrel_users::records::people::USER;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Display;
use std::sync::LazyLock;
use tokio_postgres::Row;
use tokio_postgres::row::RowIndex;
use uuid::Uuid;

/// SQL condition that a user has the barcode given as an expression, such as `$1::text`, with the expression of the
/// index.
pub fn barcode_is(alias: &str, barcode: &str) -> String {
    static FIELD: LazyLock<String> = LazyLock::new(|| {
        let field = USER.fields.iter().find(|field| field.name == "barcode").expect("users have barcodes");
        carrel_cql::sql::expression(field, "users")
    });
    let field = FIELD.replace("users.", &format!("{alias}."));
    // For ASCII `carrel.folded` gives the same, but costs a call of PL/pgSQL.
    format!(
        "{field} = left(CASE WHEN octet_length({barcode}) = length({barcode})
             THEN carrel.f_lower({barcode}) ELSE carrel.folded({barcode}) END, 600)"
    )
}

/// The properties of a user for decisions and answers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Patron {
    pub id: Uuid,
    pub barcode: Option<String>,
    pub username: Option<String>,
    pub active: Option<bool>,
    pub expiration_date: Option<String>,
    pub patron_group: Option<Uuid>,
    pub departments: Vec<String>,
    /// `patron`, `staff`, `dcb` and so on.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub personal: Personal,
}

/// Names and addresses of a patron.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Personal {
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub middle_name: Option<String>,
    pub preferred_first_name: Option<String>,
    pub addresses: Vec<Value>,
}

/// Whether an account is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountStatus {
    Active,
    Inactive,
    /// `active` is not set.
    Unknown,
}

impl Patron {
    /// The account is used for patrons of other libraries in direct consortial borrowing.
    pub fn is_of_another_library(&self) -> bool {
        self.kind.as_deref() == Some("dcb")
    }

    /// The user in a column, given by name or index, if there is one.
    pub fn at(row: &Row, column: impl RowIndex + Display) -> Result<Option<Patron>, Failure> {
        row.get::<_, Option<Json>>(column).map(|json| Patron::read(&json)).transpose()
    }

    pub fn read(document: &Json) -> Result<Patron, Failure> {
        document.read().map_err(|error| Failure::Internal {
            context: "reading a user".into(),
            cause: Some(error.into()),
        })
    }

    /// When the account expires.
    pub fn expires(&self) -> Option<Timestamp> {
        self.expiration_date.as_deref().and_then(time::parse)
    }

    pub fn account_status(&self, now: Timestamp) -> AccountStatus {
        match self.active {
            None => AccountStatus::Unknown,
            Some(false) => AccountStatus::Inactive,
            Some(true) if self.expires().is_some_and(|end| end < now) => AccountStatus::Inactive,
            Some(true) => AccountStatus::Active,
        }
    }

    /// "Last, First", or the username if a part is missing.
    pub fn display_name(&self) -> String {
        match (&self.personal.last_name, &self.personal.first_name) {
            (Some(last), Some(first)) => format!("{last}, {first}"),
            _ => self.username.clone().unwrap_or_default(),
        }
    }

    /// The patron in the form in which loans contain them; absent fields are null.
    pub fn summary(&self) -> Value {
        json!({
            "firstName": self.personal.first_name,
            "lastName": self.personal.last_name,
            "middleName": self.personal.middle_name,
            "barcode": self.barcode,
            "preferredFirstName": self.personal.preferred_first_name,
            "patronGroup": self.patron_group,
        })
    }
}

/// Whether a proxy relation is active and has not expired; older records keep both under `meta`.
pub fn is_valid_relation(relation: &Value, now: Timestamp) -> bool {
    let at = |key: &str| {
        relation.get(key).or_else(|| relation.pointer(&format!("/meta/{key}"))).and_then(Value::as_str)
    };
    at("status") == Some("Active")
        && at("expirationDate").and_then(time::parse).is_none_or(|expiration| expiration > now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        time::parse(text).expect("a time")
    }

    #[test]
    fn an_expired_account_is_inactive() {
        let patron = Patron {
            active: Some(true),
            expiration_date: Some("2024-05-01T00:00:00.000+00:00".into()),
            ..Patron::default()
        };
        assert_eq!(patron.account_status(at("2024-04-30")), AccountStatus::Active);
        assert_eq!(patron.account_status(at("2024-05-02")), AccountStatus::Inactive);
        assert_eq!(Patron::default().account_status(at("2024-05-02")), AccountStatus::Unknown);
    }
}
