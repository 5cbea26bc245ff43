//! The SQL expressions of a field. Both queries and index DDL use these functions, so an index always matches the
//! query.
//!
//! Text is compared folded, cut at 600 letters (a B-tree entry holds at most some 2,700 bytes), and in the collation
//! `C`: one index then serves equality, `<`, prefixes and `ORDER BY`, it survives an upgrade of the machine's locales,
//! and comparison is cheap. The drawback is that the order follows folded letters and not the rules of a language.

use carrel_records::{Field, Kind, Source, column_name};

/// The SQL expression by which a field is compared, sorted and indexed; `table` is the plain name or alias of
/// the table whose `doc` holds the record.
pub fn expression(field: &Field, table: &str) -> String {
    Expression::of(field, table).value()
}

/// The SQL expression, a `tsvector`, in which a field's words are searched.
pub fn words_expression(field: &Field, table: &str) -> String {
    Expression::of(field, table).words()
}

/// Letters beyond this number are not in the index and are compared with the whole value.
pub(crate) const INDEXED_LETTERS: usize = 600;

/// Which differences between letters count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Folding {
    pub keeps_case: bool,
    pub keeps_accents: bool,
}

impl Folding {
    pub const FULL: Folding = Folding { keeps_case: false, keeps_accents: false };

    fn function(self) -> Option<&'static str> {
        match (self.keeps_case, self.keeps_accents) {
            (false, false) => Some("carrel.folded"),
            (false, true) => Some("carrel.f_lower"),
            (true, false) => Some("carrel.f_unaccent"),
            (true, true) => None,
        }
    }

    /// The expression, folded.
    pub fn of(self, expression: &str) -> String {
        match self.function() {
            Some(function) => format!("{function}({expression})"),
            None => expression.to_owned(),
        }
    }

    /// The folded text if no dictionary is needed for it, which saves the database the work.
    pub fn of_ascii(self, text: &str) -> Option<String> {
        match self.function() {
            None => Some(text.to_owned()),
            Some(_) if !text.is_ascii() => None,
            Some(_) if self.keeps_case => Some(text.to_owned()),
            Some(_) => Some(text.to_ascii_lowercase()),
        }
    }

    /// Word search always ignores case.
    pub fn for_words(self) -> Folding {
        Folding { keeps_case: false, ..self }
    }
}

/// The SQL of a field's value, before folding.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    /// The value as text.
    pub text: String,
    /// The value as jsonb.
    pub json: String,
    /// The value in the type of its kind, where a declaration's SQL gives it.
    typed: Option<String>,
    pub kind: Kind,
    pub folding: Folding,
}

impl Expression {
    pub fn of(field: &Field, table: &str) -> Expression {
        let folding = Folding { keeps_case: field.keeps_case, keeps_accents: field.keeps_accents };
        let document = format!("{table}.doc");
        let expression = match (field.kind, field.source) {
            (_, Source::Sql(sql)) => Expression {
                text: match field.kind {
                    Kind::Text => format!("({sql})"),
                    Kind::Uuid | Kind::Number | Kind::Boolean | Kind::Date => format!("({sql})::text"),
                    Kind::Array { .. } => format!("(({sql})#>>'{{}}')"),
                },
                json: format!("({sql})"),
                typed: Some(format!("({sql})")),
                kind: field.kind,
                folding,
            },
            (Kind::Uuid, Source::Document) => Expression::column(table, &column_name(field.name)),
            (Kind::Uuid, Source::Path(path)) => Expression::column(table, &column_name(path)),
            (_, Source::Document) => Expression::at(&document, field.name, field.kind),
            (_, Source::Path(path)) => Expression::at(&document, path, field.kind),
            (_, Source::Paths(paths)) => {
                let texts: Vec<String> =
                    paths.iter().map(|path| Expression::at(&document, path, Kind::Text).text).collect();
                let text = format!("carrel.joined({})", texts.join(", "));
                Expression { json: format!("to_jsonb({text})"), text, typed: None, kind: field.kind, folding }
            }
        };
        let text = match field.ignores_hyphens {
            true => format!("carrel.without_hyphens({})", expression.text),
            false => expression.text,
        };
        Expression { text, folding, ..expression }
    }

    /// A column of type uuid.
    pub fn column(table: &str, column: &str) -> Expression {
        let sql = format!("{table}.{column}");
        Expression {
            text: format!("{sql}::text"),
            json: format!("to_jsonb({sql})"),
            typed: Some(sql),
            kind: Kind::Uuid,
            folding: Folding::FULL,
        }
    }

    /// The value at a path of a jsonb expression; `[]` after a name stands for all elements of an array. The path must
    /// come from a declaration or a shape.
    pub fn at(document: &str, path: &str, kind: Kind) -> Expression {
        let plain = Expression { kind, folding: Folding::FULL, typed: None, ..Expression::nothing() };
        if let Some((array, subfield)) = path.split_once("[]") {
            let key = subfield.trim_start_matches('.');
            let elements = format!("carrel.elements({}, {})", json_at(document, array), literal(key));
            let text = format!("carrel.joined(VARIADIC {elements})");
            return Expression { json: format!("to_jsonb({text})"), text, ..plain };
        }
        let json = json_at(document, path);
        let text = match path.rsplit_once('.') {
            Some((parents, last)) => format!("({}->>{})", json_at(document, parents), literal(last)),
            None => format!("({document}->>{})", literal(path)),
        };
        Expression { text, json: format!("({json})"), ..plain }
    }

