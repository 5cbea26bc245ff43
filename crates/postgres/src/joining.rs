//! Joins changes into one statement. The cost of a desk action grows with the number of its statements, so consecutive
//! changes become parts of one statement, and changes of one kind become rows of one part.

use crate::Bind;
use std::borrow::Cow;
use std::fmt::Write as _;

/// A change of one row, or a new row, in two SQL forms. In `several`, each parameter is the array of the values that
/// the rows bind to it in `one`. The first parameter identifies the row.
#[derive(Debug, PartialEq, Eq)]
pub struct RowChange {
    pub one: &'static str,
    pub several: &'static str,
}

/// A statement of a pipeline.
#[derive(Clone)]
pub(crate) struct Step {
    pub sql: Cow<'static, str>,
    pub binds: Vec<Bind>,
    /// The table that the step changes, if the step may be joined with neighboring changes.
    pub joinable: Option<TableChange>,
    /// Present if `sql` is the form for one row.
    pub rows: Option<&'static RowChange>,
}

/// Parts of one statement, at most.
const MAX_PARTS: usize = 8;
/// Rows of one part, at most.
const MAX_ROWS_PER_PART: usize = 500;
/// New rows that are listed in VALUES, at most; more are given as arrays. A list of two rows costs half as much as arrays
/// of two elements, but each length is a statement of its own.
const MAX_LISTED_ROWS: usize = 4;

/// The statements to send, with consecutive changes joined; each with the number of its first step.
pub(crate) fn joined(steps: Vec<Step>) -> (Vec<Step>, Vec<usize>) {
    let mut sent = Vec::with_capacity(steps.len());
    let mut numbers = Vec::with_capacity(steps.len());
    let mut steps = steps.into_iter().enumerate().peekable();
    while let Some((number, step)) = steps.next() {
        numbers.push(number);
        if step.joinable.is_none() {
            sent.push(step);
            continue;
        }
        let mut parts = vec![Part::of(step)];
        while let Some((_, next)) = steps.next_if(|(_, next)| can_join(&parts, next)) {
            match parts.iter_mut().find(|part| part.accepts(&next)) {
                Some(part) => part.rows.push(next.binds),
                None => parts.push(Part::of(next)),
            }
        }
        sent.push(one_statement(parts));
    }
    (sent, numbers)
}

/// One part of a joined statement.
struct Part {
    sql: Cow<'static, str>,
    table: Option<TableChange>,
    change: Option<&'static RowChange>,
    /// The binds of each row.
    rows: Vec<Vec<Bind>>,
}

impl Part {
    fn of(step: Step) -> Part {
        Part { sql: step.sql, table: step.joinable, change: step.rows, rows: vec![step.binds] }
    }

    /// Whether the step can become one more row of this part. If a statement changed one row twice, only one change
    /// would take effect, so no row occurs twice.
    fn accepts(&self, step: &Step) -> bool {
        step.rows.is_some()
            && self.change == step.rows
            && self.rows.len() < MAX_ROWS_PER_PART
            && (self.table.as_ref().is_some_and(|table| table.inserts)
                || self.rows.iter().all(|row| row.first() != step.binds.first()))
    }

    /// The statement of the part and its values.
    fn into_statement(mut self) -> (Cow<'static, str>, Vec<Bind>) {
        let listed = self.change.filter(|_| (2..=MAX_LISTED_ROWS).contains(&self.rows.len()));
        if let Some((change, values)) = listed.and_then(|change| Some((change, values_of(change)?))) {
            let mut text = change.one.to_owned();
            for index in 1..self.rows.len() {
                text.push_str(", ");
                shift_parameters(values, index * self.rows[0].len(), &mut text);
            }
            return (text.into(), self.rows.into_iter().flatten().collect());
        }
        match self.change {
            Some(change) if self.rows.len() > 1 => {
                let mut columns: Vec<Vec<Bind>> =
                    vec![Vec::with_capacity(self.rows.len()); self.rows[0].len()];
                for row in self.rows {
                    for (column, bind) in columns.iter_mut().zip(row) {
                        column.push(bind);
                    }
                }
                (change.several.into(), columns.into_iter().map(Bind::Several).collect())
            }
            _ => (self.sql, self.rows.swap_remove(0)),
        }
    }
}

