//! SQL fragments that resolve references to names.

/// The location of a column: display name, codes, and the names of library, campus and institution; empty if absent.
pub fn place(location: &str) -> String {
    format!(
        "coalesce((SELECT jsonb_build_object(
             'name', coalesce(place.doc->>'discoveryDisplayName', place.doc->>'name'),
             'code', place.doc->>'code', 'id', place.doc->>'id', 'isActive', (place.doc->>'isActive')::boolean,
             'campusName', campus.doc->>'name', 'libraryName', building.doc->>'name',
             'libraryCode', building.doc->>'code', 'institutionName', institution.doc->>'name',
             'locationName', place.doc->>'name')
         FROM location place
             LEFT JOIN locinstitution institution ON institution.id = place.institution_id
             LEFT JOIN loccampus campus ON campus.id = place.campus_id
             LEFT JOIN loclibrary building ON building.id = place.library_id
         WHERE place.id = {location}), '{{}}'::jsonb)"
    )
}

/// Electronic access entries, each with the name of its relationship.
pub fn addresses(list: &str) -> String {
    format!(
        "(SELECT jsonb_agg(one.value || jsonb_build_object('name', (SELECT relation.doc->>'name'
              FROM electronic_access_relationship relation
              WHERE relation.id::text = lower(one.value->>'relationshipId'))) ORDER BY one.place)
          FROM jsonb_array_elements({}) WITH ORDINALITY AS one (value, place))",
        array(list)
    )
}

/// Notes that are not staff only, each with the name of its type.
pub fn notes(list: &str, table: &str, by_id: &str, by_name: &str) -> String {
    format!(
        "(SELECT jsonb_agg(one.value - '{by_id}' - 'staffOnly' || jsonb_build_object('{by_name}',
              (SELECT kind.doc->>'name' FROM {table} kind WHERE kind.id::text = lower(one.value->>'{by_id}')))
              ORDER BY one.place)
          FROM jsonb_array_elements({}) WITH ORDINALITY AS one (value, place)
          WHERE NOT coalesce((one.value->>'staffOnly')::boolean, false))",
        array(list)
    )
}

/// Statistical codes with their types.
pub fn statistical_codes(list: &str) -> String {
    format!(
        "(SELECT jsonb_agg(jsonb_build_object('id', code.doc->>'id', 'code', code.doc->>'code',
              'name', code.doc->>'name', 'statisticalCodeType', kind.doc->>'name', 'source', kind.doc->>'source')
              ORDER BY one.place)
          FROM jsonb_array_elements_text({}) WITH ORDINALITY AS one (value, place)
              JOIN statistical_code code ON code.id::text = lower(one.value)
              JOIN statistical_code_type kind ON kind.id = code.statistical_code_type_id)",
        array(list)
    )
}

/// The name of a record of a table.
pub fn name(table: &str, id: &str) -> String {
    format!("(SELECT named.doc->>'name' FROM {table} named WHERE named.id = {id})")
}

/// The list, or an empty one.
pub fn or_empty(list: &str) -> String {
    format!("coalesce({list}, '[]'::jsonb)")
}

/// A list whose elements can be selected.
fn array(list: &str) -> String {
    format!("CASE jsonb_typeof({list}) WHEN 'array' THEN {list} ELSE '[]'::jsonb END")
}
