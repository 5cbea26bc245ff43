//! The field that an index name refers to: of the record itself, of one that it refers to, or of one that refers to it.

use super::{Builder, Position, from_text};
use crate::expression::Expression;
use crate::index::{covering_unique, has_value, has_words, unique_folding};
use carrel_records::shape::{Element, Format, JsonKind, Property, Shape};
use carrel_records::{CopyOf, Field, Kind, RecordType, ReferenceIndex, column_name};

/// A field found.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The record type that has the field.
    pub record: &'static str,
    /// The field's name in reports; `?` if only the client knows it.
    pub name: String,
    pub expression: Expression,
    pub value_index: bool,
    pub words_index: bool,
    /// The shape says that the text is a UUID.
    pub holds_uuid: bool,
    /// The field's values are compared without hyphens.
    pub ignores_hyphens: bool,
    /// The frequent values, which the index leaves out, and the expression of the others.
    pub rare_values: Option<(&'static [&'static str], Expression)>,
    /// A field of the record that contains this one, by whose index words are found.
    pub words_within: Option<Expression>,
    /// The field of another record that this one repeats.
    pub copy_of: Option<CopyOf>,
    /// The value index holds all records, so that it can sort them.
    pub sorts: bool,
    /// The primary key, which is never absent.
    pub is_id: bool,
    /// The references from the queried record to the record with the field.
    pub hops: Vec<Hop>,
}

/// One reference: the column in this table, and the sub-select in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hop {
    outer: String,
    inner: String,
    from: &'static str,
}

impl Builder<'_> {
    /// The field of an index name. An unknown name is searched in the document, as in FOLIO, and finds nothing.
    pub fn target(&mut self, index: &str) -> Target {
        if let Some(target) = declared(self.record, index) {
            return target;
        }
        if let Some((alias, rest)) = index.split_once('.')
            && let Some((hops, record)) = self.path_to(alias)
        {
            let mut target = self.own(record, rest);
            target.hops = hops;
            return target;
        }
        self.own(self.record, index)
    }

    /// The field of the record itself.
    pub fn own(&mut self, record: &RecordType, index: &str) -> Target {
        known(record, index).unwrap_or_else(|| {
            let document = document_of(record, index);
            let path = index.split('.').map(str::to_owned).collect();
            let argument = self.arguments.bind(super::Argument::TextArray(path));
            let expression = Expression::unknown(&document, &argument);
            Target::plain(record, "?", expression)
        })
    }

    /// The references that an alias stands for: to a referenced record, or to records that refer to this one.
    fn path_to(&self, alias: &str) -> Option<(Vec<Hop>, &'static RecordType)> {
        let named = |name: Option<&str>| name == Some(alias);
        let here = self.record;
        if let Some(reference) = here.belongs_to.iter().find(|reference| named(reference.alias)) {
            return self.upward(here, &[reference.field]);
        }
        if let Some(reach) = here.reaches.iter().find(|reach| named(reach.alias)) {
            return self.upward(here, reach.path);
        }
        for from in self.all.iter().copied() {
            let mut references = from.belongs_to.iter();
            if let Some(reference) = references.find(|r| r.to == here.table && named(r.reverse)) {
                return self.downward(from, &[reference.field]);
            }
            if let Some(reach) = from.reaches.iter().find(|r| r.to == here.table && named(r.reverse)) {
                return self.downward(from, reach.path);
            }
        }
        None
    }

    /// Follows references, each in the document of the previous record.
    pub(super) fn upward(&self, from: &RecordType, path: &[&str]) -> Option<(Vec<Hop>, &'static RecordType)> {
        let steps = self.steps(from, path)?;
        let arrived = steps.last()?.2;
        let hops = steps.into_iter().map(|(table, column, to)| Hop {
            outer: format!("{table}.{column}"),
            inner: format!("{}.id", to.table),
            from: from_text(to),
        });
        Some((hops.collect(), arrived))
    }

    /// The same references backwards, to the records with which the path begins.
    fn downward(&self, from: &'static RecordType, path: &[&str]) -> Option<(Vec<Hop>, &'static RecordType)> {
        let steps = self.steps(from, path)?;
        let hops = steps.iter().enumerate().rev().map(|(position, (table, column, to))| Hop {
            outer: format!("{}.id", to.table),
            inner: format!("{table}.{column}"),
            from: match position {
                0 => from_text(from),
                _ => from_text(steps[position - 1].2),
            },
        });
        Some((hops.collect(), from))
    }

    /// Table, column, and the record type referred to, of each reference on a path.
    fn steps(
        &self,
        from: &RecordType,
        path: &[&str],
    ) -> Option<Vec<(&'static str, String, &'static RecordType)>> {
        let (mut table, mut references) = (from.table, from.belongs_to);
        let mut steps = Vec::with_capacity(path.len());
        for field in path {
            let reference = references.iter().find(|reference| reference.field == *field)?;
            let to = self.all.iter().copied().find(|record| record.table == reference.to)?;
            steps.push((table, column_name(field), to));
            (table, references) = (to.table, to.belongs_to);
        }
        Some(steps)
    }
}

