//! What an index name means: a field of the record, or of another record that it refers to or is referred to by.

use super::{Builder, Position, from_text};
use crate::expression::Expression;
use crate::index::{covering_unique, has_value, has_words, unique_folding};
use carrel_records::shape::{Element, Format, JsonKind, Property, Shape};
use carrel_records::{Field, Index, Kind, RecordType, column_name};
use std::collections::VecDeque;

/// A field found.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The record type that has the field.
    pub record: &'static str,
    /// The field's name for people; `?` when only the client knows it.
    pub name: String,
    pub expression: Expression,
    pub value_index: bool,
    pub words_index: bool,
    /// The shape says that the text is a UUID.
    pub holds_uuid: bool,
    /// The primary key, which is never absent.
    pub is_id: bool,
    /// The way from the record asked for.
    pub hops: Vec<Hop>,
}

/// A step between two records: the condition on the column here, and the sub-select there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hop {
    outer: String,
    inner: String,
    from: &'static str,
}

impl Builder<'_> {
    /// The field that an index names. Never fails: an unknown name is looked for in the document, as FOLIO
    /// does, and finds nothing.
    pub fn target(&mut self, index: &str) -> Target {
        if let Some(target) = declared(self.record, index) {
            return target;
        }
        if let Some((alias, rest)) = index.split_once('.') {
            // A record's own property goes before an alias several steps away.
            let steps = if has_property(self.record, alias) { 1 } else { 3 };
            if let Some((hops, record)) = self.way_to(alias, steps) {
                let mut target = self.own(record, rest);
                target.hops = hops;
                return target;
            }
        }
        self.own(self.record, index)
    }

    /// The record's field, not that of another.
    pub fn own(&mut self, record: &RecordType, index: &str) -> Target {
        if let Some(target) = declared(record, index) {
            return target;
        }
        let document = match &record.composed {
            Some(composed) => format!("({})", composed.document),
            None => format!("{}.doc", record.table),
        };
        let mut target = Target {
            record: record.name,
            name: "?".to_owned(),
            expression: Expression::at(&document, "", Kind::Text),
            value_index: false,
            words_index: false,
            holds_uuid: false,
            is_id: false,
            hops: Vec::new(),
        };
        if let Some(unique) = covering_unique(record, index)
            && let Some(path) = unique.fields.first()
        {
            // A unique set is an index too, also for a path that is no declared field.
            target.name = (*path).to_owned();
            target.expression = Expression::at(&format!("{}.doc", record.table), path, Kind::Text)
                .with(unique_folding(unique));
            target.value_index = true;
            target.holds_uuid = shaped(record, index).is_some_and(|(_, holds_uuid)| holds_uuid);
        } else if let Some((kind, holds_uuid)) = shaped(record, index) {
            target.name = index.to_owned();
            target.holds_uuid = holds_uuid;
            target.expression = Expression::at(&document, index, kind);
        } else {
            let path = index.split('.').map(str::to_owned).collect();
            let argument = self.arguments.bind(super::Argument::TextArray(path));
            target.expression = Expression::unknown(&document, &argument);
        }
        target
    }

    /// The shortest way along aliases: first to records referred to, then to records that refer to this one.
    fn way_to(&self, alias: &str, most_steps: usize) -> Option<(Vec<Hop>, &'static RecordType)> {
        self.way(alias, most_steps, |builder, from| {
            from.belongs_to
                .iter()
                .filter_map(|reference| {
                    let to = builder.all.iter().copied().find(|record| record.table == reference.to)?;
                    let hop = Hop {
                        outer: format!("{}.{}", from.table, column_name(reference.field)),
                        inner: format!("{}.id", to.table),
                        from: from_text(to),
                    };
                    Some((reference.alias?, hop, to))
                })
                .collect()
        })
        .or_else(|| {
            self.way(alias, most_steps, |builder, to| {
                let referring = builder.all.iter().copied().flat_map(|from| {
                    from.belongs_to.iter().filter(|reference| reference.to == to.table).filter_map(
                        move |reference| {
                            let hop = Hop {
                                outer: format!("{}.id", to.table),
                                inner: format!("{}.{}", from.table, column_name(reference.field)),
                                from: from_text(from),
                            };
                            Some((reference.reverse?, hop, from))
                        },
                    )
                });
                referring.collect()
            })
        })
    }

    fn way(
        &self,
        alias: &str,
        most_steps: usize,
        steps: impl Fn(&Self, &RecordType) -> Vec<(&'static str, Hop, &'static RecordType)>,
    ) -> Option<(Vec<Hop>, &'static RecordType)> {
        let mut waiting: VecDeque<Vec<(Hop, &'static RecordType)>> = VecDeque::from([Vec::new()]);
        while let Some(way) = waiting.pop_front() {
            let here = way.last().map_or(self.record, |(_, record)| *record);
            for (name, hop, to) in steps(self, here) {
                let mut longer = way.clone();
                longer.push((hop, to));
                if name == alias {
                    return Some((longer.into_iter().map(|(hop, _)| hop).collect(), to));
                }
                if longer.len() < most_steps {
                    waiting.push_back(longer);
                }
            }
        }
        None
    }
}

impl Target {
    /// The same field seen as text, for what its kind does not know; its value index does not help there.
    pub fn as_text(&self) -> Target {
        Target { expression: self.expression.clone().into_text(), value_index: false, ..self.clone() }
    }

    /// The condition on the field's record, carried over to the record asked for.
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

/// A field that needs no shape: the id, a reference, a declared field.
fn declared(record: &RecordType, index: &str) -> Option<Target> {
    let target = |expression, index: Index| Target {
        record: record.name,
        name: String::new(),
        expression,
        value_index: has_value(index),
        words_index: has_words(index),
        holds_uuid: false,
        is_id: false,
        hops: Vec::new(),
    };
    if index == "id" {
        let expression = Expression::column(record.table, "id");
        return Some(Target { name: "id".into(), is_id: true, ..target(expression, Index::Value) });
    }
    if let Some(reference) = record.belongs_to.iter().find(|reference| reference.field == index) {
        let expression = Expression::column(record.table, &column_name(reference.field));
        return Some(Target { name: reference.field.into(), ..target(expression, Index::Value) });
    }
    let field: &Field = record.fields.iter().find(|field| field.name == index)?;
    let mut found =
        Target { name: field.name.into(), ..target(Expression::of(field, record.table), field.index) };
    if let Some(unique) = covering_unique(record, index) {
        let same = found.expression.folding == unique_folding(unique) || field.kind != Kind::Text;
        found.value_index |= same;
    }
    if field.kind == Kind::Text {
        found.holds_uuid = shaped(record, index).is_some_and(|(_, holds_uuid)| holds_uuid);
    }
    Some(found)
}

/// How a path that only the shape knows compares, and whether it holds a UUID.
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
    Some((kind, property.format == Some(Format::Uuid)))
}

/// The shape names this property of the document's first level.
fn has_property(record: &RecordType, name: &str) -> bool {
    record.shape.split([';', '\n']).any(|line| {
        let rest = line.trim_start().strip_prefix(name).unwrap_or("");
        rest.starts_with([':', '.', '['])
    })
}

/// The property at a path. Only its own line of the shape is read: most queries need none, and those that do
/// need one.
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
