//! One clause: its field, its modifiers, and the kind of field that determines the meaning of the relation.

use super::chain::any;
use super::target::Target;
use super::{Builder, Condition, Position};
use crate::parser::SERVER_CHOICE;
use crate::tree::{Clause, Modifier, Verb};
use crate::{BadQuery, Term};
use carrel_records::{Index, Kind};

/// The modifiers that change the meaning of a relation.
#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    /// `/number`: compare by size.
    pub number: bool,
    /// `/@name` and `/@name=value`, for arrays of objects.
    pub narrowed_by: Vec<Modifier>,
}

impl Builder<'_> {
    /// The condition of one clause, or of several alternatives that differ only in their terms.
    pub(super) fn clause(
        &mut self,
        clause: &Clause,
        terms: &[&Term],
        position: Position,
    ) -> Result<Condition, BadQuery> {
        if clause.index.eq_ignore_ascii_case("cql.allRecords") {
            return Ok(Condition::always());
        }
        let choice = clause.index.eq_ignore_ascii_case(SERVER_CHOICE);
        if choice && !self.record.fields.iter().any(|field| field.name == SERVER_CHOICE) {
            return Err(refusal(clause, "a term needs an index before it, such as name==term"));
        }
        if self.arguments.exceed_limit() {
            return Err(refusal(clause, "the query has too many terms"));
        }
        let options = Options::of(clause)?;
        let mark = self.arguments.mark();
        let target = self.target(if choice { SERVER_CHOICE } else { &clause.index });
        let inner = self.comparison(&target, clause, terms, &options)?;
        let inner = self.through_the_original(&target, inner, clause, terms, &options)?;
        if inner.is_settled() {
            self.arguments.truncate(mark);
        }
        let sql = target.carried(inner.sql, position);
        Ok(Condition { sql, ..inner })
    }

    /// A condition on a copied field that an index serves, with the original's index for the records that keep it.
    fn through_the_original(
        &mut self,
        target: &Target,
        own: Condition,
        clause: &Clause,
        terms: &[&Term],
        options: &Options,
    ) -> Result<Condition, BadQuery> {
        let Some(copy) =
            target.copy_of.filter(|_| own.indexed && !own.is_settled() && target.hops.is_empty())
        else {
            return Ok(own);
        };
        let Some((hops, record)) = self.upward(self.record, &[copy.reference]) else { return Ok(own) };
        let mut original = self.own(record, copy.field);
        let found = self.comparison(&original, clause, terms, options)?;
        original.hops = hops;
        let sql = original.or_own_copy(&copy, self.record, &found.sql, &own.sql);
        Ok(Condition::new(sql, found.indexed))
    }

    fn comparison(
        &mut self,
        target: &Target,
        clause: &Clause,
        terms: &[&Term],
        options: &Options,
    ) -> Result<Condition, BadQuery> {
        let kind = target.expression.kind;
        let batcher: Vec<Term>;
        let borrowed: Vec<&Term>;
        let terms = if target.ignores_hyphens {
            batcher = terms.iter().map(|term| term.without_hyphens()).collect();
            borrowed = batcher.iter().collect();
            &borrowed
        } else {
            terms
        };
        if kind == Kind::Uuid {
            return self.uuid(target, clause, terms);
        }
        if !options.narrowed_by.is_empty() && !matches!(kind, Kind::Array { .. }) {
            return Err(unsupported(clause, &options.narrowed_by[0]));
        }
        if kind == Kind::Text && !options.number && terms.len() > 1 {
            return self.one_of(target, clause, terms);
        }
        let mut alternatives = Vec::with_capacity(terms.len());
        for term in terms {
            if self.arguments.exceed_limit() {
                return Err(refusal(clause, "the query has too many terms"));
            }
            alternatives.push(match kind {
                Kind::Array { subfield, modifiers } if !options.narrowed_by.is_empty() => {
                    self.elements(target, clause, term, &options.narrowed_by, subfield, modifiers)?
                }
                Kind::Number => self.number(target, clause, term)?,
                _ if options.number => self.number(target, clause, term)?,
                Kind::Date => self.instant(target, clause, term)?,
                Kind::Boolean => self.boolean(target, clause, term)?,
                Kind::Array { .. } => self.array(target, clause, term)?,
                Kind::Text | Kind::Uuid => self.text(target, clause, term)?,
            });
        }
        Ok(any(alternatives))
    }

    /// Whether an index serves the relation; a missing one is reported.
    pub(super) fn served(&mut self, target: &Target, relation: &'static str, needs: Index) -> bool {
        let stands = match needs {
            Index::Value => target.value_index,
            Index::Words => target.words_index,
            Index::ValueAndWords => target.value_index && target.words_index,
            Index::None => false,
        };
        if !stands {
            self.report(target, relation, needs);
        }
        stands
    }

    /// The field is present.
    pub(super) fn present(&self, target: &Target) -> Condition {
        Condition::new(format!("{} IS NOT NULL", target.expression.text), false)
    }
}

impl Options {
    fn of(clause: &Clause) -> Result<Options, BadQuery> {
        let mut options = Options::default();
        for modifier in &clause.relation.modifiers {
            match modifier.name.as_str() {
                "number" => options.number = true,
                "string" => options.number = false,
                // FOLIO quirk: the field decides whether case and accents count; the modifiers for it have no effect.
                "ignorecase" | "respectcase" | "ignoreaccents" | "respectaccents" | "masked" => {}
                name if name.starts_with('@') => options.narrowed_by.push(modifier.clone()),
                _ => return Err(unsupported(clause, modifier)),
            }
        }
        Ok(options)
    }
}

pub(super) fn refusal(clause: &Clause, message: impl Into<String>) -> BadQuery {
    BadQuery::new(message, clause.position.0, &clause.to_string())
}

pub(super) fn unsupported(clause: &Clause, modifier: &Modifier) -> BadQuery {
    refusal(clause, format!("Unsupported relation modifier {}", modifier.name))
}

/// The SQL operator of a comparison by size or of equality.
pub(super) fn sql_sign(verb: Verb) -> &'static str {
    match verb {
        Verb::NotEqual => "<>",
        Verb::Less => "<",
        Verb::LessOrEqual => "<=",
        Verb::Greater => ">",
        Verb::GreaterOrEqual => ">=",
        Verb::Words | Verb::Equal | Verb::All | Verb::Any | Verb::Adjacent => "=",
    }
}
