//! Splits a rules text into tokens, and turns changes of indentation into tokens.
//!
//! Hidden tokens (spaces, comments, empty lines) stay in the list, because FOLIO quotes them in its messages. Lines end
//! at `
//! `, `\r
//! ` or `\r`, but only `
//! ` counts for line numbers.

use std::borrow::Cow;

/// The kind of a token, in the order in which FOLIO lists expected tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    End,
    Priority,
    Colon,
    FirstLine,
    LastLine,
    Comma,
    Criterium,
    OpenParenthesis,
    CloseParenthesis,
    NumberOfCriteria,
    Plus,
    Bang,
    All,
    FallbackPolicy,
    CriteriumLetter,
    PolicyLetter,
    Name,
    NewLine,
    Indent,
    Dedent,
    /// Spaces, comments and empty lines.
    Hidden,
    /// A tabulator, the last token: it is reported when the parser reaches it.
    Tabulator,
}

impl Kind {
    /// The kinds that a message can list as expected.
    const NAMED: [(Kind, &str); 20] = [
        (Kind::End, "<EOF>"),
        (Kind::Priority, "'priority'"),
        (Kind::Colon, "':'"),
        (Kind::FirstLine, "'first-line'"),
        (Kind::LastLine, "'last-line'"),
        (Kind::Comma, "','"),
        (Kind::Criterium, "'criterium'"),
        (Kind::OpenParenthesis, "'('"),
        (Kind::CloseParenthesis, "')'"),
        (Kind::NumberOfCriteria, "'number-of-criteria'"),
        (Kind::Plus, "'+'"),
        (Kind::Bang, "'!'"),
        (Kind::All, "'all'"),
        (Kind::FallbackPolicy, "'fallback-policy'"),
        (Kind::CriteriumLetter, "CRITERIUM_LETTER"),
        (Kind::PolicyLetter, "POLICY_TYPE"),
        (Kind::Name, "NAME"),
        (Kind::NewLine, "NEWLINE"),
        (Kind::Indent, "INDENT"),
        (Kind::Dedent, "DEDENT"),
    ];

    fn of_word(word: &str) -> Kind {
        match word {
            "priority" => Kind::Priority,
            "first-line" => Kind::FirstLine,
            "last-line" => Kind::LastLine,
            "criterium" => Kind::Criterium,
            "number-of-criteria" => Kind::NumberOfCriteria,
            "all" => Kind::All,
            "fallback-policy" => Kind::FallbackPolicy,
            "t" | "a" | "b" | "c" | "s" | "m" | "g" => Kind::CriteriumLetter,
            "l" | "r" | "n" | "o" | "i" => Kind::PolicyLetter,
            _ => Kind::Name,
        }
    }
}

/// A set of expected kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u32);

impl Kinds {
    pub(crate) const fn of(kinds: &[Kind]) -> Kinds {
        let mut bits = 0;
        let mut i = 0;
        while i < kinds.len() {
            bits |= 1 << kinds[i] as u32;
            i += 1;
        }
        Kinds(bits)
    }

    pub(crate) fn contains(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u32) != 0
    }

    /// The set as FOLIO writes it: `NAME`, or `{':', NEWLINE}`.
    pub(crate) fn describe(self) -> String {
        let names: Vec<&str> =
            Kind::NAMED.iter().filter(|(kind, _)| self.contains(*kind)).map(|(_, name)| *name).collect();
        match names.as_slice() {
            [name] => (*name).to_owned(),
            names => format!("{{{}}}", names.join(", ")),
        }
    }
}

/// A piece of the text, or a change of indentation between two lines.
#[derive(Debug, Clone)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: Cow<'a, str>,
    /// Counted from 1.
    pub(crate) line: usize,
    /// Counted from 0, in Unicode characters.
    pub(crate) column: usize,
    /// For a change of indentation the new one, otherwise 0.
    pub(crate) indentation: usize,
}

/// Splits the text up to its end or its first tabulator; the kind of the last token tells which.
pub(crate) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokenizer = Tokenizer {
        rest: text,
        line: 1,
        column: 0,
        tokens: Vec::new(),
        at_line_start: true,
        indentation: 0,
        line_start: None,
        open_indentations: Vec::new(),
    };
    while !tokenizer.rest.is_empty() {
        tokenizer.take_token();
        if tokenizer.tokens.last().is_some_and(|token| token.kind == Kind::Tabulator) {
            return tokenizer.tokens;
        }
    }
    tokenizer.finish();
    tokenizer.tokens
}

struct Tokenizer<'a> {
    rest: &'a str,
    line: usize,
    column: usize,
    tokens: Vec<Token<'a>>,
    /// No visible token so far in this line.
    at_line_start: bool,
    /// The spaces so far at the start of this line.
    indentation: usize,
    /// Position of this line's first token, spaces and comments included.
    line_start: Option<(usize, usize)>,
    open_indentations: Vec<usize>,
}

