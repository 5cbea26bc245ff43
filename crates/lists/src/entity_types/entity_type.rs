//! An entity type with all fields of its parts for one tenant.

use super::declaration::{
    DECLARATIONS, DataType, Declaration, FieldDeclaration, Flags, Join, Options, Origin, Part,
    PropertyDeclaration,
};
use carrel_fql::field::literal;
use carrel_fql::path::{FieldPath, Step};
use carrel_fql::{Field, Fields, Fold, Kind, Source};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use uuid::Uuid;

/// An entity type that can be queried.
#[derive(Debug)]
pub struct EntityType {
    pub declaration: Arc<Declaration>,
    /// All required permissions: its own and those of its parts.
    pub permissions: Vec<&'static str>,
    /// In an order in which each refers only to previous ones.
    pub tables: Vec<JoinedTable>,
    /// In the order of the API.
    pub columns: Vec<Column>,
    by_name: HashMap<String, usize>,
}

/// A table of a query, under a separate alias.
#[derive(Debug)]
pub struct JoinedTable {
    /// Quoted.
    pub alias: String,
    pub table: &'static str,
    /// None for the first.
    pub join: Option<(Join, String)>,
    /// Indexes of the tables that the join refers to.
    pub needs: Vec<usize>,
}

/// A field of an entity type.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub label: String,
    pub data_type: DataType,
    pub flags: Flags,
    pub options: Options,
    /// Another column by which this one is compared.
    pub filters_on: Option<String>,
    /// The part that it comes from; empty in a simple type.
    pub part: String,
    /// The simple type of its part, and its field there.
    pub origin: (&'static str, &'static str),
    /// Values of a custom field: pairs of value and label.
    pub custom_values: Option<Vec<(String, String)>>,
    /// The label without that of the part.
    pub own_label: String,
    /// How the value is compared.
    pub field: Field,
    /// The value as it is shown.
    pub shown: Shown,
    pub properties: Vec<Property>,
    /// Indexes of the tables that the value comes from.
    pub tables: Vec<usize>,
    /// The table whose record declaration may index the value, and its expression.
    pub record_table: &'static str,
}

/// How a column's value is read and written as JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// An expression of type text: a JSON string.
    Text(String),
    /// An expression of type text that holds a number.
    Number(String),
    /// An expression of type jsonb: a JSON array.
    Array(String),
    /// An expression of type jsonb, shown as the text of it.
    JsonText(String),
}

impl Shown {
    pub fn sql(&self) -> String {
        match self {
            Shown::Text(sql) | Shown::Number(sql) => sql.clone(),
            Shown::Array(sql) | Shown::JsonText(sql) => format!("({sql})::text"),
        }
    }
}

/// A property of the objects in an array.
#[derive(Debug, Clone)]
pub struct Property {
    pub declaration: &'static PropertyDeclaration,
    pub field: Field,
}

/// A custom field of users, as the library has defined it.
#[derive(Debug, Clone)]
pub struct CustomField {
    pub id: Uuid,
    pub name: String,
    /// Key of its value in a user's `customFields`.
    pub key: String,
    pub kind: String,
    /// Value and label of each choice.
    pub options: Vec<(String, String)>,
}

