//! Validation of a custom entity type's definition, and its conversion to a declaration.

use crate::entity_types::declaration::{DECLARATIONS, DataType, Declaration, FieldDeclaration, Join, Part};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use uuid::Uuid;

/// A definition in the format of the API.
pub type Document = Map<String, Value>;

/// Maximum number of parts of a type; each is a join.
const MAX_PARTS: usize = 60;
/// Maximum nesting depth of custom types.
const MAX_DEPTH: usize = 5;
/// Maximum length of a name or an alias, in bytes.
const MAX_NAME: usize = 255;

/// Why a definition is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Invalid(String),
    /// The entity type is not a custom one.
    NotCustom,
}

/// Looks up the definition of another custom type.
pub type Others<'a> = &'a dyn Fn(Uuid) -> Option<&'a Document>;

fn text<'a>(object: &'a Document, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

fn flag(object: &Document, name: &str) -> Option<bool> {
    object.get(name)?.as_bool()
}

fn sources(definition: &Document) -> Vec<&Document> {
    let all = definition.get("sources").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_object).collect()
}

/// The custom or declared types that a definition refers to.
pub fn targets(definition: &Document) -> Vec<Uuid> {
    sources(definition).iter().filter_map(|source| text(source, "targetId")?.parse().ok()).collect()
}

/// The first reason to refuse the definition for a custom type with this id.
pub fn refuse(id: Uuid, definition: &Document, others: Others) -> Result<(), Refusal> {
    let invalid = |message: &str| Err(Refusal::Invalid(message.to_owned()));
    let Some(own) = text(definition, "id") else { return invalid("Entity type ID cannot be null") };
    match own.parse::<Uuid>() {
        Ok(parsed) if parsed.to_string() != own => {
            return invalid("Invalid string provided for entity type ID");
        }
        Ok(parsed) if parsed != id => {
            return invalid(
                "Entity type ID in the request body does not match the entity type ID in the URL",
            );
        }
        Ok(_) => {}
        Err(_) => return invalid("Invalid string provided for entity type ID"),
    }
    match text(definition, "name") {
        Some(name) if name.trim().is_empty() => return invalid("Entity type name cannot be null or blank"),
        Some(name) if name.len() > MAX_NAME => return invalid("Entity type name is too long"),
        Some(_) => {}
        None => return invalid("Entity type name cannot be null or blank"),
    }
    if flag(definition, "private").is_none() {
        return invalid("Entity type must have private property set");
    }
    refuse_sources(definition, others)?;
    if flag(definition, "shared").is_none() {
        return invalid("Custom entity type must have a shared property");
    }
    if flag(definition, "isCustom") != Some(true) {
        return Err(Refusal::NotCustom);
    }
    match definition.get("columns") {
        None | Some(Value::Null) => {}
        Some(Value::Array(columns)) if columns.is_empty() => {}
        Some(_) => return invalid("Custom entity types must not contain columns"),
    }
    if flag(definition, "crossTenantQueriesEnabled") == Some(true) {
        return invalid("Custom entity must not have cross-tenant queries enabled");
    }
    Ok(())
}

fn refuse_sources(definition: &Document, others: Others) -> Result<(), Refusal> {
    let invalid = |message: String| Err(Refusal::Invalid(message));
    let all = definition.get("sources").and_then(Value::as_array);
    let Some(all) = all.filter(|all| !all.is_empty()) else {
        return invalid("Entity types must have at least one source defined".into());
    };
    let mut has_base = false;
    for source in all {
        let Some(source) = source.as_object() else {
            return invalid("A source must be an object".into());
        };
        let alias = text(source, "alias").unwrap_or_default();
        if alias.trim().is_empty() {
            return invalid("Source alias cannot be null or blank".into());
        }
        if alias.contains('.') {
            return invalid(format!("Invalid source alias: '{alias}'. Source aliases must not contain '.'"));
        }
        // Aliases are parts of field names, which conditions split.
        if alias.len() > MAX_NAME || alias.contains(['[', ']', '"', '\0']) || alias.contains("->") {
            return invalid(format!("Invalid source alias: '{alias}'"));
        }
        match text(source, "type") {
            None => return invalid(format!("Source {alias}'s type cannot be null")),
            Some("entity-type") => {}
            Some("db") => return invalid("Custom entity types must contain only entity-type sources".into()),
            Some(_) => return invalid(format!("Source {alias} is not a known type")),
        }
        let target = match source.get("targetId") {
            None | Some(Value::Null) => {
                return invalid(format!("Source {alias}'s target ID cannot be null"));
            }
            Some(id) => id,
        };
        let known = target.as_str().and_then(|id| id.parse::<Uuid>().ok());
        if !known.is_some_and(|id| declared(id).is_some() || others(id).is_some()) {
            let shown = target.as_str().map_or_else(|| target.to_string(), str::to_owned);
            return invalid(format!("Source {alias}'s target ID {shown} refers to an unknown entity type"));
        }
        let joins = [text(source, "targetField"), text(source, "sourceField")];
        if joins.iter().flatten().count() == 1 {
            return invalid(format!(
                "Source {alias} must contain both targetField and sourceField or neither"
            ));
        }
        let is_joined = joins[0].is_some();
        if !is_joined && text(source, "overrideJoinDirection").is_some() {
            return invalid(format!(
                "Source {alias} may only contain overrideJoinDirection if targetField and sourceField are also defined"
            ));
        }
        if !is_joined && has_base {
            return invalid(
                "Entity types can have only one base source; all others must define a join".into(),
            );
        }
        has_base |= !is_joined;
    }
    if !has_base {
        return invalid("Entity types must have one base source without a join defined".into());
    }
    Ok(())
}

