//! A line of a transaction: `[pause] methods address [body] | check | check …`.

use crate::error::{LabError, Result};
use serde_json::Value;
use std::collections::BTreeMap;

/// One call of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Pause before it, evenly drawn between both, in seconds.
    pub pause: Option<(f64, f64)>,
    /// `OPTIONS`, `GET` or `POST`.
    pub method: &'static str,
    /// The address's name, for the report.
    pub name: String,
    /// The address with variables.
    pub address: String,
    /// The body with variables; empty for none.
    pub body: String,
    /// What must be in the answer.
    pub checks: Vec<Check>,
}

/// What must be in an answer, and what is taken from it.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// Something is there.
    Present(String),
    /// Nothing is there.
    Absent(String),
    /// A number is large enough.
    AtLeast(String, f64),
    /// Something becomes a variable, or the given text does where it is absent.
    Take { path: String, variable: String, otherwise: Option<String> },
}

impl Call {
    /// The calls of a line, one per method.
    pub fn parse(
        line: &str,
        pauses: &BTreeMap<String, [f64; 2]>,
        addresses: &BTreeMap<String, String>,
        bodies: &BTreeMap<String, String>,
    ) -> Result<Vec<Call>> {
        let wrong = |what: &str| LabError::new(format!("{what} in the call `{line}`"));
        let mut parts = line.split('|').map(str::trim);
        let mut words = parts.next().unwrap_or("").split_whitespace().peekable();
        let checks =
            parts.map(Check::parse).collect::<Option<Vec<_>>>().ok_or_else(|| wrong("a bad check"))?;

        let first = words.next().unwrap_or("");
        let (pause, methods) = match methods(first) {
            Some(methods) => (None, methods),
            None => {
                let [from, to] =
                    *pauses.get(first).ok_or_else(|| wrong("neither a method nor a known pause"))?;
                if !(0.0 <= from && from <= to) {
                    return Err(wrong("a pause that ends before it begins"));
                }
                let methods = words.next().and_then(self::methods).ok_or_else(|| wrong("no method"))?;
                (Some((from, to)), methods)
            }
        };
        let name = words.next().ok_or_else(|| wrong("no address"))?;
        let address = addresses.get(name).ok_or_else(|| wrong("an unknown address"))?;
        let body = match words.next() {
            None => "",
            Some(name) => bodies.get(name).ok_or_else(|| wrong("an unknown body"))?,
        };
        if words.next().is_some() {
            return Err(wrong("too many words"));
        }
        let last = methods.len() - 1;
        let calls = methods.iter().enumerate().map(|(n, &method)| Call {
            pause: pause.filter(|_| n == 0),
            method,
            name: name.to_string(),
            address: address.clone(),
            body: if method == "POST" { body.to_string() } else { String::new() },
            checks: if n == last { checks.clone() } else { Vec::new() },
        });
        Ok(calls.collect())
    }

    /// The target with its variables filled in and its query form-encoded.
    pub fn target(&self, variables: &BTreeMap<String, String>) -> String {
        let filled = fill(&self.address, variables);
        let Some((path, query)) = filled.split_once('?') else { return format!("/{filled}") };
        let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
            Some((name, value)) => format!("{name}={}", form_encoded(value)),
            None => parameter.to_string(),
        });
        format!("/{path}?{}", parameters.collect::<Vec<_>>().join("&"))
    }
}

fn methods(word: &str) -> Option<Vec<&'static str>> {
    let method = |letter| match letter {
        "O" => Some("OPTIONS"),
        "G" => Some("GET"),
        "P" => Some("POST"),
        _ => None,
    };
    word.split(',').map(method).collect()
}

impl Check {
    fn parse(text: &str) -> Option<Check> {
        if text.is_empty() {
            return None;
        }
        if let Some((path, rest)) = text.split_once("->") {
            let (variable, otherwise) = match rest.split_once(" else ") {
                Some((variable, otherwise)) => (variable, Some(otherwise.trim().to_string())),
                None => (rest, None),
            };
            return Some(Check::Take {
                path: path.trim().into(),
                variable: variable.trim().into(),
                otherwise,
            });
        }
        if let Some((path, least)) = text.split_once(">=") {
            return Some(Check::AtLeast(path.trim().into(), least.trim().parse().ok()?));
        }
        Some(match text.strip_prefix('!') {
            Some(path) => Check::Absent(path.trim().into()),
            None => Check::Present(text.into()),
        })
    }