/// The list of values of an insert that ends with it.
fn values_of(change: &RowChange) -> Option<&'static str> {
    let (_, values) = change.one.strip_prefix("INSERT ")?.rsplit_once("VALUES ")?;
    (values.starts_with('(') && values.ends_with(')')).then_some(values)
}

fn can_join(parts: &[Part], next: &Step) -> bool {
    let Some(table) = &next.joinable else { return false };
    parts.iter().any(|part| part.accepts(next))
        || parts.len() < MAX_PARTS
            && parts.iter().filter_map(|part| part.table.as_ref()).all(|other| table.can_join_with(other))
}

fn one_statement(mut parts: Vec<Part>) -> Step {
    if parts.len() == 1 {
        let (sql, binds) = parts.swap_remove(0).into_statement();
        return Step { sql, binds, joinable: None, rows: None };
    }
    let (mut text, mut all) = (String::from("WITH "), Vec::new());
    for (place, part) in parts.into_iter().enumerate() {
        let between = if place == 0 { "" } else { ", " };
        let _ = write!(text, "{between}change_{place} AS (");
        let (sql, binds) = part.into_statement();
        shift_parameters(&sql, all.len(), &mut text);
        text.push(')');
        all.extend(binds);
    }
    text.push_str(" SELECT 1 WHERE false");
    Step { sql: text.into(), binds: all, joinable: None, rows: None }
}

/// The table that a change affects.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TableChange {
    table: String,
    inserts: bool,
}

impl TableChange {
    pub fn of(sql: &str) -> TableChange {
        let table = changed_tables(sql).next().unwrap_or_default();
        TableChange { table: table.to_owned(), inserts: sql.trim_start().starts_with("INSERT") }
    }

    /// If a statement changed one row twice, only one change would take effect, so a statement changes a table at most
    /// once; several inserts into a table do not conflict.
    fn can_join_with(&self, other: &TableChange) -> bool {
        other.table != self.table || other.inserts && self.inserts
    }
}

/// The tables that a statement changes; for a statement that begins with WITH, those of all its parts.
pub(crate) fn changed_tables(sql: &str) -> impl Iterator<Item = &str> {
    let mut words = sql
        .split(|letter: char| letter.is_whitespace() || matches!(letter, '(' | ')' | ',' | ';'))
        .filter(|word| !word.is_empty())
        .peekable();
    let first = *words.peek().unwrap_or(&"");
    let parts = match first {
        "INSERT" | "UPDATE" | "DELETE" => 1,
        "WITH" => usize::MAX,
        _ => 0,
    };
    let mut before = "";
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            // The keywords in "FOR UPDATE", "DO UPDATE" and "ON DELETE" are not followed by a table.
            let changes = match word {
                "INSERT" => true,
                "UPDATE" => !matches!(before, "FOR" | "KEY" | "DO" | "ON"),
                "DELETE" => before != "ON",
                _ => false,
            };
            before = word;
            if changes {
                words.next_if(|word| matches!(*word, "INTO" | "FROM"));
                words.next_if(|word| *word == "ONLY");
                return words.next();
            }
        }
    })
    .take(parts)
}