pub fn declared(id: Uuid) -> Option<&'static Arc<Declaration>> {
    DECLARATIONS.values().find(|declaration| declaration.id == id)
}

fn simple_name(declaration: &Declaration) -> &'static str {
    let found = DECLARATIONS.get_key_value(&*declaration.name);
    found.map(|(name, _)| *name).expect("a declared type has a name")
}

/// The declaration for a valid definition; an error if its sources cannot be combined.
pub fn declaration(definition: &Document, others: Others) -> Result<Declaration, String> {
    let id = text(definition, "id").and_then(|id| id.parse().ok()).unwrap_or_default();
    let name = text(definition, "name").unwrap_or_default().to_owned();
    let mut parts = parts(definition, others, MAX_DEPTH)?;
    if parts.len() > MAX_PARTS {
        return Err(format!("Entity type {name} has more than {MAX_PARTS} sources"));
    }
    let mut aliases = HashSet::new();
    for (index, part) in parts.iter_mut().enumerate() {
        if !aliases.insert(part.alias.to_string()) {
            return Err(format!("Source alias {} is used twice", part.alias));
        }
        // A client's alias may be longer than an identifier of PostgreSQL.
        part.sql_alias = format!("s{index}").into();
        part.order = index as u32;
        // Its records are the records of the custom type.
        part.uses_ids |= part.on.is_none();
    }
    refuse_circles(&parts)?;
    Ok(Declaration {
        id,
        name: name.clone().into(),
        label: name.into(),
        is_private: flag(definition, "private") == Some(true),
        permissions: Vec::new(),
        tables: Vec::new(),
        parts,
        sort: Vec::new(),
        fields: Vec::new(),
        custom: Some(definition.clone()),
    })
}

fn parts(definition: &Document, others: Others, depth: usize) -> Result<Vec<Part>, String> {
    let mut sources = sources(definition);
    sources.sort_by_key(|source| source.get("order").and_then(Value::as_i64).unwrap_or(i64::MAX));
    let mut all: Vec<Part> = Vec::new();
    // A source may be joined to a later one.
    let mut joins: Vec<(usize, &Document)> = Vec::new();
    for source in sources {
        let target = text(source, "targetId").and_then(|id| id.parse::<Uuid>().ok()).unwrap_or_default();
        let mut inner = match (declared(target), others(target)) {
            (Some(declaration), _) if declaration.parts.is_empty() => {
                vec![Part::whole(simple_name(declaration))]
            }
            (Some(declaration), _) => declaration.parts.clone(),
            (None, Some(other)) if depth > 0 => parts(other, others, depth - 1)?,
            (None, _) => return Err(format!("Entity type {target} cannot be found")),
        };
        let alias = text(source, "alias").unwrap_or_default();
        let label = text(source, "name").filter(|name| !name.is_empty()).unwrap_or(alias);
        let is_set = |name: &str| flag(source, name) == Some(true);
        for part in &mut inner {
            part.on = part.on.as_deref().map(|on| within(alias, on).into());
            part.alias = joined(alias, &part.alias, ".").into();
            part.label = joined(label, &part.label, " — ").into();
            part.essential_only |= is_set("essentialOnly");
            part.uses_ids &= is_set("useIdColumns");
            part.with_custom_fields &= is_set("inheritCustomFields");
        }
        let base = inner.iter().position(|part| part.on.is_none()).unwrap_or_default();
        if text(source, "sourceField").is_some() {
            joins.push((all.len() + base, source));
        }
        all.extend(inner);
    }
    for (index, source) in joins {
        join(&mut all, index, source)?;
    }
    Ok(all)
}

