//! Entity types as the files in `entity-types/` declare them.
//!
//! Each line begins with its kind; cells are separated by tabs, `-` is an empty cell:
//!
//! - `type  name  id  public|private  label  permissions`
//! - `table  alias  table  [one|left  condition]`: the table of a simple type (alias `t`), and tables joined to it
//! - `source  alias  type  label  order  flags  condition`: a part of a composite type
//! - `sort  field direction,…`
//! - `field  name  label  data type  flags  fold  origin  option=value…`
//! - `property  name  label  data type  flags  fold  key  option=value…`: of the elements of the field above
//!
//! An origin is `doc/a/b` (text in the document), `doc/a[]` (array, optionally followed by a key of its objects), `uuid
//! {t}.column`, `sql expression`, or `custom` (a field for each custom field of users). Names in braces are tables of
//! the type.

use super::custom::Document;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};
use uuid::Uuid;

/// An entity type as it is declared.
#[derive(Debug)]
pub struct Declaration {
    pub id: Uuid,
    pub name: Cow<'static, str>,
    pub label: Cow<'static, str>,
    pub is_private: bool,
    pub permissions: Vec<&'static str>,
    pub tables: Vec<Table>,
    pub parts: Vec<Part>,
    pub sort: Vec<&'static str>,
    pub fields: Vec<FieldDeclaration>,
    /// The definition of a type that a user has made.
    pub custom: Option<Document>,
}

/// A table of a simple type.
#[derive(Debug)]
pub struct Table {
    pub alias: &'static str,
    pub table: &'static str,
    /// How it is joined to the first table; `None` for the first one.
    pub join: Option<(Join, &'static str)>,
}

/// How a table is joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Exactly one row for each row.
    One,
    /// At most one row.
    Left,
    /// Rows without a partner drop out.
    Inner,
}

/// A simple type within a composite type.
#[derive(Debug, Clone)]
pub struct Part {
    /// The names of its fields begin with it and a dot.
    pub alias: Cow<'static, str>,
    /// The names of its tables begin with it.
    pub sql_alias: Cow<'static, str>,
    pub type_name: &'static str,
    pub label: Cow<'static, str>,
    /// Parts without an order come last; those of the same order are sorted by label.
    pub order: u32,
    pub essential_only: bool,
    /// Its id is part of the record's identifier.
    pub uses_ids: bool,
    pub is_inner: bool,
    pub with_custom_fields: bool,
    /// `other.field = own.field`; the first part has none.
    pub on: Option<Cow<'static, str>>,
}

impl Part {
    /// A simple type as the only part.
    pub fn whole(type_name: &'static str) -> Part {
        Part {
            alias: "".into(),
            sql_alias: "t".into(),
            type_name,
            label: "".into(),
            order: 0,
            essential_only: false,
            uses_ids: true,
            is_inner: false,
            with_custom_fields: true,
            on: None,
        }
    }

    /// The parts that its condition names.
    pub fn named_parts(&self) -> impl Iterator<Item = &str> {
        self.on.iter().flat_map(|on| on.split(" = ")).filter_map(|side| Some(side.trim().rsplit_once('.')?.0))
    }

    /// Whether its condition names itself and known parts only.
    pub fn is_joinable(&self, known: &HashSet<&str>) -> bool {
        self.named_parts().all(|name| name == self.alias || known.contains(name))
    }
}

/// A field of a simple type.
#[derive(Debug)]
pub struct FieldDeclaration {
    pub name: &'static str,
    pub label: &'static str,
    pub data_type: DataType,
    pub flags: Flags,
    pub fold: &'static str,
    pub origin: Origin,
    pub options: Options,
    pub properties: Vec<PropertyDeclaration>,
}

/// A property of the objects in an array.
#[derive(Debug)]
pub struct PropertyDeclaration {
    pub name: &'static str,
    pub label: &'static str,
    pub data_type: DataType,
    pub flags: Flags,
    pub fold: &'static str,
    /// Keys within an element; several for a nested object.
    pub keys: Vec<&'static str>,
    pub options: Options,
}