impl<'a> Tokenizer<'a> {
    fn take_token(&mut self) {
        let Some(first) = self.rest.chars().next() else { return };
        match first {
            '\t' => {
                self.take(1, Kind::Tabulator);
            }
            '\n' | '\r' => {
                let kind = if self.at_line_start { Kind::Hidden } else { Kind::NewLine };
                self.take(if self.rest.starts_with("\r\n") { 2 } else { 1 }, kind);
                self.at_line_start = true;
                self.indentation = 0;
                self.line_start = None;
            }
            ' ' => {
                let spaces = self.span(|c| c == ' ');
                self.note_line_start();
                if self.at_line_start {
                    self.indentation += spaces;
                }
                self.take(spaces, Kind::Hidden);
            }
            '#' | '/' => {
                self.note_line_start();
                self.take(self.span(|c| c != '\n' && c != '\r'), Kind::Hidden);
            }
            ':' => self.take_visible(1, Kind::Colon),
            ',' => self.take_visible(1, Kind::Comma),
            '(' => self.take_visible(1, Kind::OpenParenthesis),
            ')' => self.take_visible(1, Kind::CloseParenthesis),
            '+' => self.take_visible(1, Kind::Plus),
            '!' => self.take_visible(1, Kind::Bang),
            c if is_name_character(c) => {
                let length = self.span(is_name_character);
                self.take_visible(length, Kind::of_word(&self.rest[..length]));
            }
            // FOLIO quirk: a meaningless character is silently skipped; it still separates names.
            c => {
                self.rest = &self.rest[c.len_utf8()..];
                self.column += 1;
            }
        }
    }

    /// Ends the last line and every open indentation.
    fn finish(&mut self) {
        if !self.at_line_start {
            self.push(Kind::NewLine, Cow::Borrowed("NEWLINE"), (self.line, self.column), 0);
            self.line_start = Some((self.line, self.column));
        }
        self.note_line_start();
        self.indentation = 0;
        self.change_indentation();
        self.push(Kind::End, Cow::Borrowed("<EOF>"), (self.line, self.column), 0);
    }

    fn take_visible(&mut self, length: usize, kind: Kind) {
        self.note_line_start();
        if self.at_line_start {
            self.change_indentation();
            self.at_line_start = false;
        }
        self.take(length, kind);
    }

    fn change_indentation(&mut self) {
        let start = self.line_start.unwrap_or((self.line, self.column));
        loop {
            let open = self.open_indentations.last().copied().unwrap_or(0);
            if self.indentation > open {
                let new = self.indentation;
                self.open_indentations.push(new);
                self.push(Kind::Indent, Cow::Owned(format!("INDENT{new}")), start, new);
            } else if self.indentation < open {
                self.open_indentations.pop();
                let new = self.open_indentations.last().copied().unwrap_or(0);
                self.push(Kind::Dedent, Cow::Owned(format!("DEDENT{new}")), start, new);
            } else {
                return;
            }
        }
    }

    fn note_line_start(&mut self) {
        if self.at_line_start && self.line_start.is_none() {
            self.line_start = Some((self.line, self.column));
        }
    }

    /// The length in bytes of the longest prefix of the rest whose characters match.
    fn span(&self, fits: impl Fn(char) -> bool) -> usize {
        self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len())
    }

    fn take(&mut self, length: usize, kind: Kind) {
        let (text, rest) = self.rest.split_at(length);
        self.push(kind, Cow::Borrowed(text), (self.line, self.column), 0);
        self.rest = rest;
        if text.ends_with('\n') {
            self.line += 1;
            self.column = 0;
        } else {
            self.column += text.chars().count();
        }
    }

    fn push(&mut self, kind: Kind, text: Cow<'a, str>, (line, column): (usize, usize), indentation: usize) {
        self.tokens.push(Token { kind, text, line, column, indentation });
    }
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(text: &str) -> Vec<String> {
        tokenize(text)
            .into_iter()
            .filter(|token| token.kind != Kind::Hidden)
            .map(|token| token.text.escape_default().to_string())
            .collect()
    }

    #[test]
    fn deeper_lines_are_bracketed_by_indentation_tokens() {
        assert_eq!(
            visible("m x\n  g y\nt z"),
            ["m", "x", "\\n", "INDENT2", "g", "y", "\\n", "DEDENT0", "t", "z", "NEWLINE", "<EOF>"]
        );
    }

    #[test]
    fn the_end_of_the_text_closes_every_indentation() {
        assert_eq!(visible("m\n t\n  g").split_off(6), ["g", "NEWLINE", "DEDENT1", "DEDENT0", "<EOF>"]);
    }

    #[test]
    fn a_half_closed_indentation_opens_another_one() {
        assert_eq!(
            visible("m\n    t\n  g").split_off(5),
            ["DEDENT0", "INDENT2", "g", "NEWLINE", "DEDENT0", "<EOF>"]
        );
    }

    #[test]
    fn comments_and_empty_lines_change_no_indentation() {
        assert_eq!(visible("m\n    # c\n  \n/ d\nt"), ["m", "\\n", "t", "NEWLINE", "<EOF>"]);
    }

    #[test]
    fn a_meaningless_character_vanishes_but_separates_names() {
        assert_eq!(visible("x%y"), ["x", "y", "NEWLINE", "<EOF>"]);
    }

    #[test]
    fn reading_stops_at_a_tabulator_outside_a_comment() {
        assert_eq!(visible("m # \t\nx\ty"), ["m", "\\n", "x", "\\t"]);
    }

    #[test]
    fn columns_count_characters() {
        let tokens = tokenize("äö x");
        assert_eq!(tokens.iter().find(|token| token.kind == Kind::Name).map(|token| token.column), Some(3));
    }
}