impl Target {
    fn plain(record: &RecordType, name: &str, expression: Expression) -> Target {
        Target {
            record: record.name,
            name: name.to_owned(),
            expression,
            value_index: false,
            words_index: false,
            holds_uuid: false,
            ignores_hyphens: false,
            rare_values: None,
            words_within: None,
            copy_of: None,
            sorts: true,
            is_id: false,
            hops: Vec::new(),
        }
    }

    /// The same field compared as text, for relations that its kind does not have; its value index does not help there.
    pub fn as_text(&self) -> Target {
        Target { expression: self.expression.clone().into_text(), value_index: false, ..self.clone() }
    }

    /// The expression to compare with these whole values: that of the rare values if all of them are known to be rare.
    pub fn expression_for<'t>(&'t self, values: impl Iterator<Item = &'t str>) -> &'t Expression {
        let Some((frequent, rare)) = &self.rare_values else { return &self.expression };
        let is_rare = |value: &str| {
            self.expression.folding.of_ascii(value).is_some_and(|folded| !frequent.contains(&folded.as_str()))
        };
        let mut values = values;
        if values.all(is_rare) { rare } else { &self.expression }
    }

    /// The condition for a copied field: records whose flag is set are found through the original, of which `found` is
    /// the condition and `self.hops` the way there; the others by their own copy.
    pub fn or_own_copy(&self, copy: &CopyOf, of: &RecordType, found: &str, own: &str) -> String {
        let Some(hop) = self.hops.first() else { return own.to_owned() };
        let (table, flag, column) = (of.table, copy.flag, column_name(copy.reference));
        // The sub-select is evaluated beforehand, so that the index on the reference serves among alternatives, and is
        // no longer than the list of records referred to, however many originals a word finds.
        format!(
            "({table}.{flag} AND {} = ANY(ARRAY(SELECT {} FROM {} WHERE {found} AND EXISTS (SELECT 1 FROM {table} \
             AS copy WHERE copy.{column} = {}))) OR {table}.{flag} IS NOT TRUE AND {own})",
            hop.outer, hop.inner, hop.from, hop.inner
        )
    }

    /// Turns a condition on the field's record into one on the queried record.
    pub fn carried(&self, inner: String, position: Position) -> String {
        let mut sql = inner;
        for (step, hop) in self.hops.iter().enumerate().rev() {
            let select = format!("SELECT {} FROM {} WHERE {sql}", hop.inner, hop.from);
            sql = if step == 0 && position == Position::Alternative {
                // Among alternatives PostgreSQL uses the index on the column only when the sub-select is
                // evaluated beforehand; elsewhere a semi-join is the better plan.
                format!("{} = ANY(ARRAY({select}))", hop.outer)
            } else {
                format!("{} IN ({select})", hop.outer)
            };
        }
        sql
    }
}

/// The jsonb expression that has a path without a declaration: the composed document only if composing can change the
/// value at the path.
fn document_of(record: &RecordType, path: &str) -> String {
    let property = path.split(['.', '[']).next().unwrap_or_default();
    match &record.composed {
        Some(composed) if composed.adds.is_empty() || composed.adds.contains(&property) => {
            format!("({})", composed.document)
        }
        _ => format!("{}.doc", record.table),
    }
}

/// A field that the record's declaration or shape has.
pub(super) fn known(record: &RecordType, index: &str) -> Option<Target> {
    if let Some(target) = declared(record, index) {
        return Some(target);
    }
    if let Some(unique) = covering_unique(record, index)
        && let Some(path) = unique.fields.first()
    {
        // A unique set is an index too, also for a path that is no declared field.
        let expression = Expression::at(&format!("{}.doc", record.table), path, Kind::Text);
        let target = Target::plain(record, path, expression.with(unique_folding(unique)));
        let holds_uuid = shaped(record, index).is_some_and(|(_, holds_uuid)| holds_uuid);
        return Some(Target { value_index: true, holds_uuid, ..target });
    }
    let (kind, holds_uuid) = shaped(record, index)?;
    let expression = Expression::at(&document_of(record, index), index, kind);
    Some(Target { holds_uuid, ..Target::plain(record, index, expression) })
}

