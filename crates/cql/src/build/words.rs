//! Word search: `=`, `adj`, `all`, `any`. A word may be truncated on the right.

use super::clause::refusal;
use super::target::Target;
use super::{Argument, Builder, Condition};
use crate::expression::Expression;
use crate::tree::{Clause, Verb};
use crate::{BadQuery, Term};
use carrel_records::Index;

impl Builder<'_> {
    pub(super) fn words(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
    ) -> Result<Condition, BadQuery> {
        // FOLIO quirk: `=*` finds all records, also those without the field.
        if term.is_anything() {
            return Ok(Condition::always());
        }
        match self.words_found(&target.expression, clause.relation.verb, term, clause)? {
            Some(sql) => {
                let indexed = self.served(target, clause.relation.verb.sign(), Index::Words);
                let Some(whole) = &target.words_within else { return Ok(Condition::new(sql, indexed)) };
                // Words of a part stand in the whole, too, in the same order.
                Ok(match self.words_found(whole, clause.relation.verb, term, clause)? {
                    Some(whole) => Condition::new(format!("({whole} AND {sql})"), indexed),
                    None => Condition::new(sql, false),
                })
            }
            // A term without words tests for the field's presence only.
            None => Ok(self.present(target)),
        }
    }

    /// The field contains the words; `None` if the term has no words.
    pub(super) fn words_found(
        &mut self,
        expression: &Expression,
        verb: Verb,
        term: &Term,
        clause: &Clause,
    ) -> Result<Option<String>, BadQuery> {
        let words = term.words().map_err(|message| refusal(clause, message))?;
        if words.is_empty() {
            return Ok(None);
        }
        let spelled: Vec<String> = words
            .into_iter()
            // An asterisk within a word is not a letter of it.
            .map(|word| word.text.replace('*', ",") + if word.truncated { "*" } else { "" })
            .collect();
        let folding = expression.folding.for_words();
        let folded: Option<Vec<String>> = spelled.iter().map(|word| folding.of_ascii(word)).collect();
        let argument = match folded {
            Some(folded) => self.arguments.bind(Argument::TextArray(folded)),
            None => folding.of(&self.arguments.bind(Argument::TextArray(spelled))),
        };
        let function = match verb {
            Verb::All => "carrel.every_word",
            Verb::Any => "carrel.any_word",
            _ => "carrel.phrase",
        };
        Ok(Some(format!("{} @@ {function}({argument})", expression.words())))
    }
}
