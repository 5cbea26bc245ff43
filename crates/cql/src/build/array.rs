//! Arrays. Without modifiers FOLIO searches the JSON text of an array; `/@name=value` matches single elements.

use super::clause::{refusal, unsupported};
use super::target::Target;
use super::text::is_short;
use super::{Argument, Builder, Condition};
use crate::expression::Expression;
use crate::term::Part;
use crate::tree::{Clause, Modifier, Verb};
use crate::{BadQuery, Term};
use carrel_records::{Index, Kind};

impl Builder<'_> {
    // FOLIO quirk: words are searched in the JSON text of the whole array, keys of objects included.
    pub(super) fn array(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
    ) -> Result<Condition, BadQuery> {
        if let (Verb::Equal, Kind::Array { subfield: "", .. }, Some(element)) =
            (clause.relation.verb, target.expression.kind, element_named(term))
        {
            let contains = self.contains(&target.expression, "", element);
            let indexed = self.served(target, clause.relation.verb.sign(), Index::Value);
            return Ok(Condition::new(contains, indexed));
        }
        self.text(&target.as_text(), clause, term)
    }

    /// Matches single elements: those with the modifiers' values whose subfield matches the term.
    pub(super) fn elements(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
        narrowed_by: &[Modifier],
        subfield: &str,
        modifiers: &[&'static str],
    ) -> Result<Condition, BadQuery> {
        let known = |modifier: &Modifier| {
            let name = &modifier.name[1..];
            let mut names = modifiers.iter().copied().chain([subfield]).filter(|known| !known.is_empty());
            // The parser has lower-cased the modifiers.
            names.find(|known| known.eq_ignore_ascii_case(name)).map(str::to_owned)
        };
        let mut searched = Vec::new();
        let mut required = Vec::new();
        for modifier in narrowed_by {
            let name = known(modifier).ok_or_else(|| unsupported(clause, modifier))?;
            match &modifier.value {
                None => searched.push(name),
                Some((Verb::Words, value)) => required.push((name, value)),
                Some(_) => {
                    let message = format!("Unsupported comparison for relation modifier {}", modifier.name);
                    return Err(refusal(clause, message));
                }
            }
        }
        if searched.is_empty() {
            searched.push(subfield.to_owned());
        }
        let folding = target.expression.folding;
        let element = |name: &str| Target {
            expression: Expression::at("e.v", name, Kind::Text).with(folding),
            // A missing index is reported below, once for the array, not for each element.
            value_index: true,
            words_index: true,
            ..target.clone()
        };
        let mut fits = Vec::new();
        for name in &searched {
            fits.push(self.text(&element(name), clause, term)?.sql);
        }
        let mut conditions =
            vec![if fits.len() == 1 { fits.remove(0) } else { format!("({})", fits.join(" OR ")) }];
        for (name, value) in required {
            if let Some(found) = self.words_found(&element(&name).expression, Verb::Words, value, clause)? {
                conditions.push(found);
            }
        }
        let json = &target.expression.json;
        let mut sql = format!(
            "EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof({json}) WHEN 'array' THEN {json} ELSE '[]' END) AS e(v) WHERE {})",
            conditions.join(" AND ")
        );
        // The index cannot match single elements, but it finds the arrays that may contain one.
        let mut indexed = false;
        match (clause.relation.verb, term.plain()) {
            (Verb::Words | Verb::Adjacent | Verb::All | Verb::Any, _) if !term.is_anything() => {
                if let Some(found) =
                    self.words_found(&target.expression, clause.relation.verb, term, clause)?
                {
                    sql = format!("({found} AND {sql})");
                    indexed = self.served(target, clause.relation.verb.sign(), Index::Words);
                }
            }
            (Verb::Equal, Some(plain)) if searched == [subfield] && is_short(plain) => {
                let contains = self.contains(&target.expression, subfield, plain);
                sql = format!("({contains} AND {sql})");
                indexed = self.served(target, clause.relation.verb.sign(), Index::Value);
            }
            _ => self.report(target, clause.relation.verb.sign(), Index::None),
        }
        Ok(Condition::new(sql, indexed))
    }

    fn contains(&mut self, array: &Expression, subfield: &str, element: &str) -> String {
        let folding = array.folding;
        let list = match folding.of_ascii(element) {
            Some(folded) => self.arguments.bind(Argument::TextArray(vec![folded])),
            None => folding.of(&self.arguments.bind(Argument::TextArray(vec![element.to_owned()]))),
        };
        format!("{} @> {list}", array.elements(subfield))
    }
}

/// The element in `*"element"*`, by which FOLIO's clients search an array of texts for one element.
fn element_named(term: &Term) -> Option<&str> {
    let [Part::AnyText, Part::Text(text), Part::AnyText] = term.parts() else { return None };
    let element = text.strip_prefix('"')?.strip_suffix('"')?;
    (!element.contains(['"', '\\']) && is_short(element)).then_some(element)
}
