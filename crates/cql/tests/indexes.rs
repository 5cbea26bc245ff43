//! Declarations → index DDL.

mod library;

use carrel_cql::{Query, Statement, sql};
use carrel_records::{PLAIN, RecordType, date, joined, mentions, text};
use library::{ALL, INSTANCE, ITEM};

#[test]
fn the_indexes_of_a_record_type() {
    assert_eq!(
        sql::index_ddl(&INSTANCE),
        [
            r#"CREATE UNIQUE INDEX IF NOT EXISTS instance_hrid_key ON instance ((left(carrel.folded((instance.doc->>'hrid')), 600) COLLATE "C"))"#,
            r#"CREATE INDEX IF NOT EXISTS instance_title_value ON instance ((left(carrel.folded((instance.doc->>'title')), 600) COLLATE "C"))"#,
            r#"CREATE INDEX IF NOT EXISTS instance_title_words ON instance USING gin ((carrel.words(carrel.folded((instance.doc->>'title')))))"#,
            r#"CREATE INDEX IF NOT EXISTS instance_identifiers_value ON instance USING gin ((carrel.folded(carrel.elements((instance.doc->'identifiers'), 'value'))))"#,
            r#"CREATE INDEX IF NOT EXISTS instance_identifiers_words ON instance USING gin ((carrel.words(carrel.folded((instance.doc->>'identifiers')))))"#,
            r#"CREATE INDEX IF NOT EXISTS instance_statistical_code_ids_value ON instance USING gin ((carrel.folded(carrel.elements((instance.doc->'statisticalCodeIds'), ''))))"#,
            r#"CREATE INDEX IF NOT EXISTS instance_isbn_words ON instance USING gin ((carrel.words(carrel.folded(carrel.without_hyphens((instance.doc->>'isbns'))))))"#,
        ]
    );
}

#[test]
fn references_and_columns_of_other_tables_have_their_indexes() {
    let ddl = sql::index_ddl(&ITEM);
    let both = |name: &str| {
        let begins = format!("CREATE UNIQUE INDEX IF NOT EXISTS {name} ON item ");
        ddl.iter().find(|ddl| ddl.starts_with(&begins)).map(|ddl| ddl[begins.len()..].to_owned())
    };
    assert!(both("item_module_code_key").is_some_and(|ddl| ddl.ends_with(") NULLS NOT DISTINCT")));
    assert!(both("item_hrid_key").is_some_and(|ddl| ddl.ends_with(") WHERE doc ? 'hrid'")));
    assert!(ddl.contains(
        &"CREATE INDEX IF NOT EXISTS item_holdings_record_id_ref ON item (holdings_record_id)".to_owned()
    ));
    assert!(ddl.contains(
        &r#"CREATE INDEX IF NOT EXISTS item_status_name_value ON item_state ((left((item_state.status_name), 600) COLLATE "C"))"#
            .to_owned()
    ));
}

#[test]
fn names_are_unique_and_fit_postgresql() {
    let names: Vec<String> = ALL
        .iter()
        .flat_map(|record| sql::index_ddl(record))
        .filter_map(|ddl| Some(ddl.split_once("EXISTS ")?.1.split(' ').next()?.to_owned()))
        .collect();
    let mut different = names.clone();
    different.sort();
    different.dedup();
    assert_eq!(names.len(), different.len());

    let long = sql::index_name("a_table_with_a_long_name", &"path.ofManyLevels.".repeat(5), "words");
    assert_eq!(long.len(), 63);
    assert_eq!(long, sql::index_name("a_table_with_a_long_name", &"path.ofManyLevels.".repeat(5), "words"));
    assert!(long.ends_with("_words"));
}

#[test]
fn the_functions_are_immutable_and_parallel_safe() {
    let functions = sql::HELPERS_DDL.matches("CREATE OR REPLACE FUNCTION").count();
    assert_eq!(sql::HELPERS_DDL.matches("IMMUTABLE PARALLEL SAFE").count(), functions);
}

static STATE: RecordType = RecordType {
    name: "state",
    table: "state",
    shape: "id:string(uuid); status:string; due:string(date-time)",
    fields: &[
        text("status")
            .keep_accents()
            .sql("(state.status)")
            .indexed()
            .rare_values("(state.rare_status)", &["available"]),
        text("kind").keep_accents().indexed().then("due"),
        date("due"),
    ],
    metadata: false,
    ..PLAIN
};

