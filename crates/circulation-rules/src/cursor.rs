//! Steps through the visible tokens, and words syntax errors like FOLIO.
//!
//! FOLIO's parser is generated from a grammar, and its messages show which of the generator's recoveries comes first:
//! an extraneous token, a missing token, or a plain mismatch. Since parsing ends with the first message, only its text
//! is reproduced here, not the recovery.

use crate::SyntaxError;
use crate::statement::Position;
use crate::token::{Kind, Kinds, Token};

pub(crate) struct Cursor<'t, 'a> {
    tokens: &'t [Token<'a>],
    current: usize,
    /// The tokens that the last optional part would have accepted, if it was skipped.
    ///
    /// FOLIO quirk: a later plain mismatch reports this set, even some tokens further on.
    left_open: Option<Kinds>,
}

impl<'t, 'a> Cursor<'t, 'a> {
    pub(crate) fn new(tokens: &'t [Token<'a>]) -> Result<Self, SyntaxError> {
        let current = visible_from(tokens, 0)?;
        Ok(Self { tokens, current, left_open: None })
    }

    pub(crate) fn token(&self) -> &'t Token<'a> {
        &self.tokens[self.current]
    }

    pub(crate) fn kind(&self) -> Kind {
        self.token().kind
    }

    /// The text of the current token; only for tokens with a text.
    pub(crate) fn text(&self) -> &'a str {
        match &self.token().text {
            std::borrow::Cow::Borrowed(text) => text,
            std::borrow::Cow::Owned(_) => "",
        }
    }

    pub(crate) fn position(&self) -> Position {
        Position { line: self.token().line, column: self.token().column }
    }

    pub(crate) fn advance(&mut self) -> Result<(), SyntaxError> {
        self.current = self.next(self.current)?;
        Ok(())
    }

    pub(crate) fn is_at(&self, kind: Kind) -> bool {
        self.kind() == kind
    }

    /// Looks ahead without moving.
    pub(crate) fn preview(&self) -> Preview<'_, 't, 'a> {
        Preview { cursor: self, at: self.current }
    }

    fn next(&self, index: usize) -> Result<usize, SyntaxError> {
        if self.tokens[index].kind == Kind::End { Ok(index) } else { visible_from(self.tokens, index + 1) }
    }

    fn following_kind(&self) -> Result<Kind, SyntaxError> {
        Ok(self.tokens[self.next(self.current)?].kind)
    }

    /// Consumes a required token; `then` contains the tokens that may follow.
    pub(crate) fn expect(&mut self, kind: Kind, then: Kinds) -> Result<(), SyntaxError> {
        self.expect_any(Kinds::of(&[kind]), then)
    }

    pub(crate) fn expect_any(&mut self, kinds: Kinds, then: Kinds) -> Result<(), SyntaxError> {
        if kinds.contains(self.kind()) {
            return self.advance();
        }
        if kinds.contains(self.following_kind()?) {
            return Err(self.extraneous(kinds));
        }
        if then.contains(self.kind()) {
            return Err(self.error(format!("missing {} at {}", kinds.describe(), self.quoted())));
        }
        Err(self.mismatched(self.left_open.unwrap_or(kinds)))
    }

    /// Before a part that must begin with one of `kinds`.
    pub(crate) fn enter(&mut self, kinds: Kinds) -> Result<(), SyntaxError> {
        if kinds.contains(self.kind()) {
            self.left_open = None;
            return Ok(());
        }
        Err(if kinds.contains(self.following_kind()?) {
            self.extraneous(kinds)
        } else {
            self.mismatched(kinds)
        })
    }

    /// Between two iterations of a repetition that must continue with one of `kinds`.
    pub(crate) fn repeat(&mut self, kinds: Kinds) -> Result<(), SyntaxError> {
        if kinds.contains(self.kind()) {
            self.left_open = None;
            return Ok(());
        }
        Err(self.extraneous(kinds))
    }

    /// Before an optional part: it begins with one of `part`, or `then` follows.
    pub(crate) fn option(&mut self, part: Kinds, whole: Kinds) {
        if part.contains(self.kind()) {
            self.left_open = None;
        } else if self.left_open.is_none() {
            self.left_open = Some(whole);
        }
    }

    /// A message about the current token.
    pub(crate) fn error(&self, message: impl Into<String>) -> SyntaxError {
        error_at(self.token(), message)
    }

    /// No alternative matches the tokens from the current one on.
    pub(crate) fn no_alternative(&self) -> SyntaxError {
        self.preview().no_alternative()
    }

    fn extraneous(&self, expected: Kinds) -> SyntaxError {
        self.error(format!("extraneous input {} expecting {}", self.quoted(), expected.describe()))
    }

    fn mismatched(&self, expected: Kinds) -> SyntaxError {
        self.error(format!("mismatched input {} expecting {}", self.quoted(), expected.describe()))
    }

    fn quoted(&self) -> String {
        quote(&self.token().text)
    }
}

/// A look-ahead that chooses between alternatives.
pub(crate) struct Preview<'c, 't, 'a> {
    cursor: &'c Cursor<'t, 'a>,
    at: usize,
}

impl Preview<'_, '_, '_> {
    pub(crate) fn kind(&self) -> Kind {
        self.cursor.tokens[self.at].kind
    }

    pub(crate) fn advance(&mut self) -> Result<(), SyntaxError> {
        self.at = self.cursor.next(self.at)?;
        Ok(())
    }

    /// Consumes a token that every alternative requires.
    pub(crate) fn require(&mut self, kind: Kind) -> Result<(), SyntaxError> {
        if self.kind() != kind {
            return Err(self.no_alternative());
        }
        self.advance()
    }

    /// Quotes the text from the start of the look-ahead, spaces and comments included.
    pub(crate) fn no_alternative(&self) -> SyntaxError {
        let start = self.cursor.current;
        let read = &self.cursor.tokens[start..=self.at];
        let input: String = if self.cursor.kind() == Kind::End {
            "<EOF>".to_owned()
        } else {
            read.iter().filter(|token| token.kind != Kind::End).map(|token| token.text.as_ref()).collect()
        };
        let message = format!("no viable alternative at input {}", quote(&input));
        error_at(&self.cursor.tokens[self.at], message)
    }
}

fn visible_from(tokens: &[Token<'_>], index: usize) -> Result<usize, SyntaxError> {
    let found = (index..tokens.len()).find(|i| tokens[*i].kind != Kind::Hidden);
    let index = found.expect("the last token is the end or a tabulator");
    let token = &tokens[index];
    if token.kind == Kind::Tabulator {
        let message = "Tabulator character is not allowed, use spaces instead.";
        // FOLIO quirk: the column is the one after the tabulator.
        return Err(SyntaxError::new(message, token.line, token.column + 2));
    }
    Ok(index)
}

fn error_at(token: &Token<'_>, message: impl Into<String>) -> SyntaxError {
    SyntaxError::new(message, token.line, token.column + 1)
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"))
}
