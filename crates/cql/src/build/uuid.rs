//! UUIDs in separate columns: the key and the references. Whole values, right truncation, and order.

use super::clause::{refusal, sql_sign, unsupported};
use super::target::Target;
use super::{Argument, Builder, Condition};
use crate::tree::{Clause, Verb};
use crate::{BadQuery, Term};
use ::uuid::Uuid;
use carrel_records::Index;

impl Builder<'_> {
    pub(super) fn uuid(
        &mut self,
        target: &Target,
        clause: &Clause,
        terms: &[&Term],
    ) -> Result<Condition, BadQuery> {
        if let Some(modifier) = clause.relation.modifiers.first() {
            return Err(unsupported(clause, modifier));
        }
        match clause.relation.verb {
            Verb::Words | Verb::Equal => self.uuid_equal(target, clause, terms),
            Verb::NotEqual => {
                let different: Result<Vec<_>, _> =
                    terms.iter().map(|term| self.uuid_different(target, clause, term)).collect();
                Ok(super::chain::any(different?))
            }
            Verb::Less | Verb::LessOrEqual | Verb::Greater | Verb::GreaterOrEqual => {
                let mut conditions = Vec::new();
                for term in terms {
                    let Some(id) = whole(term) else {
                        let verb = clause.relation.verb.sign();
                        return Err(refusal(clause, format!("Invalid UUID after {verb}")));
                    };
                    let argument = self.arguments.bind(Argument::Uuid(id));
                    let sign = sql_sign(clause.relation.verb);
                    let indexed = self.served(target, clause.relation.verb.sign(), Index::Value);
                    let value = target.expression.value();
                    conditions.push(Condition::new(format!("{value} {sign} {argument}"), indexed));
                }
                Ok(super::chain::any(conditions))
            }
            Verb::All | Verb::Any | Verb::Adjacent => Err(refusal(
                clause,
                "a UUID can be compared by = == <> < <= > >= only, right truncation allowed",
            )),
        }
    }

    fn uuid_equal(
        &mut self,
        target: &Target,
        clause: &Clause,
        terms: &[&Term],
    ) -> Result<Condition, BadQuery> {
        let value = target.expression.value();
        let mut ids = Vec::new();
        let mut alternatives = Vec::new();
        for term in terms {
            if term.is_anything() || (term.is_empty() && clause.relation.verb == Verb::Words) {
                alternatives.push(self.uuid_present(target));
            } else if let Some(text) = term.plain() {
                // A text that is no UUID is not the id of any record: it finds nothing, and is not refused.
                ids.extend(parsed(text));
            } else if let Some((from, to)) = range(clause, term)? {
                let from = self.arguments.bind(Argument::Uuid(from));
                let to = self.arguments.bind(Argument::Uuid(to));
                let indexed = self.served(target, clause.relation.verb.sign(), Index::Value);
                alternatives.push(Condition::new(format!("{value} BETWEEN {from} AND {to}"), indexed));
            }
        }
        if !ids.is_empty() {
            let indexed = self.served(target, clause.relation.verb.sign(), Index::Value);
            let sql = match ids.as_slice() {
                [id] => format!("{value} = {}", self.arguments.bind(Argument::Uuid(*id))),
                _ => format!("{value} = ANY({})", self.arguments.bind(Argument::UuidArray(ids))),
            };
            alternatives.push(Condition::new(sql, indexed));
        }
        Ok(super::chain::any(alternatives))
    }

    fn uuid_different(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
    ) -> Result<Condition, BadQuery> {
        if term.is_anything() {
            return Ok(Condition::never());
        }
        let value = target.expression.value();
        if let Some(text) = term.plain() {
            return Ok(match parsed(text) {
                Some(id) => {
                    let argument = self.arguments.bind(Argument::Uuid(id));
                    Condition::new(format!("{value} <> {argument}"), false)
                }
                None => self.uuid_present(target),
            });
        }
        Ok(match range(clause, term)? {
            Some((from, to)) => {
                let from = self.arguments.bind(Argument::Uuid(from));
                let to = self.arguments.bind(Argument::Uuid(to));
                Condition::new(format!("{value} NOT BETWEEN {from} AND {to}"), false)
            }
            None => self.uuid_present(target),
        })
    }

    fn uuid_present(&self, target: &Target) -> Condition {
        if target.is_id {
            return Condition::always();
        }
        Condition::new(format!("{} IS NOT NULL", target.expression.value()), false)
    }
}

fn whole(term: &Term) -> Option<Uuid> {
    term.plain().and_then(parsed)
}

/// Only the spelling with hyphens is accepted.
fn parsed(text: &str) -> Option<Uuid> {
    if text.len() != 36 { None } else { Uuid::parse_str(text).ok() }
}

/// The least and the greatest UUID that begin with the truncated term; `None` if no UUID does.
fn range(clause: &Clause, term: &Term) -> Result<Option<(Uuid, Uuid)>, BadQuery> {
    let Some(start) = term.truncated() else {
        return Err(refusal(clause, "only right truncation supported for id"));
    };
    let filled = |pattern: &str| {
        let rest = pattern.get(start.len()..)?;
        parsed(&format!("{start}{rest}"))
    };
    Ok(filled("00000000-0000-0000-0000-000000000000").zip(filled("ffffffff-ffff-ffff-ffff-ffffffffffff")))
}
