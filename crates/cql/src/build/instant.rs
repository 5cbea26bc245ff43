//! Numbers and points in time, which compare by size.

use super::clause::sql_sign;
use super::target::Target;
use super::{Argument, Builder, Condition};
use crate::tree::{Clause, Verb};
use crate::{BadQuery, Term};
use carrel_records::{Index, Kind, time};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

impl Builder<'_> {
    pub(super) fn number(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
    ) -> Result<Condition, BadQuery> {
        if let Some(condition) = self.without_size(target, clause, term) {
            return Ok(condition);
        }
        let masked = term.plain().is_none();
        if masked && matches!(clause.relation.verb, Verb::Equal | Verb::NotEqual) {
            return self.text(&target.as_text(), clause, term);
        }
        let text = term.literal();
        let text = text.trim();
        if !is_number(text) {
            return Ok(self.incomparable(target, clause));
        }
        let argument = self.arguments.bind(Argument::Text(text.to_owned()));
        let declared = target.expression.kind == Kind::Number;
        let value = if declared { target.expression.value() } else { target.expression.number() };
        let indexed = self.size_index(target, clause, declared);
        Ok(Condition::new(
            format!("{value} {} carrel.number({argument})", sql_sign(clause.relation.verb)),
            indexed,
        ))
    }

    pub(super) fn instant(
        &mut self,
        target: &Target,
        clause: &Clause,
        term: &Term,
    ) -> Result<Condition, BadQuery> {
        if let Some(condition) = self.without_size(target, clause, term) {
            return Ok(condition);
        }
        let value = target.expression.value();
        let verb = clause.relation.verb;
        if let Some(start) = term.truncated() {
            // FOLIO compares the text here; for documents written in UTC, comparing the period gives the same result.
            let Some((from, to)) = period(start) else { return Ok(self.incomparable(target, clause)) };
            let from = self.arguments.bind(Argument::Timestamp(from));
            let to = self.arguments.bind(Argument::Timestamp(to));
            let negation = if verb == Verb::NotEqual { " IS FALSE" } else { "" };
            let indexed = self.size_index(target, clause, true);
            return Ok(Condition::new(format!("({value} >= {from} AND {value} < {to}){negation}"), indexed));
        }
        let literal = term.literal();
        let from = match verb {
            // FOLIO compares the text, in which every date of a year or month sorts after the truncated date.
            Verb::Less | Verb::LessOrEqual => period(&literal).map(|(from, _)| (from, "<")),
            Verb::Greater | Verb::GreaterOrEqual => period(&literal).map(|(from, _)| (from, ">=")),
            Verb::Words | Verb::Equal | Verb::NotEqual | Verb::All | Verb::Any | Verb::Adjacent => None,
        };
        if let (None, None, Some((from, sign))) = (time::parse(&literal), time::normal(&literal), from) {
            let from = self.arguments.bind(Argument::Timestamp(from));
            let indexed = self.size_index(target, clause, true);
            return Ok(Condition::new(format!("{value} {sign} {from}"), indexed));
        }
        let argument = match (time::parse(&literal), time::normal(&literal)) {
            (Some(instant), _) => self.arguments.bind(Argument::Timestamp(instant)),
            // The last days of 9999 are beyond the range of `Timestamp`; only the database can compare them.
            (None, Some(last)) => format!("carrel.instant({})", self.arguments.bind(Argument::Text(last))),
            (None, None) => return Ok(self.incomparable(target, clause)),
        };
        let indexed = self.size_index(target, clause, true);
        Ok(Condition::new(format!("{value} {} {argument}", sql_sign(verb)), indexed))
    }

    /// Terms that test for presence and not for size.
    fn without_size(&self, target: &Target, clause: &Clause, term: &Term) -> Option<Condition> {
        let anything = term.is_anything();
        let empty = term.plain().is_some_and(|text| text.trim().is_empty());
        match clause.relation.verb {
            Verb::Words | Verb::Adjacent | Verb::All | Verb::Any if anything => Some(Condition::always()),
            Verb::Words | Verb::Adjacent | Verb::All | Verb::Any if empty => Some(self.present(target)),
            Verb::Equal if anything => Some(self.present(target)),
            Verb::NotEqual if anything => Some(Condition::never()),
            _ => None,
        }
    }

    /// A term of another kind: no value equals it, every value differs from it.
    fn incomparable(&self, target: &Target, clause: &Clause) -> Condition {
        match clause.relation.verb {
            Verb::NotEqual => self.present(target),
            _ => Condition::never(),
        }
    }

    fn size_index(&mut self, target: &Target, clause: &Clause, declared: bool) -> bool {
        match clause.relation.verb {
            Verb::NotEqual => false,
            verb if declared => self.served(target, verb.sign(), Index::Value),
            verb => {
                self.report(target, verb.sign(), Index::None);
                false
            }
        }
    }
}

/// What the SQL function `carrel.number` reads.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let all_digits = |text: &str, most: usize| text.len() <= most && text.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    all_digits(whole, 200)
        && all_digits(fraction, 200)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent, 3))
}

/// The period of a truncated day, month or year, in UTC: its beginning and the beginning of the next.
fn period(start: &str) -> Option<(Timestamp, Timestamp)> {
    let start = start.trim_end_matches(['T', '-']);
    let instant = |date: Date| date.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<i16>().ok())?;
    let year = number(start.get(..4)?)?;
    let part = |position: usize| -> Option<Option<i8>> {
        match start.get(position..) {
            None | Some("") => Some(None),
            Some(rest) => {
                let digits = rest.strip_prefix('-')?.get(..2)?;
                Some(Some(i8::try_from(number(digits)?).ok()?))
            }
        }
    };
    let (month, day) = (part(4)?, part(7)?);
    if start.len() > 10 {
        return None;
    }
    let first = Date::new(year, month.unwrap_or(1), day.unwrap_or(1)).ok()?;
    // `Timestamp` cannot compute with dates after the year 9999.
    let next = match (month, day) {
        (None, _) | (Some(12), None) => Date::new(year.checked_add(1)?, 1, 1).ok(),
        (Some(month), None) => Date::new(year, month + 1, 1).ok(),
        (Some(_), Some(_)) => first.tomorrow().ok(),
    };
    Some((instant(first)?, next.and_then(instant).unwrap_or(Timestamp::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_date_is_a_period() {
        for (start, from, to) in [
            ("2020", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"),
            ("2020-", "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"),
            ("2020-12", "2020-12-01T00:00:00Z", "2021-01-01T00:00:00Z"),
            ("2020-02", "2020-02-01T00:00:00Z", "2020-03-01T00:00:00Z"),
            ("2020-02-29", "2020-02-29T00:00:00Z", "2020-03-01T00:00:00Z"),
            ("2020-02-29T", "2020-02-29T00:00:00Z", "2020-03-01T00:00:00Z"),
        ] {
            let (begin, end) = period(start).expect(start);
            assert_eq!((begin.to_string().as_str(), end.to_string().as_str()), (from, to), "{start}");
        }
        for nonsense in ["", "20", "2020-1", "2020-13", "2020-02-30", "2020-02-29T10", "20é0"] {
            assert_eq!(period(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn numbers_are_distinguished_from_other_text() {
        for text in ["1", "-1.5", "+.5", "4e0", "1.", "3E-12"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", ".", "-", "1e", "1e1000", "0x1", "NaN", "١", "1 2"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
