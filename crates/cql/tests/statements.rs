//! CQL → SQL and arguments, as a table.

mod library;

use carrel_cql::{Argument, Query, Statement, Where};
use carrel_records::{Index, RecordType};
use library::{ALL, HOLDINGS, INSTANCE, ITEM};

const U: &str = "53cf956f-c1df-410b-8bea-27f712cca7c0";
const V: &str = "63cf956f-c1df-410b-8bea-27f712cca7c0";

fn built(record: &RecordType, cql: &str) -> Where {
    let cql = cql.replace("$U", U).replace("$V", V);
    let query = Query::parse(&cql).unwrap_or_else(|refusal| panic!("{cql}: {refusal}"));
    let built = Statement::build(Some(&query), record, ALL);
    built.unwrap_or_else(|refusal| panic!("{cql}: {refusal}"))
}

fn shown(arguments: &[Argument]) -> String {
    let one = |argument: &Argument| match argument {
        Argument::Text(text) => text.replace('\u{10FFFF}', "…"),
        Argument::TextArray(texts) => format!("[{}]", texts.join("|")),
        Argument::Uuid(id) => id.to_string().replace(U, "U").replace(V, "V"),
        Argument::UuidArray(ids) => {
            let ids: Vec<String> =
                ids.iter().map(|id| id.to_string().replace(U, "U").replace(V, "V")).collect();
            format!("[{}]", ids.join("|"))
        }
        Argument::Timestamp(instant) => instant.to_string(),
    };
    arguments.iter().map(one).collect::<Vec<_>>().join("; ")
}

const BARCODE: &str = r#"left(carrel.folded((item.doc->>'barcode')), 600) COLLATE "C""#;

#[test]
fn conditions_on_items() {
    let rows: &[(&str, &str, &str)] = &[
        ("cql.allRecords=1", "true", ""),
        ("barcode==ABC", "{B} = $1::text", "abc"),
        ("barcode==Ärger", "{B} = carrel.folded($1::text)", "Ärger"),
        ("barcode==\"\"", "{B} = $1::text", ""),
        ("barcode==*", "(item.doc->>'barcode') IS NOT NULL", ""),
        ("barcode=*", "true", ""),
        ("barcode=\"\"", "(item.doc->>'barcode') IS NOT NULL", ""),
        ("barcode<>ABC", "{B} <> $1::text", "abc"),
        ("barcode<>*", "false", ""),
        ("barcode==ab*", "({B} >= $1::text AND {B} < $2::text)", "ab; ab…"),
        ("barcode>=5", "{B} >= $1::text", "5"),
        ("id==$U", "item.id = $1::uuid", "U"),
        ("id==($U or $V)", "item.id = ANY($1::uuid[])", "[U|V]"),
        ("id==12345", "false", ""),
        ("id==\"${placeholder}\"", "false", ""),
        ("id==NOT_FOUND or barcode==a", "{B} = $1::text", "a"),
        ("id<>NOT_FOUND", "true", ""),
        ("id=*", "true", ""),
        (
            "id==53*",
            "item.id BETWEEN $1::uuid AND $2::uuid",
            "53000000-0000-0000-0000-000000000000; 53ffffff-ffff-ffff-ffff-ffffffffffff",
        ),
        ("holdingsRecordId==\"\"", "false", ""),
        ("holdingsRecordId=\"\"", "item.holdings_record_id IS NOT NULL", ""),
        ("query=(holdingsRecordId==$U)", "item.holdings_record_id = $1::uuid", "U"),
        ("barcode==(a or b or c)", "{B} = ANY($1::text[])", "[a|b|c]"),
        (
            "barcode==(a or b* or c)",
            "({B} = ANY($1::text[]) OR ({B} >= $2::text AND {B} < $3::text))",
            "[a|c]; b; b…",
        ),
        ("barcode==a and id==$U", "({B} = $1::text AND item.id = $2::uuid)", "a; U"),
        (
            "barcode==a not id==$U and barcode==b",
            "({B} = $1::text AND (item.id = $2::uuid) IS NOT TRUE AND {B} = $3::text)",
            "a; U; b",
        ),
        ("cql.allRecords=1 NOT barcode==a", "({B} = $1::text) IS NOT TRUE", "a"),
        ("status.name<>Closed", "left((item_state.status_name), 600) COLLATE \"C\" <> $1::text", "Closed"),
        (
            "note=\"Lost & fou*\"",
            "carrel.words(carrel.folded((item.doc->>'note'))) @@ carrel.phrase($1::text[])",
            "[lost|&|fou*]",
        ),
        (
            "note all \"b a\"",
            "carrel.words(carrel.folded((item.doc->>'note'))) @@ carrel.every_word($1::text[])",
            "[b|a]",
        ),
        ("position>4", "carrel.number((item.doc->>'position')) > carrel.number($1::text)", "4"),
        ("position==x", "false", ""),
        ("position==4?", "({P} >= $1::text AND {P} < $2::text AND {W} LIKE $3::text)", "4; 4…; 4_"),
        ("discoverySuppress==t*", "({D} >= $1::text AND {D} < $2::text)", "t; t…"),
        ("discoverySuppress==TRUE", "(item.doc->>'discoverySuppress') COLLATE \"C\" = $1::text", "true"),
        (
            "dueDate<2020-11-12T03:04:05+0100",
            "carrel.instant((item.doc->>'dueDate')) < $1::timestamptz",
            "2020-11-12T02:04:05Z",
        ),
        ("dueDate<tomorrow", "false", ""),
        ("dueDate>2020", "carrel.instant((item.doc->>'dueDate')) >= $1::timestamptz", "2020-01-01T00:00:00Z"),
        (
            "dueDate<=2020-11",
            "carrel.instant((item.doc->>'dueDate')) < $1::timestamptz",
            "2020-11-01T00:00:00Z",
        ),
        (
            "nothing.like'that==a",
            "left(carrel.folded(((item.doc || item_state.doc)#>>$1::text[])), 600) COLLATE \"C\" = $2::text",
            "[nothing|like'that]; a",
        ),
        (
            "lastCheckIn.dateTime>2020-11-12",
            "carrel.instant(((item.doc || item_state.doc)->'lastCheckIn'->>'dateTime')) > $1::timestamptz",
            "2020-11-12T00:00:00Z",
        ),
        (
            "holdingsRecords.callNumber==a",
            "item.holdings_record_id IN (SELECT holdings_record.id FROM holdings_record WHERE left(carrel.f_lower((holdings_record.doc->>'callNumber')), 600) COLLATE \"C\" = $1::text)",
            "a",
        ),
        (
            "instance.title=bee",
            "item.holdings_record_id IN (SELECT holdings_record.id FROM holdings_record WHERE holdings_record.instance_id IN (SELECT instance.id FROM instance WHERE carrel.words(carrel.folded((instance.doc->>'title'))) @@ carrel.phrase($1::text[])))",
            "[bee]",
        ),
    ];
    for (cql, conditions, arguments) in rows {
        let built = built(&ITEM, cql);
        assert_eq!(built.conditions, filled(conditions), "{cql}");
        assert_eq!(shown(&built.arguments), *arguments, "{cql}");
    }
}

