//! Validates a rules text and compiles it for lookups.

use std::cmp::Reverse;
use std::ops::Range;

use crate::SyntaxError;
use crate::matching::{Field, Names, Test, index};
use crate::parse::parse;
use crate::policy::{PolicyKind, PolicyUse};
use crate::statement::{Header, Letters, Policies, Position, Statement, Text};
use crate::weight::{FieldSet, LineOrder, Ranking, Regulation};

/// Circulation rules, ready for lookups.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub(crate) names: Names,
    /// The rule that wins over all others first; the fallback policies as a rule without criteria.
    pub(crate) ranked: Vec<CompiledRule>,
    /// For each ranked rule the range of its criteria in `tests`; stored apart from the rules, so that a lookup skips
    /// rules that do not match within a few cache lines.
    pub(crate) spans: Vec<Range<u32>>,
    pub(crate) tests: Vec<Test>,
}

/// One line with policies, its parents' criteria included.
#[derive(Debug, Clone)]
pub(crate) struct CompiledRule {
    pub(crate) weight: i64,
    pub(crate) colon: Position,
    pub(crate) fields: FieldSet,
    /// In the order of [`PolicyKind::ALL`].
    pub(crate) policies: [Box<str>; 5],
}

impl Rules {
    /// Parses stored rules for lookups; a text without any visible character gives blank rules.
    pub fn parse(text: &str) -> Result<Rules, SyntaxError> {
        if text.chars().all(is_java_whitespace) {
            return Ok(Rules::default());
        }
        compile(&parse(text)?, |_| true)
    }

    /// Validates rules before they are stored: a blank text is refused, and so is a policy for which `exists` is false.
    /// Returns FOLIO's first error.
    pub fn check(text: &str, exists: impl FnMut(&PolicyUse<'_>) -> bool) -> Result<Rules, SyntaxError> {
        compile(&parse(text)?, exists)
    }

    /// Whether the text was blank, so that every lookup is refused.
    pub fn is_blank(&self) -> bool {
        self.ranked.is_empty()
    }

    /// All policies in the text, in the order in which FOLIO checks that they exist.
    pub fn policies(&self) -> impl Iterator<Item = PolicyUse<'_>> {
        let mut rules: Vec<&CompiledRule> = self.ranked.iter().collect();
        rules.sort_by_key(|rule| (rule.colon.line, rule.colon.column));
        rules.into_iter().flat_map(|rule| {
            PolicyKind::ALL.into_iter().map(|kind| PolicyUse {
                kind,
                name: &rule.policies[kind as usize],
                line: rule.colon.line,
                column: rule.colon.column,
            })
        })
    }
}

/// Java's definition of whitespace, which FOLIO uses: no-break spaces are visible, separators are not.
fn is_java_whitespace(c: char) -> bool {
    match c {
        '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => false,
        '\u{1c}'..='\u{1f}' => true,
        c => c.is_whitespace(),
    }
}

fn compile(text: &Text<'_>, exists: impl FnMut(&PolicyUse<'_>) -> bool) -> Result<Rules, SyntaxError> {
    let ranking = check_header(&text.header)?;
    let mut compiler =
        Compiler { ranking, exists, names: Names::default(), rules: Vec::new(), parents: Vec::new() };
    let (above, below) = text.statements.split_at(text.statements_before_fallback);
    compiler.statements(above)?;
    compiler.fallback(text)?;
    compiler.statements(below)?;
    let Compiler { names, rules: mut ranked, ranking, .. } = compiler;
    // FOLIO computes equal weights for such rules and cannot rank them; here the order of the text decides.
    if ranking.line_order == LineOrder::LastLine {
        ranked.reverse();
    }
    ranked.sort_by_key(|(rule, _)| Reverse(rule.weight));
    let mut rules = Rules { names, ..Rules::default() };
    for (rule, tests) in ranked {
        let start = index(rules.tests.len());
        rules.tests.extend(tests);
        rules.spans.push(start..index(rules.tests.len()));
        rules.ranked.push(rule);
    }
    Ok(rules)
}

fn check_header(header: &Header<'_>) -> Result<Ranking, SyntaxError> {
    let mut ranks = [0; 7];
    let (regulations, line_order) = match header {
        Header::Letters(letters) => {
            rank_letters(letters, &mut ranks)?;
            return Ok(Ranking {
                regulations: vec![Regulation::Criterium(ranks), Regulation::NumberOfCriteria],
                line_order: LineOrder::LastLine,
            });
        }
        Header::Regulations(regulations, line_order) => (regulations, *line_order),
    };
    for regulation in regulations {
        if let Some(letters) = &regulation.letters {
            // FOLIO quirk: a second criterium(…) is refused as a duplicate of its first letter.
            rank_letters(letters, &mut ranks)?;
        }
    }
    if let [first, second] = regulations.as_slice()
        && first.letters.is_none()
        && second.letters.is_none()
    {
        return Err(error_from_one(second.position, "Duplicate priority type"));
    }
    let regulations = regulations
        .iter()
        .map(|regulation| match regulation.letters {
            Some(_) => Regulation::Criterium(ranks),
            None => Regulation::NumberOfCriteria,
        })
        .collect();
    Ok(Ranking { regulations, line_order })
}

