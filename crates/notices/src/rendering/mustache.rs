//! Mustache, as far as FOLIO's templates use it: `{{name}}` (HTML-escaped), `{{{name}}}` and `{{&name}}` (as is),
//! `{{#name}}…{{/name}}` for lists, objects and true values, `{{^name}}…{{/name}}` for absent ones, `{{!comments}}` and
//! dotted names. Pure.
//!
//! Partials (`{{>name}}`) and changed delimiters (`{{=`) are refused: templates are stored one by one and refer to
//! no other.

use serde_json::Value;
use std::fmt::Write;

/// Levels of nested sections, at most.
const MAX_DEPTH: usize = 32;
/// Bytes of a rendered text, at most: lists in a template repeat their section.
const MAX_RENDERED: usize = 4 * 1024 * 1024;

/// Renders a template with the values of `context`. A name without a value is rendered as empty text.
///
/// The error is a sentence that describes what is wrong with the template.
pub fn render(template: &str, context: &Value) -> Result<String, String> {
    let nodes = parse(template)?;
    let mut rendered = String::with_capacity(template.len() * 2);
    write_nodes(&nodes, &mut vec![context], &mut rendered)?;
    Ok(rendered)
}

#[derive(Debug, PartialEq)]
enum Node<'a> {
    Text(&'a str),
    Variable { name: &'a str, escaped: bool },
    Section { name: &'a str, inverted: bool, nodes: Vec<Node<'a>> },
}

enum Tag<'a> {
    Variable { name: &'a str, escaped: bool },
    Open { name: &'a str, inverted: bool },
    Close(&'a str),
    Comment,
}

/// An opened section: its name, whether it is inverted, and the nodes before it.
struct Frame<'a> {
    name: &'a str,
    inverted: bool,
    before: Vec<Node<'a>>,
}

fn parse(template: &str) -> Result<Vec<Node<'_>>, String> {
    let mut open: Vec<Frame> = Vec::new();
    let mut nodes = Vec::new();
    let mut rest = template;
    let mut at_line_start = true;
    while let Some(start) = rest.find("{{") {
        let (text, from_tag) = rest.split_at(start);
        let (tag, after) = read_tag(from_tag)?;
        // A section tag or comment that is alone on its line is removed with its line.
        let without_line = match tag {
            Tag::Variable { .. } => None,
            _ => alone_on_line(text, after, at_line_start),
        };
        at_line_start = without_line.is_some();
        let (text, after) = without_line.unwrap_or((text, after));
        if !text.is_empty() {
            nodes.push(Node::Text(text));
        }
        rest = after;
        match tag {
            Tag::Comment => {}
            Tag::Variable { name, escaped } => nodes.push(Node::Variable { name, escaped }),
            Tag::Open { name, inverted } => {
                if open.len() == MAX_DEPTH {
                    return Err(format!("more than {MAX_DEPTH} sections are nested"));
                }
                open.push(Frame { name, inverted, before: std::mem::take(&mut nodes) });
            }
            Tag::Close(name) => {
                let frame = open.pop().ok_or_else(|| format!("section '{name}' is closed but not opened"))?;
                if frame.name != name {
                    return Err(format!("section '{}' is closed as '{name}'", frame.name));
                }
                let section = Node::Section { name, inverted: frame.inverted, nodes };
                nodes = frame.before;
                nodes.push(section);
            }
        }
    }
    if let Some(frame) = open.last() {
        return Err(format!("section '{}' is not closed", frame.name));
    }
    if !rest.is_empty() {
        nodes.push(Node::Text(rest));
    }
    Ok(nodes)
}

/// The tag at the beginning of the text, and the text after it.
fn read_tag(text: &str) -> Result<(Tag<'_>, &str), String> {
    let unclosed = || "a tag is not closed by '}}'".to_owned();
    if let Some(inner) = text.strip_prefix("{{{") {
        let (name, after) = inner.split_once("}}}").ok_or_else(unclosed)?;
        return Ok((Tag::Variable { name: name.trim(), escaped: false }, after));
    }
    let (inner, after) = text[2..].split_once("}}").ok_or_else(unclosed)?;
    let tag = match inner.chars().next() {
        Some('#') => Tag::Open { name: inner[1..].trim(), inverted: false },
        Some('^') => Tag::Open { name: inner[1..].trim(), inverted: true },
        Some('/') => Tag::Close(inner[1..].trim()),
        Some('&') => Tag::Variable { name: inner[1..].trim(), escaped: false },
        Some('!') => Tag::Comment,
        Some('>') => return Err(format!("partials are not supported: '{{{{{inner}}}}}'")),
        Some('=') => return Err(format!("other delimiters are not supported: '{{{{{inner}}}}}'")),
        _ => Tag::Variable { name: inner.trim(), escaped: true },
    };
    Ok((tag, after))
}

/// The texts around a tag without the tag's line, if nothing else is on that line.
fn alone_on_line<'a>(before: &'a str, after: &'a str, at_line_start: bool) -> Option<(&'a str, &'a str)> {
    let line_start = match before.rfind('\n') {
        Some(newline) => newline + 1,
        None if at_line_start => 0,
        None => return None,
    };
    if !before[line_start..].chars().all(|letter| matches!(letter, ' ' | '\t')) {
        return None;
    }
    let line_end = after.find('\n').map_or(after.len(), |newline| newline + 1);
    after[..line_end].chars().all(char::is_whitespace).then(|| (&before[..line_start], &after[line_end..]))
}

