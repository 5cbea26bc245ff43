//! Parses a rules text, or returns its first syntax error.

use crate::SyntaxError;
use crate::cursor::{Cursor, Preview};
use crate::matching::Field;
use crate::policy::PolicyKind;
use crate::statement::{
    Criterium, Fallback, Header, Letters, Policies, Regulation, Selection, Statement, Text,
};
use crate::token::{Kind, Kinds, tokenize};
use crate::weight::LineOrder;

const LINE_ORDER: Kinds = Kinds::of(&[Kind::FirstLine, Kind::LastLine]);
const FALLBACK: Kinds = Kinds::of(&[Kind::FallbackPolicy, Kind::NewLine]);
const STATEMENT: Kinds = Kinds::of(&[Kind::CriteriumLetter]);
const STATEMENT_OR_DEDENT: Kinds = Kinds::of(&[Kind::CriteriumLetter, Kind::Dedent]);
const STATEMENT_OR_FALLBACK: Kinds = Kinds::of(&[Kind::CriteriumLetter, Kind::FallbackPolicy, Kind::NewLine]);
const STATEMENT_OR_END: Kinds = Kinds::of(&[Kind::CriteriumLetter, Kind::End, Kind::NewLine]);

/// Reads the whole text.
pub(crate) fn parse(text: &str) -> Result<Text<'_>, SyntaxError> {
    let tokens = tokenize(text);
    let mut parser = Parser { cursor: Cursor::new(&tokens)?, indentation: 0 };
    parser.text()
}

struct Parser<'t, 'a> {
    cursor: Cursor<'t, 'a>,
    indentation: usize,
}

