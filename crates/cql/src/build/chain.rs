//! Boolean operators. They have equal rank and are read from left to right; consecutive `or` become one list of
//! alternatives, consecutive `and` and `not` one list of requirements.

use super::{Builder, Condition, Position};
use crate::tree::{BooleanWord, Chain, Clause, Link, Node, Verb};
use crate::{BadQuery, Term};
use std::collections::HashMap;

/// Bound on the changes between `or` and the other operators in one chain: each is a level of nesting for PostgreSQL's
/// parser.
const MAX_CHANGES: usize = 300;

impl Builder<'_> {
    pub(super) fn node(&mut self, node: &Node, position: Position) -> Result<Condition, BadQuery> {
        match node {
            Node::Clause(clause) => self.clause(clause, &[&clause.term], position),
            Node::Chain(chain) => self.chain(chain, position),
        }
    }

    fn chain(&mut self, chain: &Chain, position: Position) -> Result<Condition, BadQuery> {
        let runs: Vec<&[Link]> = chain.rest.chunk_by(|a, b| is_or(a) == is_or(b)).collect();
        if runs.len() > MAX_CHANGES {
            let text = chain.to_string();
            return Err(BadQuery::new("and, or, not alternate too often; use brackets", 0, &text));
        }
        let last_or = runs.iter().rposition(|run| run.first().is_some_and(is_or));
        let mark = self.arguments.mark();
        let mut so_far: Option<Condition> = None;
        for (index, run) in runs.iter().enumerate() {
            let here = match last_or {
                Some(last) if last >= index => Position::Alternative,
                _ => position,
            };
            let condition = if run.first().is_some_and(is_or) {
                let mut nodes = Vec::with_capacity(run.len() + 1);
                let mut conditions = Vec::new();
                match so_far {
                    Some(condition) => conditions.push(condition),
                    None => nodes.push(&*chain.first),
                }
                nodes.extend(run.iter().map(|link| &link.node).filter(|node| !is_dropped(node)));
                self.alternatives(&nodes, conditions)?
            } else {
                let first = match so_far {
                    Some(condition) => condition,
                    None => self.node(&chain.first, here)?,
                };
                self.requirements(first, run, here)?
            };
            if condition.is_settled() {
                self.arguments.truncate(mark);
            }
            so_far = Some(condition);
        }
        Ok(so_far.unwrap_or_else(Condition::always))
    }

    fn requirements(
        &mut self,
        first: Condition,
        run: &[Link],
        position: Position,
    ) -> Result<Condition, BadQuery> {
        let mut all = vec![first];
        for link in run {
            all.push(if link.word == BooleanWord::Not {
                let negated = self.node(&link.node, Position::Alternative)?;
                // `NOT` of a condition must also find records without the field, so null counts as false.
                Condition::new(format!("({}) IS NOT TRUE", negated.sql), false)
            } else {
                self.node(&link.node, position)?
            });
        }
        Ok(every(all))
    }

    fn alternatives(
        &mut self,
        nodes: &[&Node],
        mut conditions: Vec<Condition>,
    ) -> Result<Condition, BadQuery> {
        let mut leaves = Vec::new();
        nodes.iter().for_each(|node| leaves_of(node, &mut leaves));
        // Clauses that differ only in their terms become one comparison with a list.
        let mut groups: Vec<(&Clause, Vec<&Term>)> = Vec::new();
        let mut group_of: HashMap<(&str, Verb), usize> = HashMap::new();
        for node in leaves {
            match node {
                Node::Clause(clause) if clause.relation.modifiers.is_empty() => {
                    let group = *group_of.entry((&clause.index, clause.relation.verb)).or_insert_with(|| {
                        groups.push((clause, Vec::new()));
                        groups.len() - 1
                    });
                    groups[group].1.push(&clause.term);
                }
                Node::Clause(clause) => groups.push((clause, vec![&clause.term])),
                Node::Chain(_) => conditions.push(self.node(node, Position::Alternative)?),
            }
        }
        for (clause, terms) in groups {
            conditions.push(self.clause(clause, &terms, Position::Alternative)?);
        }
        Ok(any(conditions))
    }
}

fn is_or(link: &Link) -> bool {
    link.word == BooleanWord::Or
}

/// Brackets around alternatives among alternatives have no effect.
fn leaves_of<'q>(node: &'q Node, leaves: &mut Vec<&'q Node>) {
    match node {
        Node::Chain(chain) if chain.rest.iter().all(is_or) => {
            leaves_of(&chain.first, leaves);
            let operands = chain.rest.iter().map(|link| &link.node);
            operands.filter(|node| !is_dropped(node)).for_each(|node| leaves_of(node, leaves));
        }
        node => leaves.push(node),
    }
}

// FOLIO quirk: after `or`, `field=*` is dropped instead of being true, so `a==1 or b=*` means `a==1`.
fn is_dropped(node: &Node) -> bool {
    matches!(node, Node::Clause(clause) if clause.relation.verb == Verb::Words && clause.term.is_anything())
}

/// All of the conditions.
pub(super) fn every(mut conditions: Vec<Condition>) -> Condition {
    conditions.retain(|condition| condition.sql != "true");
    let indexed = conditions.iter().any(|condition| condition.indexed);
    match conditions.len() {
        0 => Condition::always(),
        1 => conditions.remove(0),
        _ => Condition::new(listed(&conditions, " AND "), indexed),
    }
}

/// At least one of the conditions.
pub(super) fn any(mut conditions: Vec<Condition>) -> Condition {
    if conditions.iter().any(|condition| condition.sql == "true") {
        return Condition::always();
    }
    conditions.retain(|condition| condition.sql != "false");
    let indexed = conditions.iter().all(|condition| condition.indexed);
    match conditions.len() {
        0 => Condition::never(),
        1 => conditions.remove(0),
        _ => Condition::new(listed(&conditions, " OR "), indexed),
    }
}

fn listed(conditions: &[Condition], word: &str) -> String {
    let texts: Vec<&str> = conditions.iter().map(|condition| condition.sql.as_str()).collect();
    format!("({})", texts.join(word))
}