fn rank_letters(letters: &Letters<'_>, ranks: &mut [u8; 7]) -> Result<(), SyntaxError> {
    let found = letters.len();
    let start = letters.first().map_or(Position { line: 1, column: 0 }, |(_, position)| *position);
    if found < 7 {
        return Err(error_from_one(start, format!("7 letters expected, found only {found}")));
    }
    if found > 7 {
        return Err(error_from_one(start, format!("Only 7 letters expected, found {found}")));
    }
    for ((letter, position), rank) in letters.iter().zip((1..=7).rev()) {
        let field = Field::from_letter(letter).expect("the tokenizer knows the same letters");
        if ranks[field as usize] != 0 {
            return Err(error_from_one(*position, format!("Duplicate letter {letter}")));
        }
        ranks[field as usize] = rank;
    }
    Ok(())
}

struct Compiler<E> {
    ranking: Ranking,
    exists: E,
    names: Names,
    rules: Vec<(CompiledRule, Vec<Test>)>,
    /// The lines whose criteria also apply to the current line, the outermost first.
    parents: Vec<Parent>,
}

struct Parent {
    indentation: usize,
    /// Its own criteria and its parents'.
    fields: FieldSet,
    tests: Vec<Test>,
}

impl<E: FnMut(&PolicyUse<'_>) -> bool> Compiler<E> {
    fn statements(&mut self, statements: &[Statement<'_>]) -> Result<(), SyntaxError> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement<'_>) -> Result<(), SyntaxError> {
        if statement.policies.is_none() && !statement.has_children {
            return Err(error_from_one(statement.position, "Policy missing"));
        }
        while self.parents.last().is_some_and(|parent| parent.indentation >= statement.indentation) {
            self.parents.pop();
        }
        let (mut fields, mut tests) =
            self.parents.last().map_or_else(Default::default, |parent| (parent.fields, parent.tests.clone()));
        for criterium in &statement.criteria {
            fields = fields.with(criterium.field);
            tests.push(Test::compile(criterium.field, &criterium.selection, &mut self.names));
        }
        if let Some(policies) = &statement.policies {
            self.rule(policies, fields, tests.clone())?;
        }
        self.parents.push(Parent { indentation: statement.indentation, fields, tests });
        Ok(())
    }

    fn fallback(&mut self, text: &Text<'_>) -> Result<(), SyntaxError> {
        let fallback = &text.fallback;
        for kind in PolicyKind::ALL {
            let letter = kind.letter();
            match named(&fallback.policies, kind).count() {
                1 => {}
                0 => {
                    let message = format!("Must have a fallback policy of type {letter}");
                    return Err(error_from_zero(fallback.position, message));
                }
                _ => {
                    let message = format!("Only one fallback policy of type {letter} is allowed");
                    return Err(error_from_zero(fallback.position, message));
                }
            }
        }
        self.rule(&fallback.policies, FieldSet::default(), Vec::new())
    }

    fn rule(
        &mut self,
        policies: &Policies<'_>,
        fields: FieldSet,
        tests: Vec<Test>,
    ) -> Result<(), SyntaxError> {
        let colon = policies.colon;
        let mut chosen: [Box<str>; 5] = Default::default();
        for kind in PolicyKind::ALL {
            let letter = kind.letter();
            let mut names = named(policies, kind);
            let Some(name) = names.next() else {
                let message = format!("Must contain one of each policy type, missing type {letter}");
                return Err(error_from_zero(colon, message));
            };
            if names.next().is_some() {
                return Err(error_from_zero(colon, format!("Only one policy of type {letter} allowed")));
            }
            let policy = PolicyUse { kind, name, line: colon.line, column: colon.column };
            if !(self.exists)(&policy) {
                return Err(policy.missing());
            }
            chosen[kind as usize] = name.into();
        }
        let weight = self.ranking.weight(fields, colon.line);
        self.rules.push((CompiledRule { weight, colon, fields, policies: chosen }, tests));
        Ok(())
    }
}

fn named<'p>(policies: &'p Policies<'_>, kind: PolicyKind) -> impl Iterator<Item = &'p str> {
    policies.named.iter().filter(move |(named, _)| *named == kind).map(|(_, name)| *name)
}

/// Most messages of the validation count columns from 1.
fn error_from_one(position: Position, message: impl Into<String>) -> SyntaxError {
    SyntaxError::new(message, position.line, position.column + 1)
}

/// FOLIO quirk: messages about a set of policies count columns from 0.
fn error_from_zero(position: Position, message: impl Into<String>) -> SyntaxError {
    SyntaxError::new(message, position.line, position.column)
}