/// Appends a statement with its parameters renumbered, beginning after `by`.
fn shift_parameters(sql: &str, by: usize, out: &mut String) {
    let mut pieces = sql.split('$');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        match piece[..digits].parse::<usize>() {
            Ok(number) => {
                let _ = write!(out, "${}", number + by);
            }
            Err(_) => out.push('$'),
        }
        out.push_str(&piece[digits..]);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bind, Pipeline, RowChange};

    fn texts(pipeline: Pipeline) -> Vec<(usize, String, usize)> {
        let (steps, numbers) = super::joined(pipeline.into_steps());
        steps
            .into_iter()
            .zip(numbers)
            .map(|(step, number)| (number, step.sql.into_owned(), step.binds.len()))
            .collect()
    }

    #[test]
    fn a_statement_names_the_tables_that_it_changes() {
        let changed = |sql| super::changed_tables(sql).collect::<Vec<_>>();
        for (sql, tables) in [
            ("SELECT doc FROM loan WHERE id = $1 FOR NO KEY UPDATE", &[][..]),
            ("INSERT INTO loan(id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET doc = $2", &["loan"]),
            ("UPDATE loan SET doc = $1", &["loan"]),
            ("DELETE FROM loan gone WHERE id IN (SELECT id FROM item FOR UPDATE) RETURNING id", &["loan"]),
            (
                "WITH gone AS (DELETE FROM a WHERE b RETURNING c), more AS (INSERT INTO d SELECT c FROM gone)
                 UPDATE e SET f = 1",
                &["a", "d", "e"],
            ),
        ] {
            assert_eq!(changed(sql), tables, "{sql}");
        }
    }

    #[test]
    fn a_table_is_changed_once_in_a_statement_but_gets_several_new_rows() {
        let mut pipeline = Pipeline::new();
        for sql in ["UPDATE a SET b = 1", "INSERT INTO c(d) VALUES (1)", "INSERT INTO c(d) VALUES (2)"] {
            pipeline.change(sql, vec![]);
        }
        pipeline.change("UPDATE a SET b = 2", vec![]);
        pipeline.change("DELETE FROM a WHERE b = 2", vec![]);
        let numbers: Vec<usize> = texts(pipeline).into_iter().map(|(number, ..)| number).collect();
        assert_eq!(numbers, [0, 3, 4]);
    }

    #[test]
    fn changes_that_follow_each_other_are_one_statement() {
        let mut pipeline = Pipeline::new();
        pipeline.add("SELECT $1", vec![1.into()]);
        pipeline.change("INSERT INTO a VALUES ($1, $2)", vec![1.into(), 2.into()]);
        pipeline.change("UPDATE b SET c = $2, d = '$' WHERE e = $1", vec![3.into(), 4.into()]);
        pipeline.add("SELECT 2", vec![]);
        pipeline.change("DELETE FROM f WHERE g = $1", vec![5.into()]);
        let joined = "WITH change_0 AS (INSERT INTO a VALUES ($1, $2)), \
            change_1 AS (UPDATE b SET c = $4, d = '$' WHERE e = $3) SELECT 1 WHERE false";
        assert_eq!(
            texts(pipeline),
            [
                (0, "SELECT $1".to_owned(), 1),
                (1, joined.to_owned(), 4),
                (3, "SELECT 2".to_owned(), 0),
                (4, "DELETE FROM f WHERE g = $1".to_owned(), 1),
            ]
        );
    }

    static STATE: RowChange = RowChange {
        one: "UPDATE state SET b = $2 WHERE a = $1",
        several: "UPDATE state SET b = one.b FROM unnest($1::int[], $2::int[]) one (a, b) WHERE state.a = one.a",
    };
    static EVENT: RowChange = RowChange {
        one: "INSERT INTO event (a) VALUES ($1)",
        several: "INSERT INTO event (a) SELECT * FROM unnest($1::int[])",
    };

    #[test]
    fn changes_of_one_kind_are_rows_of_one_part_wherever_they_stand_among_the_others() {
        let mut pipeline = Pipeline::new();
        for row in [1, 2] {
            pipeline.change_row(&STATE, vec![row.into(), 7.into()]);
            pipeline.change_row(&EVENT, vec![row.into()]);
        }
        let (steps, numbers) = super::joined(pipeline.into_steps());
        assert_eq!((steps.len(), numbers), (1, vec![0]));
        let column = |first: i32, second: i32| Bind::Several(vec![first.into(), second.into()]);
        assert_eq!(steps[0].binds, [column(1, 2), column(7, 7), 1.into(), 2.into()]);
        assert!(steps[0].sql.contains("INSERT INTO event (a) VALUES ($3), ($4))"), "{}", steps[0].sql);
    }

    #[test]
    fn many_new_rows_are_given_as_arrays() {
        let mut pipeline = Pipeline::new();
        let rows = 0..=i32::try_from(super::MAX_LISTED_ROWS).expect("a few");
        for row in rows.clone() {
            pipeline.change_row(&EVENT, vec![row.into()]);
        }
        let (steps, _) = super::joined(pipeline.into_steps());
        assert_eq!(steps[0].sql, EVENT.several);
        assert_eq!(steps[0].binds, [Bind::Several(rows.map(Bind::from).collect())]);
    }

    #[test]
    fn one_row_is_changed_in_the_form_for_one_and_twice_in_two_statements() {
        let mut pipeline = Pipeline::new();
        pipeline.change_row(&STATE, vec![1.into(), 7.into()]);
        pipeline.change_row(&STATE, vec![1.into(), 8.into()]);
        assert_eq!(texts(pipeline), [(0, STATE.one.to_owned(), 2), (1, STATE.one.to_owned(), 2)]);
    }
}
