//! What holds of every query.

mod library;

use carrel_cql::{Argument, Query, Statement};
use library::{ALL, INSTANCE, ITEM};
use proptest::prelude::*;

/// Text in the neighborhood of CQL.
fn nearly_cql() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(" ".to_owned()),
        "[()/<>=\"\\\\*?^@.]",
        "(and|or|not|prox|sortby|all|any|adj|==|<>|<=|cql.allRecords)",
        "(id|barcode|title|instance.title|identifiers|dueDate|position|status.name|item.barcode)",
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

/// Queries that are understood.
fn cql() -> impl Strategy<Value = String> {
    let index = r#"(id|barcode|title|instance\.title|item\.barcode|holdingsRecordId|note|x\.y|"a b"|position|dueDate)"#;
    let relation = "(=|==|<>|<|>=| all | any | adj |==/string )";
    let term = prop_oneof![
        "[a-z]{1,5}",
        "\"[a-z é%_'\\-]{0,8}\\*?\"",
        "\"(\\\\[\"\\\\*?])?[a-z]{0,3}\\*\"",
        Just("*".to_owned()),
        Just("53cf956f-c1df-410b-8bea-27f712cca7c0".to_owned()),
        "[0-9]{1,4}",
    ];
    let clause =
        (index, relation, term).prop_map(|(index, relation, term)| format!("{index}{relation}{term}"));
    clause.prop_recursive(4, 40, 5, |inner| {
        (prop::collection::vec(inner, 1..5), "( and | or | not | OR/x=1 )")
            .prop_map(|(parts, word)| format!("({})", parts.join(&word)))
    })
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "\\PC{0,60}") {
        let _ = Query::parse(&text);
    }

    #[test]
    fn no_query_breaks_the_writer(text in nearly_cql()) {
        if let Ok(query) = Query::parse(&text) {
            let printed = query.to_string();
            prop_assert_eq!(Query::parse(&printed), Ok(query.clone()), "{} → {}", text, printed);
            let _ = Statement::build(Some(&query), &ITEM, ALL);
            let _ = Statement::build(Some(&query), &INSTANCE, ALL);
        }
    }

    #[test]
    fn a_query_printed_reads_the_same(text in cql()) {
        let query = Query::parse(&text).expect("a good query");
        let printed = query.to_string();
        prop_assert_eq!(Query::parse(&printed), Ok(query.clone()), "{} → {}", text, printed);
    }

    #[test]
    fn sql_never_holds_what_the_client_wrote(
        text in cql(),
        secret in "(qwxz[a-z' ;\\-]{3,8}qq)",
        relation in "(=|==|<>|>| all |=/@identifierTypeId=x )",
        place in "(barcode|note|title|identifiers|id|position|dueDate|nothing)",
    ) {
        let hidden = format!("{text} and {place}{relation}\"{secret}\" and \"{secret}.x\"==y or a==\"{secret}*a\"");
        let query = Query::parse(&hidden).expect("a good query");
        if let Ok(built) = Statement::build(Some(&query), &INSTANCE, ALL) {
            prop_assert!(!built.conditions.contains("qwxz") && !built.order_by.contains("qwxz"), "{}", hidden);
        }
    }

    #[test]
    fn every_argument_is_used_and_none_is_missing(text in cql(), used in 0usize..3) {
        let query = Query::parse(&text).expect("a good query");
        if let Ok(built) = Statement::build_after(used, Some(&query), &ITEM, ALL) {
            let sql = format!("{} {}", built.conditions, built.order_by);
            for (place, argument) in built.arguments.iter().enumerate() {
                let kind = match argument {
                    Argument::Text(_) => "text",
                    Argument::TextArray(_) => "text[]",
                    Argument::Uuid(_) => "uuid",
                    Argument::UuidArray(_) => "uuid[]",
                    Argument::Timestamp(_) => "timestamptz",
                };
                let parameter = format!("${}::{kind}", used + place + 1);
                prop_assert!(sql.contains(&parameter), "{} lacks {}", sql, parameter);
            }
            let beyond = format!("${}::", used + built.arguments.len() + 1);
            prop_assert!(!sql.contains(&beyond));
        }
    }
}