impl<'a> Parser<'_, 'a> {
    fn text(&mut self) -> Result<Text<'a>, SyntaxError> {
        self.cursor.enter(Kinds::of(&[Kind::Priority, Kind::NewLine]))?;
        let mut preview = self.cursor.preview();
        preview.require(Kind::Priority)?;
        preview.require(Kind::Colon)?;
        let header = preview.kind();
        match header {
            Kind::FirstLine
            | Kind::LastLine
            | Kind::Criterium
            | Kind::NumberOfCriteria
            | Kind::CriteriumLetter => {}
            _ => return Err(preview.no_alternative()),
        }
        self.cursor.advance()?;
        self.cursor.advance()?;
        if header == Kind::FirstLine { self.fallback_last() } else { self.fallback_first() }
    }

    /// `priority: first-line`, the rules, and the fallback policies last of all.
    fn fallback_last(&mut self) -> Result<Text<'a>, SyntaxError> {
        self.cursor.advance()?;
        self.cursor.enter(STATEMENT_OR_FALLBACK)?;
        if self.cursor.is_at(Kind::NewLine) {
            let mut preview = self.cursor.preview();
            preview.advance()?;
            if !STATEMENT_OR_FALLBACK.contains(preview.kind()) {
                return Err(preview.no_alternative());
            }
            self.cursor.advance()?;
        }
        let statements = self.statements(STATEMENT_OR_FALLBACK)?;
        let fallback = self.fallback(STATEMENT_OR_END)?;
        match self.cursor.kind() {
            Kind::End => {}
            Kind::CriteriumLetter => {
                let message = "For 'priority: first-line' the fallback-policy must be after the last rule.";
                return Err(self.cursor.error(message));
            }
            _ => return Err(self.cursor.no_alternative()),
        }
        let statements_before_fallback = statements.len();
        let header = Header::Regulations(Vec::new(), LineOrder::FirstLine);
        Ok(Text { header, statements, fallback, statements_before_fallback })
    }

    /// Any other header, the fallback policies, and then the rules.
    fn fallback_first(&mut self) -> Result<Text<'a>, SyntaxError> {
        let header = self.header()?;
        self.cursor.enter(FALLBACK)?;
        if self.cursor.is_at(Kind::NewLine) {
            self.cursor.advance()?;
            self.cursor.repeat(FALLBACK)?;
        }
        let fallback = self.fallback(STATEMENT_OR_END)?;
        self.cursor.enter(STATEMENT_OR_END)?;
        let statements = self.statements(STATEMENT_OR_END)?;
        Ok(Text { header, statements, fallback, statements_before_fallback: 0 })
    }

    fn header(&mut self) -> Result<Header<'a>, SyntaxError> {
        match self.cursor.kind() {
            Kind::LastLine => {
                self.cursor.advance()?;
                return Ok(Header::Regulations(Vec::new(), LineOrder::LastLine));
            }
            Kind::CriteriumLetter => {
                return Ok(Header::Letters(self.letters(Kind::NewLine, Kind::FallbackPolicy)?));
            }
            _ => {}
        }
        let two = self.preview_second_regulation()?;
        let mut regulations = vec![self.regulation()?];
        self.cursor.expect(Kind::Comma, LINE_ORDER)?;
        if two {
            regulations.push(self.regulation()?);
            self.cursor.expect(Kind::Comma, LINE_ORDER)?;
        }
        let order =
            if self.cursor.is_at(Kind::FirstLine) { LineOrder::FirstLine } else { LineOrder::LastLine };
        self.cursor.expect_any(LINE_ORDER, FALLBACK)?;
        Ok(Header::Regulations(regulations, order))
    }

    /// Whether a second regulation follows the first one, and not the order of lines.
    fn preview_second_regulation(&self) -> Result<bool, SyntaxError> {
        let mut preview = self.cursor.preview();
        if preview.kind() == Kind::NumberOfCriteria {
            preview.advance()?;
        } else {
            preview.require(Kind::Criterium)?;
            preview.require(Kind::OpenParenthesis)?;
            preview.require(Kind::CriteriumLetter)?;
            while preview.kind() != Kind::CloseParenthesis {
                if preview.kind() == Kind::Comma {
                    preview.advance()?;
                }
                preview.require(Kind::CriteriumLetter)?;
            }
            preview.advance()?;
        }
        preview.require(Kind::Comma)?;
        match preview.kind() {
            Kind::FirstLine | Kind::LastLine => Ok(false),
            Kind::Criterium | Kind::NumberOfCriteria => Ok(true),
            _ => Err(preview.no_alternative()),
        }
    }

    fn regulation(&mut self) -> Result<Regulation<'a>, SyntaxError> {
        self.cursor.enter(Kinds::of(&[Kind::Criterium, Kind::NumberOfCriteria]))?;
        let position = self.cursor.position();
        let named = self.cursor.is_at(Kind::Criterium);
        self.cursor.advance()?;
        if !named {
            return Ok(Regulation { position, letters: None });
        }
        self.cursor.expect(Kind::OpenParenthesis, STATEMENT)?;
        let letters = self.letters(Kind::CloseParenthesis, Kind::CloseParenthesis)?;
        self.cursor.expect(Kind::CloseParenthesis, Kinds::of(&[Kind::Comma]))?;
        Ok(Regulation { position, letters: Some(letters) })
    }

    /// Letters, with or without commas, up to one of two tokens.
    fn letters(&mut self, end: Kind, other_end: Kind) -> Result<Letters<'a>, SyntaxError> {
        let more = Kinds::of(&[Kind::Comma, Kind::CriteriumLetter]);
        let then = Kinds::of(&[Kind::Comma, Kind::CriteriumLetter, end, other_end]);
        let mut letters = Vec::new();
        loop {
            letters.push((self.cursor.text(), self.cursor.position()));
            self.cursor.expect(Kind::CriteriumLetter, then)?;
            self.cursor.option(more, then);
            if !more.contains(self.cursor.kind()) {
                return Ok(letters);
            }
            if self.cursor.is_at(Kind::Comma) {
                self.cursor.advance()?;
            }
        }
    }

    fn fallback(&mut self, then: Kinds) -> Result<Fallback<'a>, SyntaxError> {
        let position = self.cursor.position();
        self.cursor.expect(Kind::FallbackPolicy, Kinds::of(&[Kind::Colon, Kind::NewLine]))?;
        self.cursor.enter(Kinds::of(&[Kind::Colon, Kind::NewLine]))?;
        if self.cursor.is_at(Kind::NewLine) {
            self.cursor.advance()?;
            return Err(self.cursor.error("Policy missing"));
        }
        let policies = self.policies()?;
        self.cursor.expect(Kind::NewLine, then)?;
        Ok(Fallback { position, policies })
    }

    /// All statements, nested ones included, up to another construct; `around` contains the tokens that may come
    /// between or after statements without indentation.
    fn statements(&mut self, around: Kinds) -> Result<Vec<Statement<'a>>, SyntaxError> {
        let mut statements = Vec::new();
        // A counter instead of recursion, so that deep indentation cannot exhaust the stack.
        let mut depth = 0_usize;
        while self.cursor.is_at(Kind::CriteriumLetter) {
            let statement = self.statement()?;
            let has_children = statement.has_children;
            statements.push(statement);
            if has_children {
                depth += 1;
                self.change_indentation()?;
                self.cursor.enter(STATEMENT)?;
                continue;
            }
            while depth > 0 {
                self.cursor.repeat(STATEMENT_OR_DEDENT)?;
                if !self.cursor.is_at(Kind::Dedent) {
                    break;
                }
                depth -= 1;
                self.change_indentation()?;
            }
            if depth == 0 {
                self.cursor.repeat(around)?;
            }
        }
        Ok(statements)
    }

    fn change_indentation(&mut self) -> Result<(), SyntaxError> {
        self.indentation = self.cursor.token().indentation;
        self.cursor.advance()
    }

    fn statement(&mut self) -> Result<Statement<'a>, SyntaxError> {
        let has_children = preview_statement(self.cursor.preview())?;
        let position = self.cursor.position();
        let mut criteria = vec![self.criterium()?];
        while self.cursor.is_at(Kind::Plus) {
            self.cursor.advance()?;
            criteria.push(self.criterium()?);
        }
        let policies = if self.cursor.is_at(Kind::Colon) { Some(self.policies()?) } else { None };
        self.cursor.advance()?;
        Ok(Statement { position, indentation: self.indentation, criteria, policies, has_children })
    }

    fn criterium(&mut self) -> Result<Criterium<'a>, SyntaxError> {
        let field = Field::from_letter(self.cursor.text()).expect("the tokenizer knows the same letters");
        self.cursor.advance()?;
        let selection = self.selection()?;
        Ok(Criterium { field, selection })
    }

    fn selection(&mut self) -> Result<Selection<'a>, SyntaxError> {
        let negated = match self.cursor.kind() {
            Kind::All => {
                self.cursor.advance()?;
                return Ok(Selection::All);
            }
            Kind::Bang => true,
            Kind::Name => false,
            _ => return Err(self.cursor.error("Name missing.")),
        };
        let mut names = Vec::new();
        loop {
            match self.cursor.kind() {
                Kind::Name => names.push(self.name()?),
                Kind::Bang if negated => {
                    self.cursor.advance()?;
                    names.push(self.name()?);
                    if !self.cursor.is_at(Kind::Name) {
                        continue;
                    }
                    self.cursor.advance()?;
                    return Err(self.unequal_negation());
                }
                Kind::Bang => {
                    self.cursor.advance()?;
                    return Err(self.unequal_negation());
                }
                _ => break,
            }
        }
        Ok(if negated { Selection::NoneOf(names) } else { Selection::AnyOf(names) })
    }

    fn unequal_negation(&self) -> SyntaxError {
        self.cursor.error("A '!' must precede each name or no name.")
    }

    fn name(&mut self) -> Result<&'a str, SyntaxError> {
        let name = self.cursor.text();
        self.cursor.advance()?;
        Ok(name)
    }

    fn policies(&mut self) -> Result<Policies<'a>, SyntaxError> {
        let colon = self.cursor.position();
        self.cursor.advance()?;
        if !self.cursor.is_at(Kind::PolicyLetter) {
            return Err(self.cursor.error("Policy missing after ':'"));
        }
        let mut named = Vec::new();
        while let Some(kind) = self.policy_kind() {
            self.cursor.advance()?;
            self.cursor.option(
                Kinds::of(&[Kind::Name]),
                Kinds::of(&[Kind::Name, Kind::PolicyLetter, Kind::NewLine]),
            );
            match self.cursor.kind() {
                Kind::Name => named.push((kind, self.name()?)),
                Kind::PolicyLetter | Kind::NewLine => return Err(self.cursor.error("Name missing.")),
                _ => return Err(self.cursor.no_alternative()),
            }
            let more = Kinds::of(&[Kind::PolicyLetter]);
            self.cursor.option(more, Kinds::of(&[Kind::PolicyLetter, Kind::NewLine]));
        }
        Ok(Policies { colon, named })
    }

    fn policy_kind(&self) -> Option<PolicyKind> {
        if self.cursor.is_at(Kind::PolicyLetter) { PolicyKind::from_letter(self.cursor.text()) } else { None }
    }
}

