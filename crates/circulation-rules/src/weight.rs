//! Which of several matching rules wins: turns the header's order into one number.

use crate::matching::Field;

/// The order of rules, from the validated header.
#[derive(Debug, Clone)]
pub(crate) struct Ranking {
    /// At most two, the more important first.
    pub(crate) regulations: Vec<Regulation>,
    pub(crate) line_order: LineOrder,
}

#[derive(Debug, Clone)]
pub(crate) enum Regulation {
    /// For each field its rank, 7 for the most important one.
    Criterium([u8; 7]),
    NumberOfCriteria,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineOrder {
    FirstLine,
    LastLine,
}

/// FOLIO's line weights stay below the weight of one regulation step up to this line.
const LINES: i64 = 10_000_000;

impl Ranking {
    /// The weight of a rule with these fields in this line; the greater one wins.
    pub(crate) fn weight(&self, fields: FieldSet, line: usize) -> i64 {
        let line = i64::try_from(line).unwrap_or(i64::MAX / 2);
        let by_line = match self.line_order {
            LineOrder::FirstLine => LINES - line,
            LineOrder::LastLine => line,
        };
        // The last regulation counts ten million a step, the one before it ten times as much.
        let by_regulation = self.regulations.iter().rev().zip([LINES, 10 * LINES]);
        by_line + by_regulation.map(|(regulation, step)| regulation.value(fields) * step).sum::<i64>()
    }
}

impl Regulation {
    fn value(&self, fields: FieldSet) -> i64 {
        match self {
            Regulation::Criterium(ranks) => {
                fields.iter().map(|field| i64::from(ranks[field as usize])).max().unwrap_or(0)
            }
            Regulation::NumberOfCriteria => fields.kinds(),
        }
    }
}

/// The fields in a rule's criteria, including its parents'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FieldSet(u8);

impl FieldSet {
    pub(crate) fn with(self, field: Field) -> FieldSet {
        FieldSet(self.0 | 1 << field as u8)
    }

    pub(crate) fn contains(self, field: Field) -> bool {
        self.0 & (1 << field as u8) != 0
    }

    fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.into_iter().filter(move |field| self.contains(*field))
    }

    /// Number of kinds of criteria; the four levels of a location are one kind.
    fn kinds(self) -> i64 {
        let places = self.iter().filter(|field| field.is_location_level()).count();
        let others = self.iter().count() - places;
        (others + usize::from(places > 0)) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(fields: &[Field]) -> FieldSet {
        fields.iter().fold(FieldSet::default(), |set, field| set.with(*field))
    }

    #[test]
    fn the_four_levels_of_a_location_count_once() {
        use Field::*;
        assert_eq!(set(&[Institution, Campus, Library, Location]).kinds(), 1);
        assert_eq!(set(&[Library, MaterialType, PatronGroup]).kinds(), 3);
        assert_eq!(set(&[]).kinds(), 0);
    }

    #[test]
    fn a_single_regulation_weighs_ten_million_a_step() {
        let ranking =
            Ranking { regulations: vec![Regulation::NumberOfCriteria], line_order: LineOrder::FirstLine };
        assert_eq!(ranking.weight(set(&[Field::LoanType, Field::Library]), 3), 2 * LINES + LINES - 3);
    }

    #[test]
    fn the_first_of_two_regulations_weighs_ten_times_the_second() {
        let ranking = Ranking {
            regulations: vec![Regulation::Criterium([7, 5, 4, 3, 6, 2, 1]), Regulation::NumberOfCriteria],
            line_order: LineOrder::LastLine,
        };
        let best =
            Regulation::Criterium([7, 5, 4, 3, 6, 2, 1]).value(set(&[Field::Library, Field::PatronGroup]));
        let fields = set(&[Field::Library, Field::PatronGroup]);
        assert_eq!(ranking.weight(fields, 9), best * 10 * LINES + 2 * LINES + 9);
    }

    #[test]
    fn lines_alone_decide_without_regulations() {
        let ranking = Ranking { regulations: vec![], line_order: LineOrder::LastLine };
        assert_eq!(ranking.weight(set(&[Field::LoanType]), 12), 12);
    }
}
