//! Finding a user by name through the index of user names.

use crate::records::people::USER;
use carrel_platform::Connection;
use carrel_platform::record_store::read;
use carrel_records::Failure;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use uuid::Uuid;

/// The id of the user with the name; case and accents make no difference.
pub async fn id_of_username(connection: &Connection, name: &str) -> Result<Option<Uuid>, Failure> {
    if name.trim().is_empty() {
        return Ok(None);
    }
    let query = read::parse(&format!("username=={}", quoted(name)))?;
    let condition = read::unreported_condition(Some(&query), &USER, &[&USER])?;
    let sql = format!("SELECT users.id FROM users WHERE {}", condition.conditions);
    let rows = connection.query(sql, read::binds(&condition.arguments)).await?;
    Ok(rows.first().map(|row| row.get("id")))
}

/// Text as a quoted CQL term without wildcards.
pub fn quoted(text: &str) -> String {
    let mut term = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '\\' | '"' | '*' | '?' | '^') {
            term.push('\\');
        }
        term.push(letter);
    }
    term.push('"');
    term
}

/// Folds a name approximately as the database does: without case and accents.
pub fn folded(name: &str) -> String {
    name.trim().nfkd().filter(|letter| !is_combining_mark(*letter)).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_of_patterns_are_quoted() {
        assert_eq!(quoted(r#"a*"b\@x.org"#), r#""a\*\"b\\@x.org""#);
    }

    #[test]
    fn case_and_accents_are_folded() {
        assert_eq!(folded(" Amélie"), "amelie");
    }
}