impl EntityType {
    /// Combines the fields of all parts.
    pub fn of(declaration: &Arc<Declaration>, custom_fields: &[CustomField]) -> EntityType {
        let mut entity_type = EntityType {
            declaration: Arc::clone(declaration),
            permissions: declaration.permissions.clone(),
            tables: Vec::new(),
            columns: Vec::new(),
            by_name: HashMap::new(),
        };
        if declaration.parts.is_empty() {
            let (name, _) =
                DECLARATIONS.get_key_value(&*declaration.name).expect("a simple type is declared");
            let part = Part::whole(name);
            let part = Simple::of(&part);
            let tables = entity_type.add_tables(&part, None, Vec::new());
            entity_type.add_columns(&part, &tables, custom_fields);
        } else {
            entity_type.add_parts(custom_fields);
        }
        entity_type.permissions.sort_unstable();
        entity_type.permissions.dedup();
        entity_type.by_name = entity_type
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| (column.name.clone(), index))
            .collect();
        entity_type
    }

    fn add_parts(&mut self, custom_fields: &[CustomField]) {
        let declaration = Arc::clone(&self.declaration);
        let mut tables: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut waiting: Vec<&Part> = declaration.parts.iter().collect();
        // A part is joined after the part that it refers to.
        while !waiting.is_empty() {
            let known: HashSet<&str> = tables.keys().copied().collect();
            let ready = waiting.iter().position(|part| part.is_joinable(&known));
            let part = waiting.remove(ready.expect("parts refer to each other without a circle"));
            let simple = Simple::of(part);
            self.permissions.extend(&simple.declaration.permissions);
            let (join, needs) = match part.on.as_deref() {
                None => (None, Vec::new()),
                Some(on) => {
                    let kind = if part.is_inner { Join::Inner } else { Join::Left };
                    let needs = self.tables_of_condition(on, &part.alias, &tables);
                    (Some((kind, self.condition(on))), needs)
                }
            };
            let indexes = self.add_tables(&simple, join, needs);
            tables.insert(&part.alias, indexes);
        }
        let mut parts: Vec<_> = declaration.parts.iter().collect();
        parts.sort_by_key(|part| part.order);
        for part in parts {
            let custom_fields = if part.with_custom_fields { custom_fields } else { &[] };
            self.add_columns(&Simple::of(part), &tables[&*part.alias], custom_fields);
        }
    }

    /// The tables that a condition reads besides those of the part that it joins.
    fn tables_of_condition(&self, on: &str, own: &str, tables: &HashMap<&str, Vec<usize>>) -> Vec<usize> {
        let sides = on.split(" = ").filter_map(|side| side.trim().rsplit_once('.'));
        let others = sides.filter(|(alias, _)| *alias != own);
        others
            .flat_map(|(alias, field)| {
                let parts = &self.declaration.parts;
                let part = parts.iter().find(|part| part.alias == alias);
                let simple = Simple::of(part.unwrap_or_else(|| panic!("no part {alias}")));
                let field = simple.declaration.fields.iter().find(|other| other.name == field);
                used_tables(&simple, &tables[alias], field.map(|field| &field.origin))
            })
            .collect()
    }

    /// `a.x = b.y` in SQL; if both are ids, they are compared as uuid.
    fn condition(&self, on: &str) -> String {
        let side = |text: &str| {
            let (alias, field) = text.trim().rsplit_once('.').unwrap_or_else(|| panic!("no field in '{on}'"));
            let parts = &self.declaration.parts;
            let part = parts.iter().find(|part| part.alias == alias);
            let simple = Simple::of(part.unwrap_or_else(|| panic!("no part {alias}")));
            let fields = &simple.declaration.fields;
            let field = fields.iter().find(|other| other.name == field);
            let field = field.unwrap_or_else(|| panic!("no field in '{text}'"));
            match field.origin {
                Origin::Uuid(sql) => simple.resolve(sql),
                _ => as_uuid(&text_of(&simple, &field.origin)),
            }
        };
        let (left, right) = on.split_once(" = ").unwrap_or_else(|| panic!("no equation in '{on}'"));
        format!("{} = {}", side(left), side(right))
    }

    fn add_tables(&mut self, part: &Simple, join: Option<(Join, String)>, needs: Vec<usize>) -> Vec<usize> {
        let main = self.tables.len();
        let mut join = Some((join, needs));
        for table in &part.declaration.tables {
            let alias = part.table_alias(table.alias);
            let joined = match table.join {
                None => {
                    let (join, needs) = join.take().unwrap_or_default();
                    JoinedTable { alias, table: table.table, join, needs }
                }
                Some((kind, on)) => {
                    // A table that always has a row still lacks it if the part itself is missing.
                    let kind = match kind {
                        Join::One if !part.alias.is_empty() && main > 0 => Join::Left,
                        kind => kind,
                    };
                    JoinedTable {
                        alias,
                        table: table.table,
                        join: Some((kind, part.resolve(on))),
                        needs: vec![main],
                    }
                }
            };
            self.tables.push(joined);
        }
        (main..self.tables.len()).collect()
    }

    fn add_columns(&mut self, part: &Simple, tables: &[usize], custom_fields: &[CustomField]) {
        let is_base = self.tables[tables[0]].join.is_none();
        let mut fields: Vec<&FieldDeclaration> = part
            .declaration
            .fields
            .iter()
            .filter(|field| !part.essential_only || field.flags.is_essential)
            .collect();
        fields.sort_by_cached_key(|field| field.label.to_lowercase());
        for field in fields {
            if field.origin == Origin::CustomFields {
                for custom in custom_fields {
                    self.columns.push(custom_column(part, tables, custom, field.flags));
                }
                continue;
            }
            let is_nullable = !is_base || !is_always_there(&field.origin);
            let used = used_tables(part, tables, Some(&field.origin));
            let mut flags = field.flags;
            flags.is_id = flags.is_id && part.uses_ids;
            self.columns.push(Column {
                name: part.column_name(field.name),
                label: part.column_label(field.label),
                own_label: field.label.to_owned(),
                data_type: field.data_type.clone(),
                flags,
                options: field.options.clone(),
                filters_on: field.options.get("filtersOn").map(|name| part.column_name(name)),
                part: part.alias.to_string(),
                origin: (part.type_name, field.name),
                custom_values: None,
                field: compared(part, field, is_nullable),
                shown: shown(part, field),
                properties: field.properties.iter().map(|property| part.property(field, property)).collect(),
                tables: used,
                record_table: part.declaration.tables[0].table,
            });
        }
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.by_name.get(name).map(|index| &self.columns[*index])
    }

    /// Whether the user may use it: a type that a user has made may be for them alone.
    pub fn is_accessible_to(&self, user: Option<Uuid>) -> bool {
        self.declaration.custom.as_ref().is_none_or(|custom| super::custom::is_accessible_to(custom, user))
    }

    /// The columns that identify a record, in the order of the API.
    pub fn id_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.flags.is_id)
    }

    /// The column by which a query compares the field; `None` if the field does not exist.
    pub fn compared_column(&self, name: &str) -> Option<&Column> {
        let column = self.column(FieldPath::parse(name)?.column)?;
        match &column.filters_on {
            Some(other) if !name.contains("->") => self.column(other),
            _ => Some(column),
        }
    }

    fn no_such_field(&self, name: &str) -> String {
        format!("Field {name} is not present in definition of entity type {}", self.declaration.name)
    }
}

