//! An entity type as the API shows it.

use super::declaration::{DataType, Flags, Options};
use super::entity_type::{Column, EntityType, Property};
use serde_json::{Map, Value, json};

/// The whole definition; hidden fields only if requested.
pub fn definition(entity_type: &EntityType, with_hidden: bool) -> Value {
    let declaration = &entity_type.declaration;
    if let Some(custom) = &declaration.custom {
        let mut shown = Value::Object(custom.clone());
        shown["labelAlias"] = declaration.label.clone().into();
        shown["requiredPermissions"] = entity_type.permissions.clone().into();
        shown["columns"] = columns(entity_type, with_hidden);
        return shown;
    }
    let mut parts: Vec<_> = declaration.parts.iter().collect();
    parts.sort_by(|one, other| (one.order, &one.label).cmp(&(other.order, &other.label)));
    let sources: Vec<Value> = match parts.is_empty() {
        true => declaration
            .tables
            .iter()
            .map(|table| json!({"type": "db", "alias": table.alias, "target": table.table}))
            .collect(),
        false => parts
            .iter()
            .map(|part| {
                json!({
                    "type": "entity-type",
                    "alias": part.alias,
                    "name": part.label,
                    "targetId": super::declaration::DECLARATIONS[part.type_name].id,
                    "useIdColumns": part.uses_ids,
                    "essentialOnly": part.essential_only,
                    "order": (part.order < u32::MAX).then_some(part.order),
                })
            })
            .collect(),
    };
    let sort: Vec<Value> = declaration
        .sort
        .iter()
        .filter_map(|text| text.split_once(' '))
        .map(|(column, direction)| json!({"columnName": sort_column(entity_type, column), "direction": direction}))
        .collect();
    json!({
        "id": declaration.id,
        "name": declaration.name,
        "labelAlias": declaration.label,
        "private": declaration.is_private,
        "crossTenantQueriesEnabled": false,
        "isCustom": false,
        "deleted": false,
        "requiredPermissions": entity_type.permissions,
        "defaultSort": sort,
        "sources": sources,
        "columns": columns(entity_type, with_hidden),
    })
}

fn columns(entity_type: &EntityType, with_hidden: bool) -> Value {
    let columns = entity_type.columns.iter().filter(|column| with_hidden || !column.flags.is_hidden);
    columns.map(|column| of_column(column, with_hidden)).collect()
}

/// FOLIO includes the table of the part in the name; the columns here have only the part.
fn sort_column<'a>(entity_type: &'a EntityType, name: &'a str) -> &'a str {
    let ids = entity_type.id_columns().map(|column| column.name.as_str());
    let part = name.split('.').next().unwrap_or_default();
    ids.into_iter().find(|id| id.starts_with(part)).unwrap_or(name)
}

fn of_column(column: &Column, with_hidden: bool) -> Value {
    let mut shown = Map::new();
    shown.insert("name".into(), column.name.as_str().into());
    shown.insert("labelAlias".into(), column.label.as_str().into());
    let properties = (!column.properties.is_empty()).then(|| {
        let visible = column.properties.iter().filter(|one| with_hidden || !one.declaration.flags.is_hidden);
        visible.map(|property| of_property(column, property)).collect::<Vec<Value>>()
    });
    shown.insert("dataType".into(), data_type(&column.data_type, properties));
    flags(&mut shown, column.flags);
    shown.insert("isIdColumn".into(), column.flags.is_id.into());
    let is_custom = column.name.contains("_custom_field_");
    shown.insert("isCustomField".into(), is_custom.into());
    if !column.part.is_empty() {
        shown.insert("sourceAlias".into(), column.part.as_str().into());
    }
    if let Some(other) = &column.filters_on {
        shown.insert("idColumnName".into(), other.as_str().into());
    }
    match &column.custom_values {
        Some(values) => {
            let values = values.iter().map(|(value, label)| json!({"value": value, "label": label}));
            shown.insert("values".into(), values.collect());
        }
        None => options(&mut shown, &column.options),
    }
    Value::Object(shown)
}

fn of_property(column: &Column, property: &Property) -> Value {
    let declaration = property.declaration;
    let mut shown = Map::new();
    shown.insert("name".into(), declaration.name.into());
    shown.insert("property".into(), declaration.options.get("jsonKey").unwrap_or(declaration.name).into());
    shown.insert("labelAlias".into(), declaration.label.into());
    let full = format!("{} — {}", column.own_label, declaration.label);
    shown.insert("labelAliasFullyQualified".into(), full.into());
    shown.insert("dataType".into(), data_type(&declaration.data_type, None));
    flags(&mut shown, declaration.flags);
    options(&mut shown, &declaration.options);
    Value::Object(shown)
}

fn flags(shown: &mut Map<String, Value>, flags: Flags) {
    shown.insert("queryable".into(), flags.is_queryable.into());
    shown.insert("queryOnly".into(), false.into());
    shown.insert("visibleByDefault".into(), flags.is_visible.into());
    shown.insert("essential".into(), flags.is_essential.into());
    shown.insert("hidden".into(), flags.is_hidden.into());
}

fn options(shown: &mut Map<String, Value>, options: &Options) {
    if let Some(values) = options.get("values") {
        shown.insert(
            "values".into(),
            fixed_values(values).map(|(value, label)| json!({"value": value, "label": label})).collect(),
        );
    }
    if let Some(from) = options.get("valuesFrom") {
        let source = match from.split_once('.') {
            Some((of, column)) => match super::declaration::DECLARATIONS.get(of) {
                Some(other) => json!({"type": "entity-type", "entityTypeId": other.id, "columnName": column}),
                None => json!({"type": "fqm", "name": from}),
            },
            None => json!({"type": "fqm", "name": from.trim_start_matches("built-in:")}),
        };
        shown.insert("source".into(), source);
    }
    if let Some(api) = options.get("valuesApi") {
        let cells: Vec<&str> = api.split('>').collect();
        if let [path, key, value, label] = cells[..] {
            let json_path = |name: &str| format!("$.{key}.*.{name}");
            let api =
                json!({"path": path, "valueJsonPath": json_path(value), "labelJsonPath": json_path(label)});
            shown.insert("valueSourceApi".into(), api);
        }
    }
    if let Some(operators) = options.get("operators") {
        shown.insert("availableOperators".into(), operators.split(',').collect());
    }
    if let Some(default) = options.get("default") {
        shown.insert("defaultValue".into(), default.into());
    }
    if let Some(width) = options.get("maxColumnWidth") {
        shown.insert("maxColumnWidth".into(), width.into());
    }
}

/// Value and label of each; most are their own label.
pub fn fixed_values(values: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    values.split('|').map(|value| value.split_once('>').unwrap_or((value, value)))
}

fn data_type(data_type: &DataType, properties: Option<Vec<Value>>) -> Value {
    match data_type.element() {
        Some(element) => {
            json!({"dataType": data_type.name(), "itemDataType": self::data_type(element, properties)})
        }
        None => match properties {
            Some(properties) => json!({"dataType": data_type.name(), "properties": properties}),
            None => json!({"dataType": data_type.name()}),
        },
    }
}