/// The origin of a field's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    Document(Vec<&'static str>),
    /// An array in the document, and a key of its objects, or empty.
    Array(Vec<&'static str>, &'static str),
    Uuid(&'static str),
    Sql(&'static str),
    CustomFields,
}

/// FOLIO's data types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataType {
    String,
    RangedUuid,
    OpenUuid,
    StringUuid,
    Integer,
    Number,
    Boolean,
    Date,
    DateTime,
    Object,
    /// An SQL array in FOLIO.
    Array(Box<DataType>),
    JsonbArray(Box<DataType>),
    CustomField,
}

/// The flags of a field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    pub is_id: bool,
    pub is_queryable: bool,
    pub is_visible: bool,
    pub is_essential: bool,
    pub is_hidden: bool,
}

/// `option=value` cells.
#[derive(Debug, Clone, Default)]
pub struct Options(HashMap<&'static str, &'static str>);

impl Options {
    pub fn get(&self, name: &str) -> Option<&'static str> {
        self.0.get(name).copied()
    }
}

/// All declared entity types, by name.
pub static DECLARATIONS: LazyLock<HashMap<&'static str, Arc<Declaration>>> = LazyLock::new(|| {
    [
        include_str!("../../entity-types/inventory.tsv"),
        include_str!("../../entity-types/users.tsv"),
        include_str!("../../entity-types/circulation.tsv"),
        include_str!("../../entity-types/fees-fines.tsv"),
        include_str!("../../entity-types/notes.tsv"),
    ]
    .into_iter()
    .flat_map(read)
    .map(|(name, declaration)| (name, Arc::new(declaration)))
    .collect()
});

/// Parses a file of declarations.
///
/// # Panics If a line does not have the form above: the files are part of the program, and a test parses them.
fn read(text: &'static str) -> Vec<(&'static str, Declaration)> {
    let mut all: Vec<(&'static str, Declaration)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let cells: Vec<&'static str> = line.split('\t').collect();
        let cell = |index: usize| cells.get(index).copied().filter(|cell| *cell != "-").unwrap_or("");
        if cell(0) == "type" {
            let declaration = Declaration {
                name: cell(1).into(),
                id: cell(2).parse().unwrap_or_else(|_| panic!("no id: {line}")),
                is_private: cell(3) == "private",
                label: cell(4).into(),
                permissions: cell(5).split(',').filter(|name| !name.is_empty()).collect(),
                tables: Vec::new(),
                parts: Vec::new(),
                sort: Vec::new(),
                fields: Vec::new(),
                custom: None,
            };
            all.push((cell(1), declaration));
            continue;
        }
        let (_, declaration) = all.last_mut().unwrap_or_else(|| panic!("no type before: {line}"));
        match cell(0) {
            "table" => declaration.tables.push(Table {
                alias: cell(1),
                table: cell(2),
                join: match cell(3) {
                    "" => None,
                    "one" => Some((Join::One, cell(4))),
                    "left" => Some((Join::Left, cell(4))),
                    other => panic!("no join '{other}': {line}"),
                },
            }),
            "source" => {
                let flags: Vec<&str> = cell(5).split(' ').collect();
                declaration.parts.push(Part {
                    alias: cell(1).into(),
                    sql_alias: cell(1).into(),
                    type_name: cell(2),
                    label: cell(3).into(),
                    order: cell(4).parse().unwrap_or(u32::MAX),
                    essential_only: flags.contains(&"essential"),
                    uses_ids: flags.contains(&"ids"),
                    is_inner: flags.contains(&"inner"),
                    with_custom_fields: true,
                    on: Some(cell(6)).filter(|on| !on.is_empty()).map(Cow::from),
                });
            }
            "sort" => declaration.sort = cell(1).split(',').collect(),
            "field" => declaration.fields.push(FieldDeclaration {
                name: cell(1),
                label: cell(2),
                data_type: data_type(cell(3)),
                flags: flags(cell(4)),
                fold: cell(5),
                origin: origin(cell(6)),
                options: options(&cells[7.min(cells.len())..]),
                properties: Vec::new(),
            }),
            "property" => {
                let field =
                    declaration.fields.last_mut().unwrap_or_else(|| panic!("no field before: {line}"));
                field.properties.push(PropertyDeclaration {
                    name: cell(1),
                    label: cell(2),
                    data_type: data_type(cell(3)),
                    flags: flags(cell(4)),
                    fold: cell(5),
                    keys: cell(6).split('/').collect(),
                    options: options(&cells[7.min(cells.len())..]),
                });
            }
            other => panic!("no word '{other}': {line}"),
        }
    }
    all
}

