//! Each operator on each kind of field, as SQL.

use carrel_fql::select::{Argument, build};
use carrel_fql::{Field, Fields, Fold, Kind, Query, Source};

struct Declared;

impl Fields for Declared {
    fn find(&self, name: &str) -> Result<Field, String> {
        let field = |kind, source| Field { kind, source, fold: Fold::Case, default: None, is_nullable: true };
        let text = |path: &str| Source::Text(format!("(t.doc->>'{path}')"));
        let elements = |keys: &[&str]| Source::Elements {
            array: "(t.doc->'notes')".into(),
            keys: keys.iter().map(ToString::to_string).collect(),
        };
        Ok(match name {
            "text" => field(Kind::Text, text("text")),
            "status" => Field { is_nullable: false, ..field(Kind::Text, Source::Text("s.status".into())) },
            "suppress" => Field { default: Some("false".into()), ..field(Kind::Boolean, text("suppress")) },
            "number" => field(Kind::Number, text("number")),
            "day" => field(Kind::Date, text("day")),
            "time" => field(Kind::DateTime, text("time")),
            "id" => Field { is_nullable: false, ..field(Kind::Uuid, Source::Uuid("t.id".into())) },
            "other_id" => field(Kind::Uuid, Source::Uuid("t.other_id".into())),
            "notes" => field(Kind::Text, elements(&[])),
            "notes[*]->note" => field(Kind::Text, elements(&["note"])),
            "notes[*]->parts[*]->size" => field(Kind::Number, elements(&["parts", "", "size"])),
            _ => return Err(format!("Field {name} is not present in definition of entity type test")),
        })
    }
}

fn sql(text: &str) -> String {
    let query = Query::parse(text).expect("well formed");
    build(&query, &Declared).expect("the fields are declared").sql()
}

fn error(text: &str) -> (String, String) {
    let query = Query::parse(text).expect("well formed");
    let mut errors = build(&query, &Declared).expect_err("the query is wrong");
    let error = errors.remove(0);
    (error.field, error.message)
}

