//! Text and booleans: words, whole values, wildcards, comparison by folded letters.

use super::chain::any;
use super::clause::sql_sign;
use super::target::Target;
use super::{Argument, Builder, Condition};
use crate::expression::{Folding, INDEXED_LETTERS};
use crate::tree::{Clause, Verb};
use crate::{BadQuery, Term};
use carrel_records::Index;

/// A term of at most this length is shorter than the indexed part of a value, however much unaccenting lengthens it.
const SHORT: usize = 100;

/// Greater than every letter that can follow a prefix.
const LAST_LETTER: char = '\u{10FFFF}';

impl Builder<'_> {
    pub(super) fn text(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
    ) -> Result<Condition, BadQuery> {
        match clause.relation.verb {
            Verb::Words | Verb::Adjacent if target.holds_uuid && is_uuid(term) => {
                self.text_equal(target, clause, term)
            }
            Verb::Words | Verb::Adjacent | Verb::All | Verb::Any => self.words(target, clause, term),
            Verb::Equal | Verb::NotEqual => self.text_equal(target, clause, term),
            Verb::Less | Verb::LessOrEqual | Verb::Greater | Verb::GreaterOrEqual => {
                Ok(self.text_compared(target, clause, term))
            }
        }
    }

    /// Several terms, of which at least one must match.
    pub(super) fn one_of(
        &mut self,
        target: &Target,
        clause: &Clause,
        terms: &[&Term],
    ) -> Result<Condition, BadQuery> {
        let equality = |term: &Term| match clause.relation.verb {
            Verb::Equal => true,
            Verb::Words | Verb::Adjacent => target.holds_uuid && is_uuid(term),
            _ => false,
        };
        let listable = |term: &&&Term| equality(term) && term.plain().is_some_and(is_short);
        let list: Vec<&str> = terms.iter().filter(listable).filter_map(|term| term.plain()).collect();
        let mut alternatives = Vec::new();
        if list.len() > 1 {
            let folding = target.expression.folding;
            let value = target.expression_for(list.iter().copied()).value();
            let folded: Option<Vec<String>> = list.iter().map(|text| folding.of_ascii(text)).collect();
            let list = match folded {
                Some(folded) => self.arguments.bind(Argument::TextArray(folded)),
                None => {
                    let raw = list.into_iter().map(str::to_owned).collect();
                    folding.of(&self.arguments.bind(Argument::TextArray(raw)))
                }
            };
            let indexed = self.served(target, clause.relation.verb.sign(), Index::Value);
            alternatives.push(Condition::new(format!("{value} = ANY({list})"), indexed));
        }
        let all_listed = !alternatives.is_empty();
        for term in terms.iter().filter(|term| !(all_listed && listable(term))) {
            alternatives.push(self.text(target, clause, term)?);
        }
        Ok(any(alternatives))
    }

    /// The whole value, or a pattern of it.
    pub(super) fn text_equal(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
    ) -> Result<Condition, BadQuery> {
        let negated = clause.relation.verb == Verb::NotEqual;
        let sign = clause.relation.verb.sign();
        if term.is_anything() {
            // FOLIO quirk: `<>*` finds nothing, absent values neither.
            return Ok(if negated { Condition::never() } else { self.present(target) });
        }
        let (value, whole) = (target.expression.value(), target.expression.whole());
        let folding = target.expression.folding;
        let Some(plain) = term.plain() else { return Ok(self.masked(target, clause, term)) };
        let argument = self.folded(folding, plain);
        if negated {
            // No index finds values that differ, so none is reported as missing. Absent values are not found.
            let compared = if is_short(plain) { value } else { whole };
            return Ok(Condition::new(format!("{compared} <> {argument}"), false));
        }
        let indexed = self.served(target, sign, Index::Value);
        Ok(if is_short(plain) {
            let value = target.expression_for(std::iter::once(plain)).value();
            Condition::new(format!("{value} = {argument}"), indexed)
        } else {
            let cut = format!("left({argument}, {INDEXED_LETTERS})");
            Condition::new(format!("({value} = {cut} AND {whole} = {argument})"), indexed)
        })
    }

    /// A value with wildcards. The text before the first wildcard narrows the search by the index.
    fn masked(&mut self, target: &Target, clause: &Clause, term: &Term) -> Condition {
        let folding = target.expression.folding;
        let (value, whole) = (target.expression.value(), target.expression.whole());
        if clause.relation.verb == Verb::NotEqual {
            let pattern = self.folded(folding, &term.like_pattern());
            return Condition::new(format!("{whole} NOT LIKE {pattern}"), false);
        }
        let prefix: String = term.prefix().chars().take(SHORT).collect();
        if prefix.is_empty() {
            // Left truncation: no index that can be declared would help.
            self.report(target, clause.relation.verb.sign(), Index::None);
            let pattern = self.folded(folding, &term.like_pattern());
            return Condition::new(format!("{whole} LIKE {pattern}"), false);
        }
        let indexed = self.served(target, clause.relation.verb.sign(), Index::Value);
        let from = self.folded(folding, &prefix);
        let to = self.bind_end_of_prefix(folding, &prefix);
        let range = format!("{value} >= {from} AND {value} < {to}");
        if term.truncated().is_some_and(|text| text.len() == prefix.len()) {
            return Condition::new(format!("({range})"), indexed);
        }
        let pattern = self.folded(folding, &term.like_pattern());
        Condition::new(format!("({range} AND {whole} LIKE {pattern})"), indexed)
    }

    fn text_compared(&mut self, target: &Target, clause: &Clause, term: &Term) -> Condition {
        let verb = clause.relation.verb;
        let sign = sql_sign(verb);
        let (value, whole) = (target.expression.value(), target.expression.whole());
        let text = term.literal();
        let argument = self.folded(target.expression.folding, &text);
        let indexed = self.served(target, verb.sign(), Index::Value);
        if is_short(&text) {
            return Condition::new(format!("{value} {sign} {argument}"), indexed);
        }
        let loose = if matches!(verb, Verb::Less | Verb::LessOrEqual) { "<=" } else { ">=" };
        let cut = format!("left({argument}, {INDEXED_LETTERS})");
        Condition::new(format!("({value} {loose} {cut} AND {whole} {sign} {argument})"), indexed)
    }

    pub(super) fn boolean(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
    ) -> Result<Condition, BadQuery> {
        let verb = clause.relation.verb;
        let worded = matches!(verb, Verb::Words | Verb::Adjacent | Verb::All | Verb::Any);
        match term.plain() {
            _ if worded && term.is_anything() => return Ok(Condition::always()),
            Some("") if worded => return Ok(self.present(target)),
            _ => {}
        }
        let Some(plain) = term.plain() else { return self.text(&target.as_text(), clause, term) };
        let argument = self.arguments.bind(Argument::Text(plain.trim().to_ascii_lowercase()));
        let indexed = match verb {
            Verb::NotEqual => false,
            _ => self.served(target, verb.sign(), Index::Value),
        };
        Ok(Condition::new(format!("{} {} {argument}", target.expression.value(), sql_sign(verb)), indexed))
    }

    /// The bound text, folded: here if it is ASCII, otherwise by the database.
    pub(super) fn folded(&mut self, folding: Folding, text: &str) -> String {
        match folding.of_ascii(text) {
            Some(folded) => self.arguments.bind(Argument::Text(folded)),
            None => folding.of(&self.arguments.bind(Argument::Text(text.to_owned()))),
        }
    }

    /// The end of the range of all texts that begin with the prefix.
    fn bind_end_of_prefix(&mut self, folding: Folding, prefix: &str) -> String {
        match folding.of_ascii(prefix) {
            Some(mut folded) => {
                folded.push(LAST_LETTER);
                self.arguments.bind(Argument::Text(folded))
            }
            None => {
                let mut text = prefix.to_owned();
                text.push(LAST_LETTER);
                folding.of(&self.arguments.bind(Argument::Text(text)))
            }
        }
    }
}

pub(super) fn is_short(text: &str) -> bool {
    text.len() <= SHORT || text.chars().count() <= SHORT
}

fn is_uuid(term: &Term) -> bool {
    term.plain().is_some_and(carrel_records::shape::is_uuid)
}
