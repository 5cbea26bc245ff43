//! Scripts of several statements, sent as one message each.
//!
//! A distributed engine refuses several statements of DDL in one message. Sent together, they still take one round trip.

use futures_util::future::join_all;
use tokio_postgres::{Client, Error};

/// Runs the statements of a script in their order, in one round trip; gives the first error.
pub async fn run_script(client: &Client, script: &str) -> Result<(), Error> {
    let answers = join_all(statements(script).into_iter().map(|statement| client.batch_execute(statement)));
    answers.await.into_iter().collect()
}

/// The statements of a script without their semicolons; semicolons in quotes, comments and `$$` bodies do not count.
pub fn statements(script: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut start, mut at, mut is_empty) = (0, 0, true);
    while let Some(letter) = script[at..].chars().next() {
        let rest = &script[at..];
        if letter == ';' {
            if !is_empty {
                all.push(script[start..at].trim());
            }
            (start, at, is_empty) = (at + 1, at + 1, true);
            continue;
        }
        at += if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            end_after(rest, 2, "*/")
        } else {
            is_empty &= letter.is_whitespace();
            match letter {
                // A doubled quote ends one literal and begins the next.
                '\'' => end_after(rest, 1, "'"),
                '"' => end_after(rest, 1, "\""),
                '$' => dollar_quoted(rest),
                other => other.len_utf8(),
            }
        };
    }
    if !is_empty {
        all.push(script[start..].trim());
    }
    all
}

/// Bytes up to and with `end`, which is looked for after the first `from` bytes.
fn end_after(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |place| from + place + end.len())
}

/// Bytes of what begins with `$`: a body in `$tag$`, or only the sign.
fn dollar_quoted(text: &str) -> usize {
    let Some(length) = text[1..].find('$') else { return 1 };
    let tag = &text[..length + 2];
    let is_tag = tag[1..=length].chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        && !tag[1..=length].starts_with(|letter: char| letter.is_ascii_digit());
    if is_tag { end_after(text, tag.len(), tag) } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_cut_between_statements_only() {
        let table: [(&str, &[&str]); 6] = [
            ("A; B ;\n-- c;\n", &["A", "B"]),
            ("INSERT ';' || 'it''s;'; B", &["INSERT ';' || 'it''s;'", "B"]),
            ("DO $$ a; b; $$; DO $x$ c; $$ d; $x$", &["DO $$ a; b; $$", "DO $x$ c; $$ d; $x$"]),
            (
                "CREATE TABLE \"a;b\" (c text /* ; */ -- ; d\n)",
                &["CREATE TABLE \"a;b\" (c text /* ; */ -- ; d\n)"],
            ),
            ("SELECT $1; SELECT $2", &["SELECT $1", "SELECT $2"]),
            (" ;; \n", &[]),
        ];
        for (script, expected) in table {
            assert_eq!(statements(script), expected, "{script}");
        }
    }
}