fn filled(conditions: &str) -> String {
    conditions
        .replace("{B}", BARCODE)
        .replace("{P}", r#"left(carrel.folded((item.doc->>'position')), 600) COLLATE "C""#)
        .replace("{W}", r#"carrel.folded((item.doc->>'position')) COLLATE "C""#)
        .replace("{D}", r#"left(carrel.folded((item.doc->>'discoverySuppress')), 600) COLLATE "C""#)
}

#[test]
fn an_instance_is_found_by_its_items() {
    let built = built(&INSTANCE, "item.barcode==7834324634");
    assert_eq!(
        built.conditions,
        format!(
            "instance.id IN (SELECT holdings_record.instance_id FROM holdings_record WHERE holdings_record.id IN \
             (SELECT item.holdings_record_id FROM item JOIN item_state ON item_state.id = item.id WHERE {BARCODE} = $1::text))"
        )
    );
    assert!(built.unindexed.is_empty() && !built.scans);
}

#[test]
fn conditions_on_arrays() {
    let rows: &[(&str, &str, &str)] = &[
        (
            r#"statisticalCodeIds=="*\"Code\"*""#,
            "carrel.folded(carrel.elements((instance.doc->'statisticalCodeIds'), '')) @> $1::text[]",
            "[code]",
        ),
        (
            "isbn=\"978-0-552 1*\"",
            "carrel.words(carrel.folded(carrel.without_hyphens((instance.doc->>'isbns')))) @@ \
             carrel.phrase($1::text[])",
            "[97805521*]",
        ),
        (
            "statisticalCodeIds==[]",
            r#"left(carrel.folded((instance.doc->>'statisticalCodeIds')), 600) COLLATE "C" = $1::text"#,
            "[]",
        ),
        (
            "identifiers=123",
            "carrel.words(carrel.folded((instance.doc->>'identifiers'))) @@ carrel.phrase($1::text[])",
            "[123]",
        ),
        (
            "identifiers=/@identifiertypeid=T 123",
            "(carrel.words(carrel.folded((instance.doc->>'identifiers'))) @@ carrel.phrase($3::text[]) AND \
             EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof((instance.doc->'identifiers')) WHEN 'array' \
             THEN (instance.doc->'identifiers') ELSE '[]' END) AS e(v) WHERE \
             carrel.words(carrel.folded((e.v->>'value'))) @@ carrel.phrase($1::text[]) AND \
             carrel.words(carrel.folded((e.v->>'identifierTypeId'))) @@ carrel.phrase($2::text[])))",
            "[123]; [t]; [123]",
        ),
        (
            "identifiers==/@identifierTypeId 123",
            "EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof((instance.doc->'identifiers')) WHEN 'array' \
             THEN (instance.doc->'identifiers') ELSE '[]' END) AS e(v) WHERE \
             left(carrel.folded((e.v->>'identifierTypeId')), 600) COLLATE \"C\" = $1::text)",
            "123",
        ),
    ];
    for (cql, conditions, arguments) in rows {
        let built = built(&INSTANCE, cql);
        assert_eq!(built.conditions, *conditions, "{cql}");
        assert_eq!(shown(&built.arguments), *arguments, "{cql}");
    }
}

#[test]
fn an_order_binds_nothing_because_a_count_has_no_order() {
    assert_eq!(built(&ITEM, "id=* sortBy a.b.c barcode").arguments, []);
}

#[test]
fn every_order_ends_with_the_id() {
    for (cql, order_by) in [
        ("id=*", "item.id"),
        ("id=* sortBy id/sort.descending barcode", "item.id DESC"),
        (
            "id=* sortby barcode/sort.descending position",
            "{B} DESC, carrel.number((item.doc->>'position')), item.id",
        ),
        ("id=* SORTBY dueDate", "carrel.instant((item.doc->>'dueDate')), item.id"),
        ("id=* sortBy barcode/number", "carrel.number((item.doc->>'barcode')), item.id"),
        ("id=* sortBy holdingsRecordId", "item.holdings_record_id, item.id"),
        (
            "id=* sortBy unknown",
            r#"left(carrel.folded(((item.doc || item_state.doc)->>'unknown')), 600) COLLATE "C", item.id"#,
        ),
        ("id=* sortBy \"it's; odd\"", "item.id"),
    ] {
        assert_eq!(built(&ITEM, cql).order_by, order_by.replace("{B}", BARCODE), "{cql}");
    }
}

#[test]
fn alternatives_in_another_record_are_found_beforehand() {
    assert_eq!(
        built(&ITEM, "barcode==x or holdingsRecords.id==$U").conditions,
        format!(
            "({BARCODE} = $1::text OR item.holdings_record_id = ANY(ARRAY(SELECT holdings_record.id \
             FROM holdings_record WHERE holdings_record.id = $2::uuid)))"
        )
    );
}

#[test]
fn boolean_words_are_read_from_left_to_right() {
    let plain = |cql: &str| built(&ITEM, cql).conditions.replace(BARCODE, "B").replace("::text", "");
    for (cql, conditions) in [
        ("barcode==a or barcode==b and barcode==c", "(B = ANY($1[]) AND B = $2)"),
        ("barcode==a and barcode==b or barcode==c", "((B = $1 AND B = $2) OR B = $3)"),
        ("barcode==a or (barcode==b and barcode==c)", "((B = $1 AND B = $2) OR B = $3)"),
        ("barcode==a or (barcode==b or (barcode==c))", "B = ANY($1[])"),
        ("barcode==a not (barcode==b or barcode<>c)", "(B = $1 AND ((B = $2 OR B <> $3)) IS NOT TRUE)"),
        // FOLIO quirk.
        ("barcode==a or barcode=*", "B = $1"),
        ("barcode=* or barcode==a", "true"),
    ] {
        assert_eq!(plain(cql), conditions, "{cql}");
    }
}

#[test]
fn a_thousand_alternatives_are_one_list() {
    let terms: Vec<String> = (0..1000).map(|n| format!("barcode=={n}")).collect();
    let built = built(&ITEM, &terms.join(" or "));
    assert_eq!(built.conditions, format!("{BARCODE} = ANY($1::text[])"));
    assert!(matches!(built.arguments.as_slice(), [Argument::TextArray(list)] if list.len() == 1000));
}

#[test]
fn a_long_term_is_compared_with_the_whole_value_too() {
    let long = "f".repeat(700);
    let whole = r#"carrel.folded((item.doc->>'barcode')) COLLATE "C""#;
    let conditions = |relation: &str| built(&ITEM, &format!("barcode{relation}{long}")).conditions;
    assert_eq!(conditions("=="), format!("({BARCODE} = left($1::text, 600) AND {whole} = $1::text)"));
    assert_eq!(conditions("<"), format!("({BARCODE} <= left($1::text, 600) AND {whole} < $1::text)"));
    assert_eq!(conditions("<>"), format!("{whole} <> $1::text"));
}

#[test]
fn arguments_begin_behind_those_of_the_caller() {
    let query = Query::parse("barcode==a and id==$U".replace("$U", U).as_str()).expect("a good query");
    let built = Statement::build_after(7, Some(&query), &ITEM, ALL).expect("a good query");
    assert_eq!(built.conditions, format!("({BARCODE} = $8::text AND item.id = $9::uuid)"));
}

#[test]
fn no_query_asks_for_everything() {
    let built = Statement::build(None, &ITEM, ALL).expect("nothing to refuse");
    assert_eq!((built.conditions.as_str(), built.order_by.as_str()), ("true", "item.id"));
    assert_eq!(built.from, "item JOIN item_state ON item_state.id = item.id");
    assert!(!built.scans);
}

#[test]
fn missing_indexes_are_reported_and_so_is_a_scan() {
    let reported = |record: &RecordType, cql: &str| {
        let built = built(record, cql);
        let missing: Vec<String> = built
            .unindexed
            .iter()
            .map(|u| format!("{} {} {} {:?}", u.record, u.field, u.relation, u.needs))
            .collect();
        (missing.join("; "), built.scans)
    };
    let reported = |record, cql: &str| -> (String, bool) { reported(record, cql) };
    for (cql, missing, scans) in [
        ("barcode==a", "", false),
        ("barcode=a", "item barcode = Words", true),
        ("barcode==a and lastCheckIn.dateTime>2020-01-01", "item lastCheckIn.dateTime > Value", false),
        ("barcode==a or lastCheckIn.dateTime>2020-01-01", "item lastCheckIn.dateTime > Value", true),
        ("barcode==*a", "item barcode == None", true),
        ("secret.path==a", "item ? == Value", true),
        ("barcode<>a", "", true),
        ("holdingsRecords.callNumber=a", "holdingsRecord callNumber = Words", true),
        ("barcode==a sortBy note", "item note sortBy Value", false),
        ("cql.allRecords=1 not barcode==a", "", true),
    ] {
        assert_eq!(reported(&ITEM, cql), (missing.to_owned(), scans), "{cql}");
    }
    assert_eq!(reported(&INSTANCE, "hrid==in1"), (String::new(), false), "a unique set is an index");
    assert_eq!(built(&ITEM, "barcode=a").unindexed[0].needs, Index::Words);
}

#[test]
fn what_folio_refuses_is_refused() {
    for (record, cql, message) in [
        (&ITEM, "foo", "a term needs an index"),
        (&ITEM, "barcode=/regexp a", "Unsupported relation modifier regexp"),
        (&ITEM, "barcode=/@x=1 a", "Unsupported relation modifier @x"),
        (&ITEM, "id==/string a", "Unsupported relation modifier string"),
        (&ITEM, "id>a", "Invalid UUID after >"),
        (&ITEM, "id==*a", "only right truncation"),
        (&ITEM, "id any a", "a UUID can be compared by"),
        (&ITEM, "note=a*b", "only stand at the end"),
        (&ITEM, "note=?a", "? cannot be used"),
        (&ITEM, "id=* sortBy barcode/upwards", "Unsupported modifier upwards"),
        (&INSTANCE, "identifiers=/@nope=1 a", "Unsupported relation modifier @nope"),
        (&INSTANCE, "identifiers=/@identifierTypeId<1 a", "Unsupported comparison for relation modifier"),
        (&INSTANCE, "statisticalCodeIds=/@x=1 a", "Unsupported relation modifier @x"),
    ] {
        let query = Query::parse(cql).unwrap_or_else(|refusal| panic!("{cql}: {refusal}"));
        let refusal = Statement::build(Some(&query), record, ALL).expect_err(cql);
        assert!(refusal.message.contains(message), "{cql}: {refusal}");
    }
}

#[test]
fn a_record_without_a_way_to_the_alias_is_searched_itself() {
    assert_eq!(
        built(&HOLDINGS, "items.barcode==a").conditions,
        r#"left(carrel.folded((holdings_record.doc#>>$1::text[])), 600) COLLATE "C" = $2::text"#
    );
}