#[test]
fn texts_compare_by_the_key_that_an_index_has() {
    let key = r#"left(carrel.f_lower((t.doc->>'text')), 600) COLLATE "C""#;
    assert_eq!(sql(r#"{"text":{"$eq":"A"}}"#), format!("({key} = left(carrel.f_lower($1::text), 600))"));
    assert_eq!(
        sql(r#"{"text":{"$ne":"A"}}"#),
        format!("({key} <> left(carrel.f_lower($1::text), 600) OR (t.doc->>'text') IS NULL)")
    );
    assert_eq!(sql(r#"{"text":{"$in":["A",1]}}"#), format!("({key} = ANY (carrel.f_lower($1::text[])))"));
    assert_eq!(sql(r#"{"text":{"$starts_with":"A_"}}"#), format!("({key} LIKE carrel.f_lower($1::text))"));
    assert_eq!(
        sql(r#"{"status":{"$ne":"Available"}}"#),
        r#"(left(carrel.f_lower(s.status), 600) COLLATE "C" <> left(carrel.f_lower($1::text), 600))"#
    );
}

#[test]
fn only_negated_operators_find_records_without_a_value() {
    for operator in ["$eq", "$gt", "$gte", "$lt", "$lte"] {
        assert!(!sql(&format!(r#"{{"number":{{"{operator}":1}}}}"#)).contains("NULL"), "{operator}");
    }
    for condition in [r#""$ne":1"#, r#""$nin":[1]"#] {
        assert!(sql(&format!(r#"{{"number":{{{condition}}}}}"#)).ends_with("IS NULL)"), "{condition}");
    }
    assert_eq!(sql(r#"{"text":{"$ne":null}}"#), "((t.doc->>'text') IS NULL OR (t.doc->>'text') IS NULL)");
    assert_eq!(sql(r#"{"text":{"$eq":null}}"#), "(FALSE)");
}

#[test]
fn a_default_stands_for_an_absent_value_and_is_never_empty() {
    assert_eq!(
        sql(r#"{"suppress":{"$eq":false}}"#),
        r#"(coalesce((t.doc->>'suppress'), 'false') COLLATE "C" = $1::text)"#
    );
    assert_eq!(sql(r#"{"suppress":{"$empty":true}}"#), "FALSE");
    assert_eq!(sql(r#"{"suppress":{"$empty":"false"}}"#), "(NOT FALSE)");
}

#[test]
fn a_time_stands_for_the_24_hours_that_it_opens() {
    let query = Query::parse(r#"{"time":{"$eq":"2024-02-29T05:00:00.000"}}"#).expect("well formed");
    let built = build(&query, &Declared).expect("declared");
    let value = "carrel.instant((t.doc->>'time'))";
    assert_eq!(
        built.sql(),
        format!("(({value} >= $1::text::timestamptz AND {value} < $2::text::timestamptz))")
    );
    let text = |text: &str| Argument::Text(text.into());
    assert_eq!(built.arguments, [text("2024-02-29T05:00:00Z"), text("2024-03-01T05:00:00Z")]);
    assert!(sql(r#"{"time":{"$gt":"2024-01-01"}}"#).contains(">="));
    let (field, message) = error(r#"{"time":{"$eq":"yesterday"}}"#);
    assert_eq!(field, "time");
    assert!(message.starts_with("'yesterday' is not a date"), "{message}");
}

#[test]
fn what_is_no_uuid_equals_nothing() {
    assert_eq!(sql(r#"{"id":{"$eq":"x"}}"#), "FALSE");
    assert_eq!(sql(r#"{"id":{"$ne":"x"}}"#), "TRUE");
    assert_eq!(sql(r#"{"id":{"$in":["x"]}}"#), "(t.id = ANY ($1::text[]::uuid[]))");
    assert_eq!(
        sql(r#"{"other_id":{"$nin":["d0213d22-32cf-490f-9196-d81c3c66e53f"]}}"#),
        "(t.other_id <> ALL ($1::text[]::uuid[]) OR t.other_id IS NULL)"
    );
}

#[test]
fn numbers_may_stand_in_texts() {
    assert_eq!(
        sql(r#"{"number":{"$gte":"12.5"}}"#),
        "(carrel.number((t.doc->>'number')) >= $1::text::numeric)"
    );
    assert_eq!(error(r#"{"number":{"$eq":"many"}}"#).1, "'many' is not a number");
    assert_eq!(error(r#"{"number":{"$eq":"NaN"}}"#).1, "'NaN' is not a number");
}

#[test]
fn elements_of_arrays_are_looked_for() {
    let elements = "carrel.f_lower(carrel.elements((t.doc->'notes'), ''))";
    assert_eq!(sql(r#"{"notes":{"$eq":"A"}}"#), format!("({elements} && carrel.f_lower($1::text[]))"));
    assert_eq!(
        sql(r#"{"notes":{"$nin":["A"]}}"#),
        format!("(({elements} && carrel.f_lower($1::text[])) IS NOT TRUE)")
    );
    assert_eq!(
        sql(r#"{"notes[*]->note":{"$contains_all":["A","B"]}}"#),
        "(carrel.f_lower(carrel.elements((t.doc->'notes'), 'note')) @> carrel.f_lower($1::text[]))"
    );
    assert_eq!(
        sql(r#"{"notes[*]->note":{"$contains":"A"}}"#),
        "(EXISTS (SELECT 1 FROM unnest(carrel.elements((t.doc->'notes'), 'note')) AS e(v) \
         WHERE (carrel.f_lower(e.v) LIKE carrel.f_lower($1::text))))"
    );
    assert_eq!(
        sql(r#"{"notes[*]->parts[*]->size":{"$gt":3}}"#),
        "(EXISTS (SELECT 1 FROM unnest(carrel.elements(jsonb_path_query_array((t.doc->'notes'), \
         'lax $[*].\"parts\"[*].\"size\"'), '')) AS e(v) WHERE (carrel.number(e.v) > $1::text::numeric)))"
    );
}

#[test]
fn an_unknown_field_is_named_with_its_entity_type() {
    assert_eq!(
        error(r#"{"$and":[{"text":{"$eq":"a"}},{"nope":{"$eq":"a"}}]}"#),
        ("nope".into(), "Field nope is not present in definition of entity type test".into())
    );
}