    /// A path of neither a declaration nor a shape: its segments are in the given argument.
    pub fn unknown(document: &str, path_argument: &str) -> Expression {
        Expression {
            text: format!("({document}#>>{path_argument})"),
            json: format!("({document}#>{path_argument})"),
            ..Expression::nothing()
        }
    }

    pub fn with(self, folding: Folding) -> Expression {
        Expression { folding, ..self }
    }

    /// The same value, compared as text whatever its kind.
    pub fn into_text(self) -> Expression {
        Expression { kind: Kind::Text, ..self }
    }

    fn nothing() -> Expression {
        Expression {
            text: String::new(),
            json: String::new(),
            typed: None,
            kind: Kind::Text,
            folding: Folding::FULL,
        }
    }

    /// The expression that is compared, sorted and indexed.
    pub fn value(&self) -> String {
        match self.kind {
            Kind::Text => {
                format!("left({}, {INDEXED_LETTERS}) COLLATE \"C\"", self.folding.of(&self.text))
            }
            Kind::Uuid => self.typed.clone().unwrap_or_else(|| format!("{}::uuid", self.text)),
            Kind::Number => match &self.typed {
                Some(sql) => format!("{sql}::numeric"),
                None => self.number(),
            },
            Kind::Boolean => format!("{} COLLATE \"C\"", self.text),
            Kind::Date => match &self.typed {
                Some(sql) => sql.clone(),
                None => format!("carrel.instant({})", self.text),
            },
            Kind::Array { subfield, .. } => self.elements(subfield),
        }
    }

    /// Like [`Self::value`] for text, but not cut.
    pub fn whole(&self) -> String {
        format!("{} COLLATE \"C\"", self.folding.of(&self.text))
    }

    pub fn number(&self) -> String {
        format!("carrel.number({})", self.text)
    }

    pub fn words(&self) -> String {
        format!("carrel.words({})", self.folding.for_words().of(&self.text))
    }

    /// The array's texts, or those under a key of its objects, folded.
    pub fn elements(&self, key: &str) -> String {
        self.folding.of(&format!("carrel.elements({}, {})", self.json, literal(key)))
    }
}

fn json_at(document: &str, path: &str) -> String {
    let mut sql = document.to_owned();
    for segment in path.split('.') {
        sql.push_str("->");
        sql.push_str(&literal(segment));
    }
    sql
}

/// A text constant of SQL; only for text from declarations and shapes.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_records::{array, boolean, date, joined, number, objects, text, uuid};

    #[test]
    fn every_kind_has_its_expression() {
        for (field, sql) in [
            (text("title"), r#"left(carrel.folded((t.doc->>'title')), 600) COLLATE "C""#),
            (
                text("status.name").keep_accents(),
                r#"left(carrel.f_lower((t.doc->'status'->>'name')), 600) COLLATE "C""#,
            ),
            (text("a").keep_case().keep_accents(), r#"left((t.doc->>'a'), 600) COLLATE "C""#),
            (
                text("a").keep_case().at("b.c"),
                r#"left(carrel.f_unaccent((t.doc->'b'->>'c')), 600) COLLATE "C""#,
            ),
            (text("a").sql("t.name"), r#"left(carrel.folded((t.name)), 600) COLLATE "C""#),
            (
                joined("full", &["a", "b[].c", "d[]"]),
                r#"left(carrel.folded(carrel.joined((t.doc->>'a'), carrel.joined(VARIADIC carrel.elements(t.doc->'b', 'c')), carrel.joined(VARIADIC carrel.elements(t.doc->'d', '')))), 600) COLLATE "C""#,
            ),
            (uuid("dates.dateTypeId"), "t.dates_date_type_id"),
            (uuid("holder").sql("t.holder_id"), "(t.holder_id)"),
            (number("position"), "carrel.number((t.doc->>'position'))"),
            (number("position").sql("t.position"), "(t.position)::numeric"),
            (boolean("active"), r#"(t.doc->>'active') COLLATE "C""#),
            (date("dueDate"), "carrel.instant((t.doc->>'dueDate'))"),
            (date("dueDate").sql("t.due"), "(t.due)"),
            (array("codes"), "carrel.folded(carrel.elements((t.doc->'codes'), ''))"),
            (objects("ids", "value", &["typeId"]), "carrel.folded(carrel.elements((t.doc->'ids'), 'value'))"),
        ] {
            assert_eq!(expression(&field, "t"), sql, "{}", field.name);
        }
        assert_eq!(
            words_expression(&text("a").keep_case().keep_accents(), "t"),
            "carrel.words(carrel.f_lower((t.doc->>'a')))"
        );
    }
}
