//! Bounds of numbers, lengths, element counts, and patterns of texts; refused with the texts of the validator that
//! FOLIO's storage modules use.

use crate::{Refusal, RefusalCode};

/// Bounds of one property; what is not bounded is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    /// Of a number.
    pub least: Option<i64>,
    pub most: Option<i64>,
    /// Of a text, in UTF-16 units, as Java counts.
    pub length: Option<Span>,
    /// Of an array.
    pub items: Option<Span>,
    /// Duplicates in an array are removed, as by Java's sets.
    pub is_set: bool,
    pub pattern: Option<Pattern>,
}

/// An inclusive range of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub least: usize,
    pub most: usize,
}

/// The required form of a text; FOLIO's regular expressions, implemented by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Contains a character other than a blank, in one line.
    NotBlank,
    /// Does not begin with a blank, in one line.
    VisibleLine,
    /// Does not begin with a blank.
    VisibleText,
    /// Letters, digits, dots and hyphens, at most ten.
    NumberPrefix,
}

impl Bounds {
    /// Why the number is out of bounds, if it is.
    pub fn of_number(&self, number: &serde_json::Number, path: &str) -> Option<Refusal> {
        let value = number.as_f64()?;
        let out_of_bounds = |words: String, rule| Some(refusal(words, rule, path, number.to_string()));
        match (self.least, self.most) {
            (Some(least), _) if value < least as f64 => {
                out_of_bounds(format!("must be greater than or equal to {least}"), DECIMAL_MIN)
            }
            (_, Some(most)) if value > most as f64 => {
                out_of_bounds(format!("must be less than or equal to {most}"), DECIMAL_MAX)
            }
            _ => None,
        }
    }

    /// Why the text is out of bounds, if it is.
    pub fn of_text(&self, text: &str, path: &str) -> Option<Refusal> {
        if let Some(span) = self.length
            && !span.holds(text.encode_utf16().count())
        {
            return Some(refusal(span.says(), SIZE, path, text.to_owned()));
        }
        let pattern = self.pattern.filter(|pattern| !pattern.fits(text))?;
        Some(refusal(format!("must match \"{}\"", pattern.expression()), PATTERN, path, text.to_owned()))
    }

    /// Why the array has too few or too many elements, if it has.
    pub fn of_array(&self, elements: &[serde_json::Value], path: &str) -> Option<Refusal> {
        let span = self.items.filter(|span| !span.holds(elements.len()))?;
        Some(refusal(span.says(), SIZE, path, shown(elements)))
    }
}

/// The first elements of an array, as Java prints them.
pub(super) fn shown(elements: &[serde_json::Value]) -> String {
    let shown: Vec<String> = elements
        .iter()
        .take(20)
        .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
        .collect();
    format!("[{}]", shown.join(", "))
}

pub(super) const NOT_NULL: RefusalCode = RefusalCode::ConstraintNotNull;
pub(super) const PATTERN: RefusalCode = RefusalCode::ConstraintPattern;
const SIZE: RefusalCode = RefusalCode::ConstraintSize;
const DECIMAL_MIN: RefusalCode = RefusalCode::ConstraintDecimalMin;
const DECIMAL_MAX: RefusalCode = RefusalCode::ConstraintDecimalMax;

/// A refusal in the form of FOLIO's storage modules.
pub(super) fn refusal(
    words: impl Into<String>,
    rule: RefusalCode,
    path: impl Into<String>,
    value: impl Into<String>,
) -> Refusal {
    Refusal::new(words).with(path, value).kind("1").code(rule)
}

impl Span {
    /// No upper end.
    pub const UNBOUNDED: usize = i32::MAX as usize;

    fn holds(self, count: usize) -> bool {
        (self.least..=self.most).contains(&count)
    }

    fn says(self) -> String {
        format!("size must be between {} and {}", self.least, self.most)
    }
}