fn write_nodes(nodes: &[Node], scopes: &mut Vec<&Value>, rendered: &mut String) -> Result<(), String> {
    for node in nodes {
        match node {
            Node::Text(text) => rendered.push_str(text),
            Node::Variable { name, escaped } => write_value(find(scopes, name), *escaped, rendered),
            Node::Section { name, inverted, nodes } => {
                let value = find(scopes, name);
                if *inverted {
                    if !is_true(value) {
                        write_nodes(nodes, scopes, rendered)?;
                    }
                    continue;
                }
                match value {
                    Some(Value::Array(elements)) => {
                        for element in elements {
                            scopes.push(element);
                            let written = write_nodes(nodes, scopes, rendered);
                            scopes.pop();
                            written?;
                        }
                    }
                    Some(value) if is_true(Some(value)) => {
                        scopes.push(value);
                        let written = write_nodes(nodes, scopes, rendered);
                        scopes.pop();
                        written?;
                    }
                    _ => {}
                }
            }
        }
        if rendered.len() > MAX_RENDERED {
            return Err(format!("the text is longer than {MAX_RENDERED} bytes"));
        }
    }
    Ok(())
}

/// The value of a name: its first part in the innermost scope that has it, the others within that.
fn find<'a>(scopes: &[&'a Value], name: &str) -> Option<&'a Value> {
    if name == "." {
        return scopes.last().copied();
    }
    let mut parts = name.split('.');
    let first = parts.next()?;
    let mut value = scopes.iter().rev().find_map(|scope| scope.get(first))?;
    for part in parts {
        value = value.get(part)?;
    }
    Some(value)
}

fn is_true(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Array(elements)) => !elements.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    }
}

fn write_value(value: Option<&Value>, escaped: bool, rendered: &mut String) {
    let text = match value {
        None | Some(Value::Null) => return,
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    if !escaped {
        rendered.push_str(&text);
        return;
    }
    for letter in text.chars() {
        match letter {
            '&' => rendered.push_str("&amp;"),
            '<' => rendered.push_str("&lt;"),
            '>' => rendered.push_str("&gt;"),
            '"' => rendered.push_str("&quot;"),
            // The characters that FOLIO's renderer writes as numeric references.
            '\'' | '`' | '=' | '\n' => {
                let _ = write!(rendered, "&#{};", u32::from(letter));
            }
            other => rendered.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::render;
    use proptest::prelude::*;
    use serde_json::json;

    fn rendered(template: &str) -> String {
        let context = json!({
            "user": {"firstName": "Ada", "note": "<b> & 'c'"},
            "loans": [{"item": {"title": "Emma"}}, {"item": {"title": "Persuasion"}}],
            "nothing": [], "yes": true, "no": false, "count": 3, "empty": "",
        });
        render(template, &context).expect("the template is well-formed")
    }

    #[test]
    fn names_are_replaced_by_their_values() {
        for (template, text) in [
            ("Dear {{user.firstName}},", "Dear Ada,"),
            ("{{ count }} items", "3 items"),
            ("[{{unknown}}{{user.unknown.further}}]", "[]"),
            ("{{user.note}}", "&lt;b&gt; &amp; &#39;c&#39;"),
            ("{{{user.note}}}{{&user.note}}", "<b> & 'c'<b> & 'c'"),
            ("{{! nothing to see }}x", "x"),
        ] {
            assert_eq!(rendered(template), text, "{template}");
        }
    }

    #[test]
    fn a_section_repeats_for_each_element_and_shows_or_hides_by_value() {
        for (template, text) in [
            ("{{#loans}}<li>{{item.title}}</li>{{/loans}}", "<li>Emma</li><li>Persuasion</li>"),
            ("{{#loans}}{{user.firstName}};{{/loans}}", "Ada;Ada;"),
            ("{{#nothing}}x{{/nothing}}{{^nothing}}none{{/nothing}}", "none"),
            ("{{#yes}}a{{/yes}}{{#no}}b{{/no}}{{^no}}c{{/no}}{{#empty}}d{{/empty}}", "ac"),
            ("{{#user}}{{firstName}}{{/user}}", "Ada"),
        ] {
            assert_eq!(rendered(template), text, "{template}");
        }
    }

    #[test]
    fn a_section_tag_alone_on_its_line_leaves_no_empty_line() {
        assert_eq!(
            rendered("Items:\n{{#loans}}\n- {{item.title}}\n{{/loans}}\nEnd"),
            "Items:\n- Emma\n- Persuasion\nEnd"
        );
    }

    #[test]
    fn a_malformed_template_is_refused_with_the_reason() {
        for (template, reason) in [
            ("{{#a}}", "section 'a' is not closed"),
            ("{{/a}}", "section 'a' is closed but not opened"),
            ("{{#a}}{{#b}}{{/a}}{{/b}}", "section 'b' is closed as 'a'"),
            ("{{a", "a tag is not closed by '}}'"),
            ("{{>a}}", "partials are not supported: '{{>a}}'"),
            ("{{=<% %>=}}", "other delimiters are not supported: '{{=<% %>=}}'"),
        ] {
            assert_eq!(render(template, &json!({})), Err(reason.to_owned()), "{template}");
        }
        assert!(render(&"{{#a}}".repeat(100), &json!({})).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_rendered_or_refused_without_panic(template in "[{}#/^!&a. \nü]{0,60}") {
            let _ = render(&template, &json!({"a": [{"a": "b"}, "c", true]}));
        }

        #[test]
        fn text_without_tags_is_left_as_it_is(text in "[^{]{0,80}") {
            prop_assert_eq!(render(&text, &json!({})), Ok(text));
        }
    }
}
