//! A line of a transaction: `[-] [pause] methods address [body] | check | check …`.

use super::check::Check;
use super::template::{Variables, fill};
use serde_json::Value;
use std::collections::BTreeMap;

/// The names that a line may use.
#[derive(Debug, Default)]
pub struct Names {
    /// Bounds of a pause, in seconds.
    pub pauses: BTreeMap<String, [f64; 2]>,
    /// Addresses with variables.
    pub addresses: BTreeMap<String, String>,
    /// Bodies with variables.
    pub bodies: BTreeMap<String, Body>,
}

/// What a call sends.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Body {
    /// Variable with a record, whose fields `text` replaces; without it `text` is the whole body.
    pub of: Option<String>,
    /// JSON with variables; empty for none.
    pub text: String,
}

impl Body {
    /// The body with its variables filled in.
    pub fn filled(&self, variables: &Variables) -> Result<String, String> {
        let text = fill(&self.text, variables);
        let Some(of) = &self.of else { return Ok(text) };
        let read =
            |text: &str| serde_json::from_str::<Value>(text).map_err(|error| format!("no JSON: {error}"));
        let mut record = read(variables.get(of).ok_or_else(|| format!("there is no {of}"))?)?;
        let changes = read(&text)?;
        for (field, value) in changes.as_object().ok_or("the changes are no JSON object")? {
            record[field] = value.clone();
        }
        Ok(record.to_string())
    }
}

/// One call of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Whether its time belongs to the transaction.
    pub is_timed: bool,
    /// Pause before it, evenly drawn between both, in seconds.
    pub pause: Option<(f64, f64)>,
    /// `OPTIONS`, `GET`, `POST`, `PUT` or `DELETE`.
    pub method: &'static str,
    /// The address's name, for the report.
    pub name: String,
    /// The address with variables.
    pub address: String,
    /// The body.
    pub body: Body,
    /// Checks of the response.
    pub checks: Vec<Check>,
}

impl Call {
    /// The calls of a line, one per method; the error says what is wrong with it.
    pub fn parse(line: &str, names: &Names) -> Result<Vec<Call>, String> {
        let wrong = |what: &str| format!("{what} in the call `{line}`");
        let mut parts = line.split('|').map(str::trim);
        let mut first_part = parts.next().unwrap_or("");
        let checks =
            parts.map(Check::parse).collect::<Option<Vec<_>>>().ok_or_else(|| wrong("a bad check"))?;

        let is_timed = !first_part.starts_with("- ");
        first_part = first_part.trim_start_matches("- ");
        let mut words = first_part.split_whitespace();
        let first = words.next().unwrap_or("");
        let (pause, methods) = match methods(first) {
            Some(methods) => (None, methods),
            None => {
                let [from, to] =
                    *names.pauses.get(first).ok_or_else(|| wrong("neither a method nor a known pause"))?;
                if !(0.0 <= from && from <= to) {
                    return Err(wrong("a pause that ends before it begins"));
                }
                let methods = words.next().and_then(self::methods).ok_or_else(|| wrong("no method"))?;
                (Some((from, to)), methods)
            }
        };
        let name = words.next().ok_or_else(|| wrong("no address"))?;
        let address = names.addresses.get(name).ok_or_else(|| wrong("an unknown address"))?;
        let body = match words.next() {
            None => Body::default(),
            Some(name) => names.bodies.get(name).ok_or_else(|| wrong("an unknown body"))?.clone(),
        };
        if words.next().is_some() {
            return Err(wrong("too many words"));
        }
        let last = methods.len() - 1;
        let calls = methods.iter().enumerate().map(|(n, &method)| Call {
            is_timed,
            pause: pause.filter(|_| n == 0),
            method,
            name: name.to_string(),
            address: address.clone(),
            body: if matches!(method, "POST" | "PUT") { body.clone() } else { Body::default() },
            checks: if n == last { checks.clone() } else { Vec::new() },
        });
        Ok(calls.collect())
    }

    /// The mean of its pause, in seconds.
    pub fn mean_pause(&self) -> f64 {
        self.pause.map_or(0.0, |(from, to)| (from + to) / 2.0)
    }

    /// Its name in the report.
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.name)
    }
}

fn methods(word: &str) -> Option<Vec<&'static str>> {
    let method = |letter| match letter {
        "O" => Some("OPTIONS"),
        "G" => Some("GET"),
        "P" => Some("POST"),
        "PUT" => Some("PUT"),
        "DELETE" => Some("DELETE"),
        _ => None,
    };
    word.split(',').map(method).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Vec<Call> {
        let names = Names {
            pauses: BTreeMap::from([("T2".to_string(), [0.0, 2.0])]),
            addresses: BTreeMap::from([("items".to_string(), "items".to_string())]),
            bodies: BTreeMap::from([("b".to_string(), Body { of: None, text: "{\"x\":\"{X}\"}".into() })]),
        };
        Call::parse(line, &names).unwrap()
    }

    #[test]
    fn a_line_with_two_methods_is_two_calls_and_only_the_first_waits() {
        let calls = one("T2 O,P items b | id | !errors");
        assert_eq!((calls[0].method, calls[0].pause), ("OPTIONS", Some((0.0, 2.0))));
        assert_eq!((calls[0].body.text.as_str(), calls[0].checks.len()), ("", 0));
        assert_eq!((calls[1].method, calls[1].pause), ("POST", None));
        assert_eq!(calls[1].body.text, "{\"x\":\"{X}\"}");
        assert_eq!(calls[1].checks, [Check::Present("id".into()), Check::Absent("errors".into())]);
    }

    #[test]
    fn a_call_behind_a_dash_is_not_timed() {
        assert!(!one("- T2 G items")[0].is_timed);
        assert!(one("G items")[0].is_timed);
    }

    #[test]
    fn a_body_may_change_fields_of_a_record_that_was_read() {
        let body = Body { of: Some("R".into()), text: "{\"status\":\"{S}\"}".into() };
        let variables = BTreeMap::from([
            ("R".to_string(), "{\"id\":\"1\",\"status\":\"Open\"}".to_string()),
            ("S".to_string(), "Closed".to_string()),
        ]);
        assert_eq!(body.filled(&variables).unwrap(), "{\"id\":\"1\",\"status\":\"Closed\"}");
        assert!(body.filled(&BTreeMap::new()).is_err());
    }
}