    /// Holds the answer against the check; `any` decides between the entries of an array. The text says what is
    /// wrong.
    pub fn hold(
        &self,
        answer: &Value,
        variables: &mut BTreeMap<String, String>,
        any: &mut dyn FnMut(usize) -> usize,
    ) -> std::result::Result<(), String> {
        match self {
            Check::Present(path) => find(answer, path, any).map(|_| ()).ok_or(format!("{path} is missing")),
            Check::Absent(path) => {
                find(answer, path, any).map_or(Ok(()), |seen| Err(format!("{path} is {seen}")))
            }
            Check::AtLeast(path, least) => match find(answer, path, any).and_then(Value::as_f64) {
                Some(seen) if seen >= *least => Ok(()),
                seen => Err(format!("{path} is {seen:?}, not {least} or more")),
            },
            Check::Take { path, variable, otherwise } => {
                let found = find(answer, path, any).map(|value| match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                let value = found.or_else(|| otherwise.clone()).ok_or(format!("{path} is missing"))?;
                variables.insert(variable.clone(), value);
                Ok(())
            }
        }
    }
}

/// `a.b`, `a[0].b`, `a[?].b`.
fn find<'a>(mut value: &'a Value, path: &str, any: &mut dyn FnMut(usize) -> usize) -> Option<&'a Value> {
    for step in path.split('.') {
        let (field, index) = match step.split_once('[') {
            Some((field, rest)) => (field, Some(rest.strip_suffix(']')?)),
            None => (step, None),
        };
        value = value.get(field)?;
        if let Some(index) = index {
            let entries = value.as_array().filter(|entries| !entries.is_empty())?;
            value = entries.get(if index == "?" { any(entries.len()) } else { index.parse().ok()? })?;
        }
    }
    (!value.is_null()).then_some(value)
}

/// Puts variables in the place of `{NAME}`; unknown ones stay.
pub fn fill(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        let known = from.find('}').and_then(|close| Some((close, variables.get(&from[1..close])?)));
        match known {
            Some((close, value)) => {
                filled.push_str(value);
                rest = &from[close + 1..];
            }
            None => {
                filled.push('{');
                rest = &from[1..];
            }
        }
    }
    filled + rest
}

/// As browsers and JMeter encode a form's value: a space is a plus sign.
fn form_encoded(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len() * 2);
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' => encoded.push(byte as char),
            b' ' => encoded.push('+'),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(line: &str) -> Vec<Call> {
        let map = |name: &str, text: &str| BTreeMap::from([(name.to_string(), text.to_string())]);
        let pauses = BTreeMap::from([("T2".to_string(), [0.0, 2.0])]);
        Call::parse(
            line,
            &pauses,
            &map("items", "items?query=barcode==\"{X}\"&limit=4"),
            &map("b", "{\"x\":\"{X}\"}"),
        )
        .unwrap()
    }

    #[test]
    fn a_line_with_two_methods_is_two_calls_and_only_the_first_waits() {
        let calls = one("T2 O,P items b | id | !errors");
        assert_eq!(
            (calls[0].method, calls[0].pause, calls[0].body.as_str()),
            ("OPTIONS", Some((0.0, 2.0)), "")
        );
        assert!(calls[0].checks.is_empty());
        assert_eq!(
            (calls[1].method, calls[1].pause, calls[1].body.as_str()),
            ("POST", None, "{\"x\":\"{X}\"}")
        );
        assert_eq!(calls[1].checks, [Check::Present("id".into()), Check::Absent("errors".into())]);
    }

    #[test]
    fn variables_are_filled_and_queries_encoded_like_forms() {
        let x = BTreeMap::from([("X".to_string(), "a b".to_string())]);
        assert_eq!(one("G items")[0].target(&x), "/items?query=barcode%3D%3D%22a+b%22&limit=4");
        assert_eq!(fill("{\"i\":\"{X}\",\"p\":\"{p}\"}", &x), "{\"i\":\"a b\",\"p\":\"{p}\"}");
    }

    #[test]
    fn checks_hold_answers_and_take_variables() {
        let answer = json!({ "totalRecords": 2, "items": [{ "id": "a" }, { "id": "b" }], "none": null });
        let mut variables = BTreeMap::new();
        let mut hold = |text: &str| {
            let check = Check::parse(text).unwrap();
            check.hold(&answer, &mut variables, &mut |entries| entries - 1).is_ok()
        };
        assert!(hold("totalRecords") && hold("totalRecords >= 2") && !hold("totalRecords >= 3"));
        assert!(hold("!errors") && !hold("!items") && !hold("none"));
        assert!(hold("items[0].id -> I") && hold("items[?].id -> R") && !hold("items[9].id -> N"));
        assert!(hold("loan.id -> L else NOT_FOUND"));
        assert_eq!((variables["I"].as_str(), variables["R"].as_str()), ("a", "b"));
        assert_eq!(variables["L"], "NOT_FOUND");
    }
}
