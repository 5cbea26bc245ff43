//! Checks of a response, and values that are taken from it.

use super::template::Variables;
use serde_json::Value;

/// A check of a response, or a value taken from it.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// The path exists.
    Present(String),
    /// The path does not exist.
    Absent(String),
    /// The number at the path is at least this.
    AtLeast(String, f64),
    /// Assigns the value at the path to a variable, or `otherwise` if it is absent.
    Take { path: String, variable: String, otherwise: Option<String> },
    /// Adds the value at the path to the collected rows, for clean-up steps.
    Collect { path: String, variable: String },
    /// The expected statuses; without this check all below 400.
    Status(Vec<u16>),
    /// Repeats the call as long as the path exists.
    While(String),
}

impl Check {
    /// Parses a check; `None` if the text is not a check.
    pub fn parse(text: &str) -> Option<Check> {
        if text.is_empty() {
            return None;
        }
        if let Some(statuses) = text.strip_prefix("status ") {
            return Some(Check::Status(
                statuses.split_whitespace().map(|s| s.parse().ok()).collect::<Option<_>>()?,
            ));
        }
        if let Some(path) = text.strip_prefix("while ") {
            return Some(Check::While(path.trim().into()));
        }
        if let Some((path, variable)) = text.split_once("->+") {
            return Some(Check::Collect { path: path.trim().into(), variable: name(variable)? });
        }
        if let Some((path, rest)) = text.split_once("->") {
            let (variable, otherwise) = match rest.split_once(" else ") {
                Some((variable, otherwise)) => (variable, Some(otherwise.trim().to_string())),
                None => (rest, None),
            };
            return Some(Check::Take { path: path.trim().into(), variable: name(variable)?, otherwise });
        }
        if let Some((path, least)) = text.split_once(">=") {
            return Some(Check::AtLeast(path.trim().into(), least.trim().parse().ok()?));
        }
        Some(match text.strip_prefix('!') {
            Some(path) => Check::Absent(path.trim().into()),
            None => Check::Present(text.into()),
        })
    }

    /// The variable that it sets or collects.
    pub fn sets(&self) -> Option<&str> {
        match self {
            Check::Take { variable, .. } | Check::Collect { variable, .. } => Some(variable),
            Check::Present(_)
            | Check::Absent(_)
            | Check::AtLeast(..)
            | Check::Status(_)
            | Check::While(_) => None,
        }
    }

    /// Whether it reads the response body.
    pub fn reads_body(&self) -> bool {
        !matches!(self, Check::Status(_))
    }

    /// Applies the check to an answer's body; `any` decides between the entries of an array. The text says what is
    /// wrong.
    pub fn hold(
        &self,
        answer: &Value,
        variables: &mut Variables,
        collected: &mut Vec<(String, String)>,
        any: &mut dyn FnMut(usize) -> usize,
    ) -> Result<(), String> {
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
                let value = find(answer, path, any).map(text).or_else(|| otherwise.clone());
                variables.insert(variable.clone(), value.ok_or(format!("{path} is missing"))?);
                Ok(())
            }
            Check::Collect { path, variable } => {
                let value = find(answer, path, any).map(text).ok_or(format!("{path} is missing"))?;
                collected.push((variable.clone(), value));
                Ok(())
            }
            // Both are evaluated before the body is read.
            Check::Status(_) | Check::While(_) => Ok(()),
        }
    }
}

fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| text.to_string())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `a.b`, `a[0].b`, `a[?].b`; `.` is the whole answer.
pub fn find<'a>(mut value: &'a Value, path: &str, any: &mut dyn FnMut(usize) -> usize) -> Option<&'a Value> {
    if path == "." {
        return Some(value);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn checks_hold_answers_and_take_variables() {
        let answer = json!({ "totalRecords": 2, "items": [{ "id": "a" }, { "id": "b" }], "none": null });
        let (mut variables, mut collected) = (BTreeMap::new(), Vec::new());
        let mut hold = |text: &str| {
            let check = Check::parse(text).unwrap();
            check.hold(&answer, &mut variables, &mut collected, &mut |entries| entries - 1).is_ok()
        };
        assert!(hold("totalRecords") && hold("totalRecords >= 2") && !hold("totalRecords >= 3"));
        assert!(hold("!errors") && !hold("!items") && !hold("none"));
        assert!(hold("items[0].id -> I") && hold("items[?].id -> R") && !hold("items[9].id -> N"));
        assert!(hold("loan.id -> L else NOT_FOUND") && hold("items[1].id ->+ C"));
        assert_eq!((variables["I"].as_str(), variables["R"].as_str()), ("a", "b"));
        assert_eq!(variables["L"], "NOT_FOUND");
        assert_eq!(collected, [("C".to_string(), "b".to_string())]);
    }

    #[test]
    fn statuses_and_repetitions_are_read() {
        assert_eq!(Check::parse("status 201 429"), Some(Check::Status(vec![201, 429])));
        assert_eq!(Check::parse("while a.b"), Some(Check::While("a.b".into())));
        assert_eq!(Check::parse("status ok"), None);
        assert_eq!(Check::parse("a -> not a name"), None);
    }
}
