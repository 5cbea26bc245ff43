//! Conditions → SQL. Null rules: `$ne` and `$nin` also find records without a value, all other operators never do.

use crate::field::{Field, Fields, Kind, Source};
use crate::tree::{Condition, Operand, Operator, Query, QueryError, Scalar};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use uuid::Uuid;

/// A value to be bound to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    Text(String),
    Texts(Vec<String>),
}

/// Conditions as SQL.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Where {
    /// One SQL condition for each condition of the query, in its order; they are joined by AND.
    pub conditions: Vec<String>,
    /// Values of the parameters, from `$1` on.
    pub arguments: Vec<Argument>,
}

impl Where {
    /// The joined conditions; `true` if there are none.
    pub fn sql(&self) -> String {
        match self.conditions.as_slice() {
            [] => "TRUE".to_owned(),
            conditions => conditions.join(" AND "),
        }
    }
}

/// Translates a query into SQL over the fields; otherwise returns an error for each field that cannot be compared in
/// this way.
pub fn build(query: &Query, fields: &dyn Fields) -> Result<Where, Vec<QueryError>> {
    let mut builder = Builder::default();
    let mut errors: Vec<QueryError> = Vec::new();
    let mut conditions = Vec::with_capacity(query.conditions.len());
    for condition in &query.conditions {
        let sql = fields.find(&condition.field).and_then(|field| builder.condition(&field, condition));
        match sql {
            Ok(sql) => conditions.push(sql),
            Err(message) => {
                if !errors.iter().any(|error| error.field == condition.field) {
                    errors.push(QueryError::new(&condition.field, message));
                }
            }
        }
    }
    match errors.is_empty() {
        true => Ok(Where { conditions, arguments: builder.arguments }),
        false => Err(errors),
    }
}

#[derive(Default)]
struct Builder {
    arguments: Vec<Argument>,
}

const NOTHING: &str = "FALSE";
const EVERYTHING: &str = "TRUE";

impl Builder {
    fn condition(&mut self, field: &Field, condition: &Condition) -> Result<String, String> {
        // The older operators mean the same as newer ones with another name, on arrays as on single values.
        let operator = match condition.operator {
            Operator::ContainsAny => Operator::In,
            Operator::NotContainsAny => Operator::Nin,
            operator => operator,
        };
        match &field.source {
            Source::Elements { array, keys } => {
                self.of_elements(field, array, keys, operator, &condition.operand)
            }
            Source::Uuid(sql) => self.of_uuid(field, sql, operator, &condition.operand),
            Source::Text(sql) => self.of_text(field, sql, operator, &condition.operand),
        }
    }

    fn text(&mut self, text: impl Into<String>) -> String {
        self.arguments.push(Argument::Text(text.into()));
        format!("${}::text", self.arguments.len())
    }

    fn texts(&mut self, texts: Vec<String>) -> String {
        self.arguments.push(Argument::Texts(texts));
        format!("${}::text[]", self.arguments.len())
    }

    /// A single value that is text in a document.
    fn of_text(
        &mut self,
        field: &Field,
        sql: &str,
        operator: Operator,
        operand: &Operand,
    ) -> Result<String, String> {
        let value = match &field.default {
            Some(default) => format!("coalesce({sql}, {})", crate::field::literal(default)),
            None => sql.to_owned(),
        };
        let is_nullable = field.is_nullable && field.default.is_none();
        if operator == Operator::Empty {
            let empty = match (field.kind, is_nullable) {
                _ if field.default.is_some() => NOTHING.to_owned(),
                (Kind::Text, true) => format!("({value} IS NULL OR {value} = '')"),
                (Kind::Text, false) => format!("({value} = '')"),
                (_, true) => format!("({value} IS NULL)"),
                (_, false) => NOTHING.to_owned(),
            };
            return Ok(empty_or_not(&empty, operand));
        }
        if let Some(sql) = self.of_letters(field, &value, operator, operand) {
            return Ok(sql);
        }
        let negative = matches!(operator, Operator::Ne | Operator::Nin | Operator::NotContainsAll);
        let sql = match field.kind {
            Kind::Text => self.of_folded(field, &value, operator, operand),
            Kind::Uuid => self.of_folded(field, &value, operator, &only_ids(operand)),
            Kind::Boolean => self.of_boolean(&value, operator, operand),
            Kind::Date => self.of_plain(&format!("{value} COLLATE \"C\""), "", operator, operand, Ok),
            Kind::Number => self.of_plain(&number(&value), "::numeric", operator, operand, as_number),
            Kind::DateTime => self.of_instant(&instant(&value), operator, operand),
        }?;
        Ok(match negative && is_nullable && sql != EVERYTHING {
            true => format!("({sql} OR {value} IS NULL)"),
            false => format!("({sql})"),
        })
    }

