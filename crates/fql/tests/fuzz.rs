//! Whatever a client sends, nothing panics, and nothing of it becomes SQL text.

use carrel_fql::select::build;
use carrel_fql::{Field, Fields, Fold, Kind, Operator, Query, Source};
use proptest::prelude::*;
use serde_json::{Value, json};

struct Anything;

impl Fields for Anything {
    fn find(&self, name: &str) -> Result<Field, String> {
        let number = name.bytes().map(usize::from).sum::<usize>();
        let kind =
            [Kind::Text, Kind::Uuid, Kind::Number, Kind::Boolean, Kind::Date, Kind::DateTime][number % 6];
        let source = match number % 3 {
            0 => Source::Text("t.v".into()),
            1 => Source::Uuid("t.id".into()),
            _ => Source::Elements { array: "t.a".into(), keys: vec!["k".into(); number % 2] },
        };
        let fold = if number % 2 == 0 { Fold::Case } else { Fold::CaseAndAccents };
        Ok(Field { kind, source, fold, default: None, is_nullable: number % 5 > 0 })
    }
}

fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("MARK'; DROP TABLE item; --".to_owned()),
        Just("2024-01-01".to_owned()),
        Just("d0213d22-32cf-490f-9196-d81c3c66e53f".to_owned()),
        "MARK.{0,20}",
    ];
    let leaf = prop_oneof![
        text.prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            inner.prop_map(|inner| json!({"$eq": inner})),
        ]
    })
}

fn condition() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(Operator::ALL.to_vec());
    let leaf = ("MARK.{0,8}", operator, value())
        .prop_map(|(field, operator, value)| json!({ field: { operator.name(): value } }));
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop::collection::vec(inner, 0..4).prop_map(|inner| json!({ "$and": inner }))
    })
}

proptest! {
    #[test]
    fn any_text_is_a_query_or_an_error(text in ".{0,200}") {
        let _ = Query::parse(&text);
    }

    #[test]
    fn nothing_that_a_client_wrote_becomes_sql(condition in condition()) {
        if let Ok(query) = Query::parse(&condition.to_string())
            && let Ok(built) = build(&query, &Anything)
        {
            let sql = built.sql();
            prop_assert!(!sql.contains("MARK") && !sql.contains("DROP"), "{sql}");
            let open = sql.matches('(').count();
            prop_assert_eq!(open, sql.matches(')').count());
        }
    }

    #[test]
    fn a_query_that_is_printed_reads_as_the_same_query(condition in condition()) {
        if let Ok(query) = Query::parse(&condition.to_string()) {
            prop_assert_eq!(Query::parse(&query.text()), Ok(query));
        }
    }
}