impl Fields for EntityType {
    fn find(&self, name: &str) -> Result<Field, String> {
        let missing = || self.no_such_field(name);
        let path = FieldPath::parse(name).ok_or_else(missing)?;
        if path.steps.is_empty() {
            return Ok(self.compared_column(name).ok_or_else(missing)?.field.clone());
        }
        let column = self.column(path.column).ok_or_else(missing)?;
        let [Step::Each, Step::Property(property)] = path.steps[..] else { return Err(missing()) };
        let found = column.properties.iter().find(|other| other.declaration.name == property);
        Ok(found.ok_or_else(missing)?.field.clone())
    }
}

/// A simple type, alone or as a part of a composite one.
struct Simple<'a> {
    declaration: &'static Declaration,
    part: &'a Part,
}

impl std::ops::Deref for Simple<'_> {
    type Target = Part;

    fn deref(&self) -> &Part {
        self.part
    }
}

impl Simple<'_> {
    fn of(part: &Part) -> Simple<'_> {
        Simple { declaration: &DECLARATIONS[part.type_name], part }
    }

    fn table_alias(&self, table: &str) -> String {
        let part = &self.sql_alias;
        if table == "t" { format!("\"{part}\"") } else { format!("\"{part}__{table}\"") }
    }

    /// The SQL of a declaration with the aliases of this part.
    fn resolve(&self, sql: &str) -> String {
        let tables = self.declaration.tables.iter();
        tables.fold(sql.to_owned(), |sql, table| {
            sql.replace(&format!("{{{}}}", table.alias), &self.table_alias(table.alias))
        })
    }

    fn column_name(&self, name: &str) -> String {
        if self.alias.is_empty() { name.to_owned() } else { format!("{}.{name}", self.alias) }
    }

    fn column_label(&self, label: &str) -> String {
        if self.alias.is_empty() { label.to_owned() } else { format!("{} — {label}", self.label) }
    }

    fn property(&self, field: &FieldDeclaration, property: &'static PropertyDeclaration) -> Property {
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
fn used_tables(part: &Simple, tables: &[usize], origin: Option<&Origin>) -> Vec<usize> {
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
fn is_always_there(origin: &Origin) -> bool {
    matches!(origin, Origin::Uuid("{t}.id") | Origin::Sql("{s}.status"))
}

/// A path of the document as jsonb.
fn json_at(document: &str, path: &[&str]) -> String {
    path.iter().fold(document.to_owned(), |sql, key| format!("{sql}->{}", literal(key)))
}

/// A value of a document as text, in the words of the CQL fields, so that their indexes serve both languages.
fn text_of(part: &Simple, origin: &Origin) -> String {
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
        other => panic!("{other:?} is no array"),
    }
}

fn compared(part: &Simple, field: &FieldDeclaration, is_nullable: bool) -> Field {
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

fn shown(part: &Simple, field: &FieldDeclaration) -> Shown {
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

/// What a record is called whose id stands in a text.
fn name_of(table: &str, name: &str, id: &str) -> String {
    let name = match name {
        // A statistical code is called by its type, code and name.
        "full" => "concat((SELECT y.doc->>'name' FROM statistical_code_type y \
                   WHERE y.id = n.statistical_code_type_id), ': ', n.doc->>'code', ' - ', n.doc->>'name')"
            .to_owned(),
        name => format!("n.doc->>{}", literal(name)),
    };
    format!("(SELECT {name} FROM {table} n WHERE n.id = {})", as_uuid(id))
}

/// A text as uuid, null where it is none: a cast would end the whole query.
fn as_uuid(text: &str) -> String {
    format!(
        "(CASE WHEN {text} ~* '^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}$' THEN {text}::uuid END)"
    )
}

fn custom_column(part: &Simple, tables: &[usize], custom: &CustomField, flags: Flags) -> Column {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn entity_type(name: &str) -> EntityType {
        EntityType::of(&DECLARATIONS[name], &[])
    }

    #[test]
    fn every_declared_type_can_be_put_together() {
        for declaration in DECLARATIONS.values() {
            let entity_type = EntityType::of(declaration, &[]);
            assert!(!entity_type.columns.is_empty(), "{}", declaration.name);
            assert!(entity_type.id_columns().count() > 0, "{} has no identifier", declaration.name);
            for column in &entity_type.columns {
                if let Some(other) = &column.filters_on {
                    assert!(entity_type.column(other).is_some(), "{}: {other}", declaration.name);
                }
            }
        }
    }

    #[test]
    fn a_composite_type_has_the_fields_of_its_parts() {
        for (name, columns) in [
            ("composite_item_details", 242),
            ("composite_holdings_record", 151),
            ("composite_instances", 72),
            ("composite_loan_details", 240),
            ("composite_user_details", 52),
        ] {
            assert_eq!(entity_type(name).columns.len(), columns, "{name}");
        }
        let items = entity_type("composite_item_details");
        let status = items.column("items.status_name").expect("items have a status");
        assert_eq!(status.label, "Item — Status");
        assert_eq!(status.field.source, Source::Text("(\"items__s\".status)".into()));
        assert!(!status.field.is_nullable);
    }

    #[test]
    fn a_custom_field_is_a_column() {
        let id = Uuid::nil();
        let custom = CustomField {
            id,
            name: "Shoe size".into(),
            key: "shoe's".into(),
            kind: "TEXTBOX_SHORT".into(),
            options: Vec::new(),
        };
        let users = EntityType::of(&DECLARATIONS["composite_user_details"], &[custom]);
        let column = users.column(&format!("users._custom_field_{id}")).expect("it is there");
        assert_eq!(column.label, "User — Shoe size");
        assert_eq!(column.shown, Shown::Text("(\"users\".doc->'customFields'->>'shoe''s')".into()));
    }
}