    /// Patterns, which are searched in the text of a value of any kind.
    fn of_letters(
        &mut self,
        field: &Field,
        value: &str,
        operator: Operator,
        operand: &Operand,
    ) -> Option<String> {
        let Operand::One(Scalar::Text(text)) = operand else { return None };
        let fold = field.fold.function();
        match operator {
            Operator::StartsWith => {
                // The key is cut; longer values are also searched completely.
                let pattern = self.text(format!("{}%", escaped(text)));
                let key = match text.chars().count() < 500 {
                    true => Source::key(value, field.fold),
                    false => format!("{fold}({value})"),
                };
                Some(format!("({key} LIKE {fold}({pattern}))"))
            }
            Operator::Contains => {
                let pattern = self.text(format!("%{}%", escaped(text)));
                Some(format!("({fold}({value}) LIKE {fold}({pattern}))"))
            }
            Operator::Regex => {
                let pattern = self.text(text.as_str());
                Some(format!("({value} ~* {pattern})"))
            }
            _ => None,
        }
    }

    /// Texts, without regard to case and perhaps accents.
    fn of_folded(
        &mut self,
        field: &Field,
        value: &str,
        operator: Operator,
        operand: &Operand,
    ) -> Result<String, String> {
        let (key, fold) = (Source::key(value, field.fold), field.fold.function());
        match (operator, operand) {
            (_, Operand::One(Scalar::Null)) => Ok(of_null(value, operator)),
            (operator, Operand::One(scalar)) => {
                let Some(text) = scalar.text() else { return Ok(NOTHING.to_owned()) };
                let is_long = text.chars().count() >= 500;
                let argument = self.text(text);
                let sign = sign(operator)?;
                Ok(match is_long {
                    true => format!("{fold}({value}) COLLATE \"C\" {sign} {fold}({argument})"),
                    false => format!("{key} {sign} left({fold}({argument}), 600)"),
                })
            }
            (Operator::In | Operator::Nin, Operand::Many(scalars)) => {
                let texts: Vec<String> = scalars.iter().filter_map(Scalar::text).collect();
                let is_long = texts.iter().any(|text| text.chars().count() >= 500);
                let list = self.texts(texts);
                let key = if is_long { format!("{fold}({value}) COLLATE \"C\"") } else { key };
                Ok(match operator {
                    Operator::In => format!("{key} = ANY ({fold}({list}))"),
                    _ => format!("{key} <> ALL ({fold}({list}))"),
                })
            }
            (operator, operand) => self.one_by_one(operator, operand, |builder, operator, operand| {
                builder.of_folded(field, value, operator, operand)
            }),
        }
    }

    fn of_boolean(&mut self, value: &str, operator: Operator, operand: &Operand) -> Result<String, String> {
        let value = format!("{value} COLLATE \"C\"");
        self.of_plain(&value, "", operator, operand, |text| Ok(text.to_ascii_lowercase()))
    }

    /// Values that are compared without folding, cast to a type.
    fn of_plain(
        &mut self,
        value: &str,
        cast: &str,
        operator: Operator,
        operand: &Operand,
        read: fn(String) -> Result<String, String>,
    ) -> Result<String, String> {
        match operand {
            Operand::One(Scalar::Null) => Ok(of_null(value, operator)),
            Operand::One(scalar) => {
                let text = read(scalar.text().unwrap_or_default())?;
                let argument = self.text(text);
                Ok(format!("{value} {} {argument}{cast}", sign(operator)?))
            }
            Operand::Many(scalars) if matches!(operator, Operator::In | Operator::Nin) => {
                let texts =
                    scalars.iter().filter_map(Scalar::text).map(read).collect::<Result<Vec<_>, _>>()?;
                let list = self.texts(texts);
                let cast = if cast.is_empty() { String::new() } else { format!("{cast}[]") };
                Ok(match operator {
                    Operator::In => format!("{value} = ANY ({list}{cast})"),
                    _ => format!("{value} <> ALL ({list}{cast})"),
                })
            }
            operand => self.one_by_one(operator, operand, |builder, operator, operand| {
                builder.of_plain(value, cast, operator, operand, read)
            }),
        }
    }