/// Joins a part as its source defines, by two fields of which one is declared as a join to the other.
fn join(parts: &mut [Part], index: usize, source: &Document) -> Result<(), String> {
    let alias = text(source, "alias").unwrap_or_default();
    let other = text(source, "sourceField").unwrap_or_default().to_owned();
    let own = format!("{alias}.{}", text(source, "targetField").unwrap_or_default());
    let find = |name: &str| {
        let (alias, field) = name.rsplit_once('.')?;
        let part = parts.iter().find(|part| part.alias == alias)?;
        Some((part, DECLARATIONS[part.type_name].fields.iter().find(|other| other.name == field)?))
    };
    let missing = |name: &str| format!("Source {alias} is joined by the field {name}, which does not exist");
    let (other_part, other_field) = find(&other).ok_or_else(|| missing(&other))?;
    let (own_part, own_field) = find(&own).ok_or_else(|| missing(&own))?;
    let forth = declared_join(other_field, own_part, own_field);
    let back = declared_join(own_field, other_part, other_field);
    let declared = forth.or(back).ok_or_else(|| {
        format!("Source {alias} cannot be joined by {other} and {own}: neither field joins to the other")
    })?;
    let is_inner = match text(source, "overrideJoinDirection") {
        None => declared == Join::Inner,
        Some("inner") => true,
        Some("left") => false,
        Some(other) => {
            return Err(format!("Source {alias}: overrideJoinDirection '{other}' is not supported"));
        }
    };
    let part = &mut parts[index];
    part.is_inner = is_inner;
    // Several of its records may belong to one record, so that its identifier is needed as well.
    part.uses_ids |= forth.is_none();
    part.on = Some(format!("{other} = {own}").into());
    Ok(())
}

/// How a field joins to another one, by its declaration.
pub fn declared_join(from: &FieldDeclaration, to: &Part, field: &FieldDeclaration) -> Option<Join> {
    joins_of(from)
        .find(|(type_name, name, _)| *type_name == to.type_name && *name == field.name)
        .map(|(.., join)| join)
}

/// The declared joins of a field: type, field, and kind.
pub fn joins_of(
    field: &FieldDeclaration,
) -> impl Iterator<Item = (&'static str, &'static str, Join)> + use<> {
    let is_scalar = !matches!(field.data_type, DataType::Array(_) | DataType::JsonbArray(_));
    let all = field.options.get("joinsTo").filter(|_| is_scalar).unwrap_or_default();
    all.split('|').filter_map(|one| {
        let (target, how) = one.split_once(" (")?;
        let (type_name, name) = target.split_once('.')?;
        Some((type_name, name, if how.starts_with("inner") { Join::Inner } else { Join::Left }))
    })
}

fn joined(outer: &str, inner: &str, between: &str) -> String {
    if inner.is_empty() { outer.to_owned() } else { format!("{outer}{between}{inner}") }
}

/// A join condition with the aliases of a source's parts.
fn within(alias: &str, on: &str) -> String {
    let sides: Vec<String> = on.split(" = ").map(|side| format!("{alias}.{}", side.trim())).collect();
    sides.join(" = ")
}

