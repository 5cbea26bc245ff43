//! Texts with variables: `{NAME}` stands for the value of a variable.

use std::collections::BTreeMap;

/// Values by variable.
pub type Variables = BTreeMap<String, String>;

/// Replaces `{NAME}` by the variable's value; unknown names stay.
pub fn fill(text: &str, variables: &Variables) -> String {
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

/// The names of the variables in a text.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|from| {
        let name = &from[..from.find('}')?];
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then_some(name)
    })
}

/// The target of a call: variables filled in, the query form-encoded.
pub fn target(address: &str, variables: &Variables) -> String {
    let filled = fill(address, variables);
    let filled = filled.trim_start_matches('/');
    let Some((path, query)) = filled.split_once('?') else { return format!("/{filled}") };
    let parameters = query.split('&').map(|parameter| match parameter.split_once('=') {
        Some((name, value)) => format!("{name}={}", form_encoded(value)),
        None => parameter.to_string(),
    });
    format!("/{path}?{}", parameters.collect::<Vec<_>>().join("&"))
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

    #[test]
    fn variables_are_filled_and_queries_encoded_like_forms() {
        let x = BTreeMap::from([("X".to_string(), "a b".to_string())]);
        let encoded = target("items?query=barcode==\"{X}\"&limit=4", &x);
        assert_eq!(encoded, "/items?query=barcode%3D%3D%22a+b%22&limit=4");
        assert_eq!(fill("{\"i\":\"{X}\",\"p\":\"{p}\"}", &x), "{\"i\":\"a b\",\"p\":\"{p}\"}");
    }

    #[test]
    fn names_are_found_between_the_braces_of_json() {
        let found: Vec<_> = names("{\"i\":\"{X}\",\"p\":{\"q\":\"{p_1}\"}}").collect();
        assert_eq!(found, ["X", "p_1"]);
    }
}