    /// Instants: a value stands for a window of 24 hours.
    fn of_instant(&mut self, value: &str, operator: Operator, operand: &Operand) -> Result<String, String> {
        let (operator, scalar) = match operand {
            Operand::One(Scalar::Null) => return Ok(of_null(value, operator)),
            Operand::One(scalar) => (operator, scalar),
            operand => {
                let exact = |text: String| window(&text).map(|(start, _)| start.to_string());
                return self.of_plain(value, "::timestamptz", operator, operand, exact);
            }
        };
        let (start, end) = window(&scalar.text().unwrap_or_default())?;
        let mut at = |instant: Timestamp| format!("{}::timestamptz", self.text(instant.to_string()));
        Ok(match operator {
            Operator::Eq => format!("({value} >= {} AND {value} < {})", at(start), at(end)),
            Operator::Ne => format!("({value} < {} OR {value} >= {})", at(start), at(end)),
            Operator::Gt => format!("{value} >= {}", at(end)),
            Operator::Gte => format!("{value} >= {}", at(start)),
            Operator::Lt => format!("{value} < {}", at(start)),
            Operator::Lte => format!("{value} < {}", at(end)),
            operator => return Err(does_not_take(operator)),
        })
    }

    fn of_uuid(
        &mut self,
        field: &Field,
        sql: &str,
        operator: Operator,
        operand: &Operand,
    ) -> Result<String, String> {
        if operator == Operator::Empty {
            let empty = if field.is_nullable { format!("({sql} IS NULL)") } else { NOTHING.to_owned() };
            return Ok(empty_or_not(&empty, operand));
        }
        if let Some(condition) = self.of_letters(field, &format!("({sql})::text"), operator, operand) {
            return Ok(condition);
        }
        let operand = only_ids(operand);
        let condition = self.of_plain(sql, "::uuid", operator, &operand, Ok)?;
        // A text that is no UUID equals no value.
        let none = matches!(operand, Operand::One(Scalar::Null));
        let negative = matches!(operator, Operator::Ne | Operator::Nin | Operator::NotContainsAll);
        Ok(match (negative, none) {
            (true, true) => EVERYTHING.to_owned(),
            (false, true) => NOTHING.to_owned(),
            (true, false) if field.is_nullable => format!("({condition} OR {sql} IS NULL)"),
            (_, false) => format!("({condition})"),
        })
    }

    /// Values in an array: at least one element meets the condition, or none equals the operand.
    fn of_elements(
        &mut self,
        field: &Field,
        array: &str,
        keys: &[String],
        operator: Operator,
        operand: &Operand,
    ) -> Result<String, String> {
        let elements = Source::elements(array, keys);
        let fold = field.fold.function();
        if operator == Operator::Empty {
            let empty = match keys {
                [] => format!(
                    "(jsonb_typeof({array}) IS DISTINCT FROM 'array' OR {array} = '[]' \
                     OR {array} @> '[null]' OR {array} @> '[\"\"]')"
                ),
                _ => format!(
                    "(coalesce(cardinality({elements}), 0) \
                     < greatest(1, CASE jsonb_typeof({array}) WHEN 'array' THEN jsonb_array_length({array}) END) \
                     OR '' = ANY ({elements}))"
                ),
            };
            return Ok(empty_or_not(&empty, operand));
        }
        let is_text = matches!(field.kind, Kind::Text | Kind::Uuid | Kind::Boolean);
        let equals_any = |builder: &mut Builder, texts: Vec<String>, all: bool| {
            let texts = texts.iter().map(|text| text.chars().take(600).collect()).collect();
            let list = builder.texts(texts);
            format!("{fold}({elements}) {} {fold}({list})", if all { "@>" } else { "&&" })
        };
        let texts = |operand: &Operand| -> Vec<String> {
            match operand {
                Operand::One(scalar) => scalar.text().into_iter().collect(),
                Operand::Many(scalars) => scalars.iter().filter_map(Scalar::text).collect(),
                Operand::Flag(_) => Vec::new(),
            }
        };
        match operator {
            Operator::Eq | Operator::In if is_text => {
                Ok(format!("({})", equals_any(self, texts(operand), false)))
            }
            Operator::ContainsAll if is_text => Ok(format!("({})", equals_any(self, texts(operand), true))),
            Operator::Ne | Operator::Nin if is_text => {
                Ok(format!("(({}) IS NOT TRUE)", equals_any(self, texts(operand), false)))
            }
            Operator::NotContainsAll if is_text => {
                Ok(format!("(({}) IS NOT TRUE)", equals_any(self, texts(operand), true)))
            }
            Operator::ContainsAll | Operator::NotContainsAll => {
                self.one_by_one(operator, operand, |builder, operator, operand| {
                    builder.of_elements(field, array, keys, operator, operand)
                })
            }
            operator => {
                let (positive, negative) = match operator {
                    Operator::Ne => (Operator::Eq, true),
                    Operator::Nin => (Operator::In, true),
                    operator => (operator, false),
                };
                let element = Field { default: None, is_nullable: false, ..field.clone() };
                let condition = self.of_text(&element, "e.v", positive, operand)?;
                let not = if negative { "NOT " } else { "" };
                Ok(format!("({not}EXISTS (SELECT 1 FROM unnest({elements}) AS e(v) WHERE {condition}))"))
            }
        }
    }

