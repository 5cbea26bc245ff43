//! Lookups: which rules match an item and a patron, and which of them wins.

use std::collections::HashMap;

use crate::rules::{CompiledRule, Rules};
use crate::statement::Selection;
use crate::weight::FieldSet;
use crate::{BlankRules, PolicyKind};

/// The facts of a lookup about an item and a patron; ids as in the rules.
///
/// An empty text means unknown, which equals no name in any rule. If library, campus or institution is unknown, no
/// criterium about it matches, not even `all` or a negated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The item's material type, `m`.
    pub material_type: &'a str,
    /// The item's temporary, else permanent loan type, `t`.
    pub loan_type: &'a str,
    /// The patron's group, `g`.
    pub patron_group: &'a str,
    /// The item's effective location, `s`.
    pub location: &'a str,
    /// The library of that location, `c`.
    pub library: &'a str,
    /// The campus of that location, `b`.
    pub campus: &'a str,
    /// The institution of that location, `a`.
    pub institution: &'a str,
}

/// A matching rule, and the policy that it selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match<'r> {
    /// The policy's name as written, in stored rules its id.
    pub policy: &'r str,
    /// The line of the rule's colon, counted from 1 (FOLIO's `circulationRuleLine`).
    pub line: usize,
    /// The criteria of the rule.
    pub conditions: AppliedConditions,
}

/// The criteria that a matched rule uses, including those of its parents and `all`; the item limit of a loan policy
/// counts by them.
///
/// FOLIO quirk: only a lookup of the loan policy sets them, for other policies all are false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AppliedConditions {
    /// The rule uses `m`.
    pub material_type: bool,
    /// The rule uses `t`.
    pub loan_type: bool,
    /// The rule uses `g`.
    pub patron_group: bool,
}

impl Rules {
    /// The winning rule; the fallback policies if no rule matches.
    pub fn matching(&self, facts: &Facts<'_>, kind: PolicyKind) -> Result<Match<'_>, BlankRules> {
        self.fitting(facts).next().map(|rule| rule.as_match(kind)).ok_or(BlankRules)
    }

    /// All matching rules, the winning one first, including the fallback policies.
    pub fn all_matching(&self, facts: &Facts<'_>, kind: PolicyKind) -> Result<Vec<Match<'_>>, BlankRules> {
        let matches: Vec<_> = self.fitting(facts).map(|rule| rule.as_match(kind)).collect();
        if matches.is_empty() { Err(BlankRules) } else { Ok(matches) }
    }

    fn fitting(&self, facts: &Facts<'_>) -> impl Iterator<Item = &CompiledRule> {
        let facts = NumberedFacts::of(facts, &self.names);
        let fits = move |tests: &[Test]| tests.iter().all(|test| test.fits(&facts, &self.names));
        self.spans
            .iter()
            .zip(&self.ranked)
            .filter(move |(span, _)| fits(&self.tests[span.start as usize..span.end as usize]))
            .map(|(_, rule)| rule)
    }
}

impl CompiledRule {
    fn as_match(&self, kind: PolicyKind) -> Match<'_> {
        let conditions = match kind {
            PolicyKind::Loan => AppliedConditions::of(self.fields),
            PolicyKind::Request | PolicyKind::Notice | PolicyKind::Overdue | PolicyKind::LostItem => {
                AppliedConditions::default()
            }
        };
        Match { policy: &self.policies[kind as usize], line: self.colon.line, conditions }
    }
}

impl AppliedConditions {
    fn of(fields: FieldSet) -> Self {
        Self {
            material_type: fields.contains(Field::MaterialType),
            loan_type: fields.contains(Field::LoanType),
            patron_group: fields.contains(Field::PatronGroup),
        }
    }
}

/// What a criterium is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    LoanType,
    Institution,
    Campus,
    Library,
    Location,
    MaterialType,
    PatronGroup,
}

impl Field {
    pub(crate) const ALL: [Field; 7] = [
        Field::LoanType,
        Field::Institution,
        Field::Campus,
        Field::Library,
        Field::Location,
        Field::MaterialType,
        Field::PatronGroup,
    ];

    pub(crate) fn from_letter(letter: &str) -> Option<Field> {
        Some(match letter {
            "t" => Field::LoanType,
            "a" => Field::Institution,
            "b" => Field::Campus,
            "c" => Field::Library,
            "s" => Field::Location,
            "m" => Field::MaterialType,
            "g" => Field::PatronGroup,
            _ => return None,
        })
    }

    fn of<'a>(self, facts: &Facts<'a>) -> &'a str {
        match self {
            Field::LoanType => facts.loan_type,
            Field::Institution => facts.institution,
            Field::Campus => facts.campus,
            Field::Library => facts.library,
            Field::Location => facts.location,
            Field::MaterialType => facts.material_type,
            Field::PatronGroup => facts.patron_group,
        }
    }

    /// Whether it is one of the four levels of a location.
    pub(crate) fn is_location_level(self) -> bool {
        match self {
            Field::Institution | Field::Campus | Field::Library | Field::Location => true,
            Field::LoanType | Field::MaterialType | Field::PatronGroup => false,
        }
    }
}

/// The names in all criteria, numbered, so that a lookup compares numbers instead of texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    numbers: HashMap<Box<str>, u32>,
    /// The numbers of the names in the tests, one test after the other.
    in_tests: Vec<u32>,
}

/// The number of a fact that matches no criterium.
const ABSENT: u32 = u32::MAX;
/// The number of a fact that occurs in no rule.
const UNNAMED: u32 = u32::MAX - 1;

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = index(self.numbers.len());
        self.numbers.insert(name.into(), number);
        number
    }
}

/// An index into one of the lists of a lookup.
pub(crate) fn index(length: usize) -> u32 {
    u32::try_from(length).expect("a rules text is far shorter than four billion characters")
}

struct NumberedFacts([u32; 7]);

impl NumberedFacts {
    fn of(facts: &Facts<'_>, names: &Names) -> Self {
        Self(Field::ALL.map(|field| {
            let name = field.of(facts);
            let needs_location = matches!(field, Field::Institution | Field::Campus | Field::Library);
            if name.is_empty() && needs_location {
                return ABSENT;
            }
            names.numbers.get(name).copied().unwrap_or(UNNAMED)
        }))
    }
}

/// A criterium compiled for lookups.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Test {
    field: Field,
    /// Whether the criterium excludes the names.
    negated: bool,
    /// Index of its first name in [`Names::in_tests`].
    start: u32,
    end: u32,
}

impl Test {
    pub(crate) fn compile(field: Field, selection: &Selection<'_>, names: &mut Names) -> Test {
        let (negated, chosen): (bool, &[&str]) = match selection {
            // `all` is compiled as: none of no names.
            Selection::All => (true, &[]),
            Selection::AnyOf(chosen) => (false, chosen),
            Selection::NoneOf(chosen) => (true, chosen),
        };
        let start = index(names.in_tests.len());
        for name in chosen {
            let number = names.number(name);
            names.in_tests.push(number);
        }
        Test { field, negated, start, end: index(names.in_tests.len()) }
    }

    fn fits(&self, facts: &NumberedFacts, names: &Names) -> bool {
        let fact = facts.0[self.field as usize];
        let in_tests = &names.in_tests[self.start as usize..self.end as usize];
        fact != ABSENT && in_tests.contains(&fact) != self.negated
    }
}