fn refuse_circles(parts: &[Part]) -> Result<(), String> {
    let mut known: HashSet<&str> = HashSet::new();
    let mut waiting: Vec<&Part> = parts.iter().collect();
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|part| part.is_joinable(&known));
        match ready {
            Some(index) => known.insert(&waiting.remove(index).alias),
            None => return Err(format!("Source {} is joined in a circle", waiting[0].alias)),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity_types::EntityType;
    use serde_json::json;

    const USERS: &str = "bb058933-cd06-4539-bd3a-6f248ff98ee2";
    const GROUPS: &str = "e7717b38-4ff3-4fb9-ae09-b3d0c8400710";
    const ID: Uuid = Uuid::from_u128(0x1234);

    fn definition() -> Value {
        json!({"id": ID, "name": "Users and groups", "private": false, "shared": true, "isCustom": true, "sources": [
            {"type": "entity-type", "alias": "users", "name": "Users", "targetId": USERS, "useIdColumns": true},
            {"type": "entity-type", "alias": "groups", "name": "Groups", "targetId": GROUPS, "essentialOnly": true,
                "sourceField": "users.group_id", "targetField": "id"}]})
    }

    fn object(value: Value) -> Document {
        let Value::Object(object) = value else { panic!("an object") };
        object
    }

    #[test]
    fn a_custom_type_has_the_fields_of_its_sources() {
        let definition = object(definition());
        assert_eq!(refuse(ID, &definition, &|_| None), Ok(()));
        let declaration = declaration(&definition, &|_| None).expect("valid sources");
        let entity_type = EntityType::of(&Arc::new(declaration), &[]);
        assert_eq!(
            entity_type.column("users.username").map(|column| &*column.label),
            Some("Users — Username")
        );
        assert!(entity_type.column("groups.group").is_some());
        assert!(entity_type.column("groups.source").is_none(), "not essential");
        let ids: Vec<&str> = entity_type.id_columns().map(|column| &*column.name).collect();
        assert_eq!(ids, ["users.id"]);
    }

    #[test]
    fn a_type_of_several_records_to_one_needs_their_identifiers() {
        let mut definition = definition();
        definition["sources"] = json!([
            {"type": "entity-type", "alias": "g", "targetId": GROUPS},
            {"type": "entity-type", "alias": "u", "targetId": USERS, "sourceField": "g.id", "targetField": "group_id"}]);
        let declaration = declaration(&object(definition), &|_| None).expect("valid sources");
        let entity_type = EntityType::of(&Arc::new(declaration), &[]);
        let ids: Vec<&str> = entity_type.id_columns().map(|column| &*column.name).collect();
        assert_eq!(ids, ["g.id", "u.id"]);
    }

    #[test]
    fn custom_types_are_sources_of_others() {
        let inner = object(definition());
        let mut outer = definition();
        outer["id"] = Uuid::from_u128(2).to_string().into();
        outer["sources"] =
            json!([{"type": "entity-type", "alias": "all", "targetId": ID, "useIdColumns": true}]);
        let others = |id: Uuid| (id == ID).then_some(&inner);
        assert_eq!(refuse(Uuid::from_u128(2), &object(outer.clone()), &others), Ok(()));
        let declaration = declaration(&object(outer), &others).expect("valid sources");
        let entity_type = EntityType::of(&Arc::new(declaration), &[]);
        assert!(entity_type.column("all.users.username").is_some());
        // A type that contains itself is refused.
        let mut circle = definition();
        circle["sources"][0]["targetId"] = ID.to_string().into();
        let circle = object(circle);
        assert!(super::declaration(&circle, &|_| Some(&circle)).is_err());
    }

    #[test]
    fn what_is_wrong_is_named_in_order() {
        let with = |path: &str, value: Value| {
            let mut definition = definition();
            *definition.pointer_mut(path).expect("the definition has it") = value;
            object(definition)
        };
        for (path, value, message) in [
            ("/id", Value::Null, "ID cannot be null"),
            ("/id", json!("1"), "Invalid string"),
            ("/id", json!(USERS), "does not match the entity type ID in the URL"),
            ("/name", json!(" "), "name cannot be null or blank"),
            ("/private", Value::Null, "must have private property set"),
            ("/shared", Value::Null, "must have a shared property"),
            ("/sources", json!([]), "at least one source"),
            ("/sources/0/alias", json!(""), "alias cannot be null or blank"),
            ("/sources/0/alias", json!("a.b"), "must not contain '.'"),
            ("/sources/0/type", json!("database"), "not a known type"),
            ("/sources/0/type", json!("db"), "only entity-type sources"),
            ("/sources/0/targetId", Value::Null, "target ID cannot be null"),
            ("/sources/0/targetId", json!(ID), "refers to an unknown entity type"),
            ("/sources/1/targetField", Value::Null, "both targetField and sourceField or neither"),
        ] {
            let refused = refuse(ID, &with(path, value), &|_| None);
            assert!(
                matches!(&refused, Err(Refusal::Invalid(words)) if words.contains(message)),
                "{path}: {refused:?}"
            );
        }
        assert_eq!(refuse(ID, &with("/isCustom", json!(false)), &|_| None), Err(Refusal::NotCustom));
    }

    #[test]
    fn fields_that_do_not_join_are_refused() {
        let mut definition = definition();
        definition["sources"][1]["sourceField"] = "users.username".into();
        let words = declaration(&object(definition), &|_| None).expect_err("a name is not a group");
        assert!(words.contains("neither field joins to the other"), "{words}");
    }
}
