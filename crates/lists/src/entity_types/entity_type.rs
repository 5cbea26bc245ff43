//! An entity type with all fields of its parts for one tenant.

use super::declaration::{
    DECLARATIONS, DataType, Declaration, FieldDeclaration, Flags, Join, Options, Origin, Part,
    PropertyDeclaration,
};
use super::field_sql::{
    Simple, as_uuid, compared, custom_column, is_never_null, shown, text_of, used_tables,
};
use carrel_fql::path::{FieldPath, Step};
use carrel_fql::{Field, Fields};
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
        parts.sort_by(|one, other| (one.order, &one.label).cmp(&(other.order, &other.label)));
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
            let is_nullable = !is_base || !is_never_null(&field.origin);
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

#[cfg(test)]
mod tests {
    use super::*;
    use carrel_fql::Source;

    fn entity_type(name: &str) -> EntityType {
        EntityType::of(&DECLARATIONS[name], &[])
    }

    #[test]
    fn every_declared_type_can_be_built() {
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
        let column = users.column(&format!("users._custom_field_{id}")).expect("the column exists");
        assert_eq!(column.label, "User — Shoe size");
        assert_eq!(column.shown, Shown::Text("(\"users\".doc->'customFields'->>'shoe''s')".into()));
    }
}