impl Pattern {
    /// The pattern with this name in the notation.
    pub(super) fn named(name: &str) -> Option<Pattern> {
        Some(match name {
            "not-blank" => Pattern::NotBlank,
            "visible-line" => Pattern::VisibleLine,
            "visible-text" => Pattern::VisibleText,
            "number-prefix" => Pattern::NumberPrefix,
            _ => return None,
        })
    }

    /// FOLIO's regular expression.
    pub fn expression(self) -> &'static str {
        match self {
            Pattern::NotBlank => r"^(?!\s*$).+",
            Pattern::VisibleLine => r"\S+.*",
            Pattern::VisibleText => r"(?s)\S+.*",
            Pattern::NumberPrefix => "^[0-9a-zA-Z.-]{0,10}$",
        }
    }

    /// The same regular expression in JavaScript's syntax, for JSON schemas.
    pub fn schema_expression(self) -> &'static str {
        match self {
            Pattern::NotBlank | Pattern::NumberPrefix => self.expression(),
            Pattern::VisibleLine => r"^\S+.*$",
            Pattern::VisibleText => r"^\S[\s\S]*$",
        }
    }

    fn fits(self, text: &str) -> bool {
        // Java's blanks are those of ASCII.
        let blank = |letter: char| matches!(letter, ' ' | '\t'..='\r');
        let one_line = || !text.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        let visible = || text.chars().next().is_some_and(|first| !blank(first));
        match self {
            Pattern::NotBlank => one_line() && !text.chars().all(blank),
            Pattern::VisibleLine => visible() && one_line_after_the_first_word(text, blank),
            Pattern::VisibleText => visible(),
            Pattern::NumberPrefix => {
                text.len() <= 10
                    && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
            }
        }
    }
}

/// In the expression the dot excludes line ends; the visible characters before it do not.
fn one_line_after_the_first_word(text: &str, blank: impl Fn(char) -> bool) -> bool {
    let rest = text.find(blank).map_or("", |end| &text[end..]);
    !rest.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Number, json};

    #[test]
    fn numbers_are_bounded_at_both_ends() {
        let bounds = Bounds { least: Some(1), most: Some(100), ..Bounds::default() };
        let out_of_bounds =
            |number: i64| bounds.of_number(&Number::from(number), "a").map(|refusal| refusal.message);
        assert_eq!([out_of_bounds(1), out_of_bounds(100)], [None, None]);
        assert_eq!(out_of_bounds(0).as_deref(), Some("must be greater than or equal to 1"));
        assert_eq!(out_of_bounds(101).as_deref(), Some("must be less than or equal to 100"));
    }

    #[test]
    fn a_text_is_measured_as_java_measures_it() {
        let bounds = Bounds { length: Some(Span { least: 0, most: 4 }), ..Bounds::default() };
        assert!(bounds.of_text("äöüß", "a").is_none() && bounds.of_text("😀😀", "a").is_none());
        let refusal = bounds.of_text("😀😀a", "a").expect("five units");
        assert_eq!(
            refusal.to_json(),
            json!({"message": "size must be between 0 and 4", "type": "1",
            "code": "jakarta.validation.constraints.Size.message",
            "parameters": [{"key": "a", "value": "😀😀a"}]})
        );
    }

    #[test]
    fn patterns_take_what_their_expressions_take() {
        for (pattern, good, bad) in [
            (Pattern::NotBlank, ["a", " a "], [" ", "a\nb"]),
            (Pattern::VisibleLine, ["a", "a b"], [" a", "a b\nc"]),
            (Pattern::VisibleText, ["a", "a\nb"], ["", "\na"]),
            (Pattern::NumberPrefix, ["", "Ab.9-"], ["a_b", "12345678901"]),
        ] {
            assert!(good.iter().all(|text| pattern.fits(text)), "{pattern:?}");
            assert!(!bad.iter().any(|text| pattern.fits(text)), "{pattern:?}");
        }
    }
}