/// An undeclared path in an order. It cannot bind an argument, since the count of the same records has no order. Only
/// names without special characters are accepted.
pub(super) fn unknown_order(record: &RecordType, index: &str) -> Option<Target> {
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'-' | b'.');
    let expression = || Expression::at(&document_of(record, index), index, Kind::Text);
    index.bytes().all(plain).then(|| Target::plain(record, "?", expression()))
}

/// A field that needs no shape: the id, a reference, a declared field.
fn declared(record: &RecordType, index: &str) -> Option<Target> {
    if index == "id" {
        let target = Target::plain(record, "id", Expression::column(record.table, "id"));
        return Some(Target { is_id: true, value_index: true, ..target });
    }
    if let Some(reference) = record.belongs_to.iter().find(|reference| reference.field == index) {
        let expression = Expression::column(record.table, &column_name(reference.field));
        return Some(Target {
            value_index: reference.index != ReferenceIndex::Missing,
            sorts: reference.index != ReferenceIndex::SkipsAbsent,
            ..Target::plain(record, reference.field, expression)
        });
    }
    let field: &Field = record.fields.iter().find(|field| field.name == index)?;
    let mut found = Target {
        value_index: has_value(field.index),
        words_index: has_words(field.index),
        ignores_hyphens: field.ignores_hyphens,
        words_within: field
            .words_within
            .and_then(|name| record.fields.iter().find(|whole| whole.name == name))
            .map(|whole| Expression::of(whole, record.table)),
        copy_of: field.copy_of,
        sorts: field.copy_of.is_none() && !field.index_skips_absent,
        rare_values: field.rare_values.map(|rare| {
            let source = carrel_records::Source::Sql(rare.sql);
            (rare.frequent, Expression::of(&Field { source, ..*field }, record.table))
        }),
        ..Target::plain(record, field.name, Expression::of(field, record.table))
    };
    if let Some(unique) = covering_unique(record, index) {
        let same = found.expression.folding == unique_folding(unique) || field.kind != Kind::Text;
        found.value_index |= same;
    }
    if field.kind == Kind::Text {
        found.holds_uuid = shaped(record, index).is_some_and(|(_, holds_uuid)| holds_uuid);
    }
    Some(found)
}

/// The kind of a path that only the shape has, and whether it is a UUID.
fn shaped(record: &RecordType, path: &str) -> Option<(Kind, bool)> {
    if record.metadata
        && let Some(part) = path.strip_prefix("metadata.")
    {
        return match part {
            "createdDate" | "updatedDate" => Some((Kind::Date, false)),
            "createdByUserId" | "updatedByUserId" => Some((Kind::Text, true)),
            "createdByUsername" | "updatedByUsername" => Some((Kind::Text, false)),
            _ => None,
        };
    }
    let property = shape_property(record, path)?;
    let kind = match (property.kind, property.format) {
        (JsonKind::Text, Some(Format::DateTime)) => Kind::Date,
        (JsonKind::Integer | JsonKind::Number, _) => Kind::Number,
        (JsonKind::Boolean, _) => Kind::Boolean,
        (JsonKind::Array(Element::Text | Element::Object | Element::Any), _) => {
            Kind::Array { subfield: "", modifiers: &[] }
        }
        (JsonKind::Text | JsonKind::Object | JsonKind::Any, _) => Kind::Text,
    };
    // An array of UUIDs is searched like any array: by the words of its text.
    let holds_uuid = property.format == Some(Format::Uuid) && property.kind == JsonKind::Text;
    Some((kind, holds_uuid))
}

/// The property at a path. Only its line of the shape is parsed: most queries need no property, and the others need
/// one.
fn shape_property(record: &RecordType, path: &str) -> Option<Property> {
    let line = record.shape.split([';', '\n']).map(str::trim).find(|line| {
        line.split_once(':').is_some_and(|(written, _)| written.trim_end_matches("[]") == path)
    })?;
    let mut shape = Shape::parse(line, false);
    let mut segments = path.split('.').peekable();
    loop {
        let mut property = shape.properties.remove(segments.next()?)?;
        if segments.peek().is_none() {
            return Some(property);
        }
        shape = std::mem::take(&mut property.inner);
    }
}