/// Looks ahead to the end of the line, to check whether deeper lines follow.
///
/// FOLIO's parser decides about a statement as a whole, so it reports most errors in a line as input without viable
/// alternative, before any more precise message about an earlier part of the line.
fn preview_statement(mut preview: Preview<'_, '_, '_>) -> Result<bool, SyntaxError> {
    loop {
        preview.require(Kind::CriteriumLetter)?;
        preview_selection(&mut preview)?;
        if preview.kind() != Kind::Plus {
            break;
        }
        preview.advance()?;
    }
    if preview.kind() == Kind::Colon {
        preview.advance()?;
        while preview.kind() == Kind::PolicyLetter {
            preview.advance()?;
            if preview.kind() == Kind::Name {
                preview.advance()?;
            }
        }
    }
    preview.require(Kind::NewLine)?;
    Ok(preview.kind() == Kind::Indent)
}

fn preview_selection(preview: &mut Preview<'_, '_, '_>) -> Result<(), SyntaxError> {
    match preview.kind() {
        Kind::All => return preview.advance(),
        Kind::Name => {
            while preview.kind() == Kind::Name {
                preview.advance()?;
            }
            if preview.kind() != Kind::Bang {
                return Ok(());
            }
        }
        Kind::Bang => {
            while preview.kind() == Kind::Bang {
                preview.advance()?;
                preview.require(Kind::Name)?;
            }
        }
        _ => return Ok(()),
    }
    // After the first unequal negation any mixture is accepted; it gets a separate message.
    while matches!(preview.kind(), Kind::Name | Kind::Bang) {
        preview.advance()?;
    }
    Ok(())
}