    /// The older operators over a list: one comparison for each value.
    fn one_by_one(
        &mut self,
        operator: Operator,
        operand: &Operand,
        mut compare: impl FnMut(&mut Builder, Operator, &Operand) -> Result<String, String>,
    ) -> Result<String, String> {
        let (single, joined) = match operator {
            Operator::ContainsAll => (Operator::Eq, " AND "),
            Operator::NotContainsAll => (Operator::Ne, " OR "),
            operator => return Err(does_not_take(operator)),
        };
        let Operand::Many(scalars) = operand else { return Err(does_not_take(operator)) };
        let each = scalars
            .iter()
            .map(|scalar| compare(self, single, &Operand::One(scalar.clone())))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(match each.is_empty() {
            true => if operator == Operator::ContainsAll { EVERYTHING } else { NOTHING }.to_owned(),
            false => format!("({})", each.join(joined)),
        })
    }
}

/// The values of an operand that are UUIDs; other values become null, which equals nothing.
fn only_ids(operand: &Operand) -> Operand {
    let id = |scalar: &Scalar| match scalar {
        Scalar::Text(text) => Uuid::parse_str(text.trim()).ok().map(|id| Scalar::Text(id.to_string())),
        _ => None,
    };
    match operand {
        Operand::One(scalar) => Operand::One(id(scalar).unwrap_or(Scalar::Null)),
        Operand::Many(scalars) => Operand::Many(scalars.iter().filter_map(id).collect()),
        Operand::Flag(flag) => Operand::Flag(*flag),
    }
}

/// Comparison with null: `$eq` finds nothing, `$ne` finds records without a value, as in FOLIO.
fn of_null(value: &str, operator: Operator) -> String {
    match operator {
        Operator::Ne => format!("{value} IS NULL"),
        _ => NOTHING.to_owned(),
    }
}

fn empty_or_not(empty: &str, operand: &Operand) -> String {
    match operand {
        Operand::Flag(true) => empty.to_owned(),
        _ => format!("(NOT {empty})"),
    }
}

fn sign(operator: Operator) -> Result<&'static str, String> {
    match operator {
        Operator::Eq => Ok("="),
        Operator::Ne => Ok("<>"),
        Operator::Gt => Ok(">"),
        Operator::Gte => Ok(">="),
        Operator::Lt => Ok("<"),
        Operator::Lte => Ok("<="),
        operator => Err(does_not_take(operator)),
    }
}

fn does_not_take(operator: Operator) -> String {
    format!("The field cannot be compared by {} with such a value", operator.name())
}

/// Escapes the wildcards of LIKE.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

fn number(value: &str) -> String {
    format!("carrel.number({value})")
}

fn instant(value: &str) -> String {
    format!("carrel.instant({value})")
}

/// A number in digits that PostgreSQL can read.
fn as_number(text: String) -> Result<String, String> {
    let trimmed = text.trim();
    match trimmed.parse::<f64>() {
        Ok(number) if number.is_finite() && trimmed.len() <= 400 && number.abs() < 1e300 => {
            Ok(trimmed.to_owned())
        }
        _ => Err(format!("'{}' is not a number", shortened(&text))),
    }
}

/// The 24 hours that begin with a day or an instant in UTC.
fn window(text: &str) -> Result<(Timestamp, Timestamp), String> {
    let wrong = || {
        format!(
            "'{}' is not a date: yyyy-MM-dd or yyyy-MM-ddTHH:mm:ss.SSS, in UTC, is expected",
            shortened(text)
        )
    };
    let is_ascii_date = text.is_ascii() && (text.len() == 10 || (19..=24).contains(&text.len()));
    if !is_ascii_date {
        return Err(wrong());
    }
    let start = match text.len() {
        10 => text.parse::<Date>().map(|date| date.to_datetime(jiff::civil::Time::midnight())),
        _ => text.trim_end_matches('Z').parse::<DateTime>(),
    };
    let start = start.map_err(|_| wrong())?;
    let start = TimeZone::UTC.to_timestamp(start).map_err(|_| wrong())?;
    let end = start.checked_add(jiff::SignedDuration::from_hours(24)).map_err(|_| wrong())?;
    Ok((start, end))
}

fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}
