//! The SQL of the fields of a simple entity type: how each value is compared, and how it is shown.

use super::declaration::{
    DECLARATIONS, DataType, Declaration, FieldDeclaration, Flags, Options, Origin, Part, PropertyDeclaration,
};
use super::entity_type::{Column, CustomField, Property, Shown};
use carrel_fql::field::literal;
use carrel_fql::{Field, Fold, Kind, Source};

/// A simple type, alone or as a part of a composite one.
pub(super) struct Simple<'a> {
    pub(super) declaration: &'static Declaration,
    part: &'a Part,
}

impl std::ops::Deref for Simple<'_> {
    type Target = Part;

    fn deref(&self) -> &Part {
        self.part
    }
}

impl Simple<'_> {
    pub(super) fn of(part: &Part) -> Simple<'_> {
        Simple { declaration: &DECLARATIONS[part.type_name], part }
    }

    pub(super) fn table_alias(&self, table: &str) -> String {
        let part = &self.sql_alias;
        if table == "t" { format!("\"{part}\"") } else { format!("\"{part}__{table}\"") }
    }

    /// The SQL of a declaration with the aliases of this part.
    pub(super) fn resolve(&self, sql: &str) -> String {
        let tables = self.declaration.tables.iter();
        tables.fold(sql.to_owned(), |sql, table| {
            sql.replace(&format!("{{{}}}", table.alias), &self.table_alias(table.alias))
        })
    }

    pub(super) fn column_name(&self, name: &str) -> String {
        if self.alias.is_empty() { name.to_owned() } else { format!("{}.{name}", self.alias) }
    }

    pub(super) fn column_label(&self, label: &str) -> String {
        if self.alias.is_empty() { label.to_owned() } else { format!("{} — {label}", self.label) }
    }

    pub(super) fn property(
        &self,
        field: &FieldDeclaration,
        property: &'static PropertyDeclaration,
    ) -> Property {
        let keys = property.keys.iter().map(ToString::to_string).collect();
        Property {
            declaration: property,
            field: Field {
                kind: kind(&property.data_type),
                source: Source::Elements { array: array_of(self, &field.origin), keys },
                fold: fold(property.fold),
                default: property.options.get("default").map(str::to_owned),
                is_nullable: true,
            },
        }
    }
}

/// The tables of a part that a field comes from.
pub(super) fn used_tables(part: &Simple, tables: &[usize], origin: Option<&Origin>) -> Vec<usize> {
    match origin {
        Some(Origin::Sql(sql) | Origin::Uuid(sql)) => part
            .declaration
            .tables
            .iter()
            .zip(tables)
            .filter(|(table, _)| sql.contains(&format!("{{{}}}", table.alias)))
            .map(|(_, index)| *index)
            .collect(),
        _ => vec![tables[0]],
    }
}

fn fold(name: &str) -> Fold {
    if name.contains("unaccent") { Fold::CaseAndAccents } else { Fold::Case }
}

fn kind(data_type: &DataType) -> Kind {
    match data_type {
        DataType::RangedUuid | DataType::OpenUuid => Kind::Uuid,
        DataType::Integer | DataType::Number => Kind::Number,
        DataType::Boolean => Kind::Boolean,
        DataType::Date => Kind::Date,
        DataType::DateTime => Kind::DateTime,
        DataType::Array(element) | DataType::JsonbArray(element) => kind(element),
        DataType::String | DataType::StringUuid | DataType::Object | DataType::CustomField => Kind::Text,
    }
}

/// Keys and columns that are declared NOT NULL.
pub(super) fn is_never_null(origin: &Origin) -> bool {
    matches!(origin, Origin::Uuid("{t}.id") | Origin::Sql("{s}.status"))
}

/// A path of the document as jsonb.
fn json_at(document: &str, path: &[&str]) -> String {
    path.iter().fold(document.to_owned(), |sql, key| format!("{sql}->{}", literal(key)))
}

/// A value of a document as text, by the expression of the CQL field, so that its index serves both languages.
pub(super) fn text_of(part: &Simple, origin: &Origin) -> String {
    let document = format!("{}.doc", part.table_alias("t"));
    match origin {
        Origin::Document(path) => {
            let (last, parents) = path.split_last().expect("a path has a key");
            format!("({}->>{})", json_at(&document, parents), literal(last))
        }
        Origin::Sql(sql) => format!("({})", part.resolve(sql)),
        Origin::Uuid(sql) => format!("({})::text", part.resolve(sql)),
        Origin::Array(path, _) => format!("({})::text", json_at(&document, path)),
        Origin::CustomFields => "NULL::text".to_owned(),
    }
}

fn array_of(part: &Simple, origin: &Origin) -> String {
    match origin {
        Origin::Array(path, _) => format!("({})", json_at(&format!("{}.doc", part.table_alias("t")), path)),
        Origin::Sql(sql) => format!("({})", part.resolve(sql)),
        other => panic!("{other:?} is not an array"),
    }
}

/// How the value of a field is compared.
pub(super) fn compared(part: &Simple, field: &FieldDeclaration, is_nullable: bool) -> Field {
    let source = match (&field.origin, &field.data_type) {
        (Origin::Uuid(sql), _) => Source::Uuid(part.resolve(sql)),
        (Origin::Array(_, key), _) => Source::Elements {
            array: array_of(part, &field.origin),
            keys: Some((*key).to_owned()).filter(|key| !key.is_empty()).into_iter().collect(),
        },
        (Origin::Sql(_), DataType::Array(_) | DataType::JsonbArray(_)) => {
            Source::Elements { array: array_of(part, &field.origin), keys: Vec::new() }
        }
        (origin, _) => Source::Text(text_of(part, origin)),
    };
    Field {
        kind: kind(&field.data_type),
        source,
        fold: fold(field.fold),
        default: field.options.get("default").map(str::to_owned),
        is_nullable,
    }
}