fn data_type(text: &'static str) -> DataType {
    let inner = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
    if let Some(element) = inner("array<") {
        return DataType::Array(Box::new(data_type(element)));
    }
    if let Some(element) = inner("jsonbArray<") {
        return DataType::JsonbArray(Box::new(data_type(element)));
    }
    match text {
        "string" => DataType::String,
        "rangedUUID" => DataType::RangedUuid,
        "openUUID" => DataType::OpenUuid,
        "stringUUID" => DataType::StringUuid,
        "integer" => DataType::Integer,
        "number" => DataType::Number,
        "boolean" => DataType::Boolean,
        "date" => DataType::Date,
        "dateTime" => DataType::DateTime,
        "object" => DataType::Object,
        "customField" => DataType::CustomField,
        other => panic!("no data type '{other}'"),
    }
}

fn flags(text: &str) -> Flags {
    let has = |name: &str| text.split(' ').any(|flag| flag == name);
    Flags {
        is_id: has("id"),
        is_queryable: has("queryable"),
        is_visible: has("visible"),
        is_essential: has("essential"),
        is_hidden: has("hidden"),
    }
}

fn origin(text: &'static str) -> Origin {
    if let Some(sql) = text.strip_prefix("sql ") {
        return Origin::Sql(sql);
    }
    if let Some(sql) = text.strip_prefix("uuid ") {
        return Origin::Uuid(sql);
    }
    if text == "custom" {
        return Origin::CustomFields;
    }
    let path = text.strip_prefix("doc/").unwrap_or_else(|| panic!("no origin '{text}'"));
    match path.split_once("[]") {
        Some((array, key)) => Origin::Array(array.split('/').collect(), key.trim_start_matches('/')),
        None => Origin::Document(path.split('/').collect()),
    }
}

fn options(cells: &[&'static str]) -> Options {
    let pair = |cell: &&'static str| cell.split_once('=').unwrap_or_else(|| panic!("no option '{cell}'"));
    Options(cells.iter().map(pair).collect())
}

impl DataType {
    /// FOLIO's name of it.
    pub fn name(&self) -> &'static str {
        match self {
            DataType::String => "stringType",
            DataType::RangedUuid => "rangedUUIDType",
            DataType::OpenUuid => "openUUIDType",
            DataType::StringUuid => "stringUUIDType",
            DataType::Integer => "integerType",
            DataType::Number => "numberType",
            DataType::Boolean => "booleanType",
            DataType::Date => "dateType",
            DataType::DateTime => "dateTimeType",
            DataType::Object => "objectType",
            DataType::Array(_) => "arrayType",
            DataType::JsonbArray(_) => "jsonbArrayType",
            DataType::CustomField => "customFieldType",
        }
    }

    /// The type of the elements of an array.
    pub fn element(&self) -> Option<&DataType> {
        match self {
            DataType::Array(element) | DataType::JsonbArray(element) => Some(element),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_declare_what_they_refer_to() {
        for declaration in DECLARATIONS.values() {
            for part in &declaration.parts {
                assert!(
                    DECLARATIONS.contains_key(part.type_name),
                    "{} of {}",
                    part.type_name,
                    declaration.name
                );
            }
            assert!(
                declaration.tables.is_empty() != declaration.parts.is_empty(),
                "{} is simple or composite",
                declaration.name
            );
            let names: Vec<&str> = declaration.fields.iter().map(|field| field.name).collect();
            for field in &declaration.fields {
                if let Some(other) = field.options.get("filtersOn") {
                    assert!(names.contains(&other), "{}.{other}", declaration.name);
                }
            }
        }
    }
}