#[test]
fn an_index_may_continue_with_another_field() {
    let ddl = sql::index_ddl(&STATE);
    let kind = ddl.iter().find(|ddl| ddl.contains("state_kind_value")).expect("the field is indexed");
    assert!(kind.ends_with(r#"COLLATE "C"), (carrel.instant((state.doc->>'due'))))"#), "{kind}");
}

static ASKED_FOR: RecordType = RecordType {
    name: "asked",
    table: "asked",
    shape: "itemId:string(uuid); barcode:string; proxy:string; reasonId:string(uuid)",
    flags: &["keeps_copies"],
    fields: &[
        text("barcode").indexed().copy_of("itemId", "barcode", "keeps_copies"),
        text("proxy").indexed().skip_absent(),
    ],
    belongs_to: &[
        mentions("itemId", "item"),
        mentions("reasonId", "reason").skip_absent(),
        mentions("deskId", "desk").unindexed(),
    ],
    metadata: false,
    ..PLAIN
};

#[test]
fn an_index_can_leave_out_records_that_lack_the_field_or_are_found_by_another_record() {
    let ddl = sql::index_ddl(&ASKED_FOR);
    let condition = |name: &str| {
        let index = ddl.iter().find(|ddl| ddl.contains(name)).expect("the index is declared");
        index.split_once(" WHERE ").map(|(_, condition)| condition)
    };
    assert_eq!(condition("asked_item_id_ref"), None);
    assert_eq!(condition("asked_reason_id_ref"), Some("reason_id IS NOT NULL"));
    assert_eq!(condition("asked_barcode_value"), Some("keeps_copies IS NOT TRUE"));
    assert_eq!(
        condition("asked_proxy_value"),
        Some(r#"(left(carrel.folded((asked.doc->>'proxy')), 600) COLLATE "C") IS NOT NULL"#)
    );
}

#[test]
fn a_query_by_a_reference_without_an_index_is_reported() {
    assert!(!sql::index_ddl(&ASKED_FOR).iter().any(|ddl| ddl.contains("desk_id")));
    let unindexed = |cql: &str| {
        let query = Query::parse(cql).expect("the query can be read");
        let built = Statement::build(Some(&query), &ASKED_FOR, &[&ASKED_FOR, &ITEM]);
        built.expect("the query can be built").unindexed.len()
    };
    let id = "00000000-0000-4000-8000-000000000001";
    assert_eq!((unindexed(&format!("deskId=={id}")), unindexed(&format!("itemId=={id}"))), (1, 0));
}

#[test]
fn a_copied_field_is_found_through_the_original_or_by_the_own_copy() {
    let built = |cql: &str| {
        let query = Query::parse(cql).expect("the query can be read");
        Statement::build(Some(&query), &ASKED_FOR, &[&ASKED_FOR, &ITEM]).expect("the query can be built")
    };
    let found = built("barcode==A");
    assert_eq!(
        found.conditions,
        "(asked.keeps_copies AND asked.item_id = ANY(ARRAY(SELECT item.id FROM item JOIN item_state ON \
         item_state.id = item.id WHERE left(carrel.folded((item.doc->>'barcode')), 600) COLLATE \"C\" = $2::text \
         AND EXISTS (SELECT 1 FROM asked AS copy WHERE copy.item_id = item.id))) OR asked.keeps_copies IS NOT TRUE \
         AND left(carrel.folded((asked.doc->>'barcode')), 600) COLLATE \"C\" = $1::text)"
    );
    assert!(!found.scans && found.unindexed.is_empty());
    assert!(!built("barcode<>A").conditions.contains("keeps_copies"), "no index finds what differs");
    let sorted = built("cql.allRecords=1 sortBy barcode");
    assert_eq!(sorted.unindexed.len(), 1, "an index that lacks records does not sort");
}

static PERSON: RecordType = RecordType {
    name: "person",
    table: "person",
    shape: "id:string(uuid); name:string; card:string",
    fields: &[text("name").words_within("keywords"), joined("keywords", &["name", "card"]).words()],
    metadata: false,
    ..PLAIN
};

#[test]
fn the_words_of_a_part_are_found_by_the_index_of_the_whole() {
    assert_eq!(sql::index_ddl(&PERSON).len(), 1);
    let query = Query::parse("name=ada").expect("the query can be read");
    let built = Statement::build(Some(&query), &PERSON, &[&PERSON]).expect("the query can be built");
    assert_eq!(
        built.conditions,
        "(carrel.words(carrel.folded(carrel.joined((person.doc->>'name'), (person.doc->>'card')))) @@ \
         carrel.phrase($2::text[]) AND carrel.words(carrel.folded((person.doc->>'name'))) @@ carrel.phrase($1::text[]))"
    );
    assert!(!built.scans && built.unindexed.is_empty());
}

#[test]
fn rare_values_are_looked_for_in_their_own_column() {
    let conditions = |cql: &str| {
        let query = Query::parse(cql).expect("the query can be read");
        Statement::build(Some(&query), &STATE, &[&STATE]).expect("the query can be built").conditions
    };
    for (cql, column) in [
        ("status==Missing", "(state.rare_status)"),
        ("status==Available", "(state.status)"),
        ("status==(Missing or Paged)", "(state.rare_status)"),
        ("status==(Missing or Available)", "(state.status)"),
        ("status<>Missing", "(state.status)"),
    ] {
        assert!(conditions(cql).contains(column), "{cql}: {}", conditions(cql));
    }
}