/// How the value of a field is read and shown.
pub(super) fn shown(part: &Simple, field: &FieldDeclaration) -> Shown {
    let is_object = field.data_type.element() == Some(&DataType::Object);
    if let Some(names) = field.options.get("names") {
        let (table, name) = names.split_once('>').unwrap_or((names, "name"));
        return match &field.origin {
            Origin::Array(..) => {
                let name_sql = name_of(table, name, "e.v");
                Shown::Array(format!(
                    "(SELECT jsonb_agg({name_sql}) FROM unnest(carrel.elements({}, '')) AS e(v))",
                    array_of(part, &field.origin)
                ))
            }
            origin => Shown::Text(name_of(table, name, &text_of(part, origin))),
        };
    }
    if let Some(lookups) = field.options.get("lookup") {
        let array = array_of(part, &field.origin);
        let pairs: Vec<String> = lookups
            .split(',')
            .map(|lookup| {
                let cells: Vec<&str> = lookup.split('>').collect();
                let (id, table, key) = (cells[0], cells[1], cells[2]);
                let name = cells.get(3).copied().unwrap_or("name");
                format!("{}, {}", literal(key), name_of(table, name, &format!("(e.v->>{})", literal(id))))
            })
            .collect();
        return Shown::JsonText(format!(
            "(SELECT jsonb_agg(e.v || jsonb_build_object({})) FROM jsonb_array_elements(CASE jsonb_typeof({array}) \
             WHEN 'array' THEN {array} END) AS e(v))",
            pairs.join(", ")
        ));
    }
    match (&field.origin, &field.data_type) {
        (Origin::Array(..) | Origin::Sql(_), DataType::Array(_) | DataType::JsonbArray(_)) if is_object => {
            Shown::JsonText(array_of(part, &field.origin))
        }
        (Origin::Array(_, key), _) if !key.is_empty() => Shown::Array(format!(
            "to_jsonb(carrel.elements({}, {}))",
            array_of(part, &field.origin),
            literal(key)
        )),
        (Origin::Array(..), _) | (Origin::Sql(_), DataType::Array(_) | DataType::JsonbArray(_)) => {
            Shown::Array(array_of(part, &field.origin))
        }
        (origin, DataType::Integer | DataType::Number) => Shown::Number(text_of(part, origin)),
        (origin, _) => Shown::Text(text_of(part, origin)),
    }
}

/// The name of the record whose id is in a text.
fn name_of(table: &str, name: &str, id: &str) -> String {
    let name = match name {
        // The name of a statistical code consists of type, code and name.
        "full" => "concat((SELECT y.doc->>'name' FROM statistical_code_type y \
                   WHERE y.id = n.statistical_code_type_id), ': ', n.doc->>'code', ' - ', n.doc->>'name')"
            .to_owned(),
        name => format!("n.doc->>{}", literal(name)),
    };
    format!("(SELECT {name} FROM {table} n WHERE n.id = {})", as_uuid(id))
}

/// A text as uuid, null if it is none: a cast would abort the whole query.
pub(super) fn as_uuid(text: &str) -> String {
    format!(
        "(CASE WHEN {text} ~* '^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$' THEN {text}::uuid END)"
    )
}

/// The column of a custom field of users.
pub(super) fn custom_column(part: &Simple, tables: &[usize], custom: &CustomField, flags: Flags) -> Column {
    let document = format!("{}.doc", part.table_alias("t"));
    let path = ["customFields", custom.key.as_str()];
    let json = format!("({})", json_at(&document, &path));
    let text = format!("({}->>{})", json_at(&document, &path[..1]), literal(&custom.key));
    let (data_type, source, shown) = match custom.kind.as_str() {
        "MULTI_SELECT_DROPDOWN" => (
            DataType::JsonbArray(Box::new(DataType::String)),
            Source::Elements { array: json.clone(), keys: Vec::new() },
            Shown::Array(json),
        ),
        "SINGLE_CHECKBOX" => (DataType::Boolean, Source::Text(text.clone()), Shown::Text(text)),
        "DATE_PICKER" => (DataType::Date, Source::Text(text.clone()), Shown::Text(text)),
        _ => (DataType::String, Source::Text(text.clone()), Shown::Text(text)),
    };
    let mut values = Some(custom.options.clone()).filter(|options| !options.is_empty());
    if data_type == DataType::Boolean {
        values = Some(vec![("true".into(), "True".into()), ("false".into(), "False".into())]);
    }
    Column {
        name: part.column_name(&format!("_custom_field_{}", custom.id)),
        label: part.column_label(&custom.name),
        own_label: custom.name.clone(),
        field: Field { kind: kind(&data_type), source, fold: Fold::Case, default: None, is_nullable: true },
        data_type,
        flags,
        options: Options::default(),
        filters_on: None,
        part: part.alias.to_string(),
        origin: (part.type_name, ""),
        custom_values: values,
        shown,
        properties: Vec::new(),
        tables: vec![tables[0]],
        record_table: "users",
    }
}
