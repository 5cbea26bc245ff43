//! CQL → SQL and arguments, as a table.

use carrel_cql::{Argument, Query, Statement, Where};
use carrel_records::{
    Composed, PLAIN, RecordType, array, boolean, date, joined, mentions, number, objects, text, to, unique,
};

static INSTANCE: RecordType = RecordType {
    name: "instance",
    table: "instance",
    shape: "title:string*; source:string; identifiers:array<object>; identifiers[].value:string; \
            statisticalCodeIds:array<string>; dates:object; dates.date1:string; catalogedDate:string(date-time); \
            copies:integer; staffSuppress:boolean; sourceRecordId:string(uuid)",
    fields: &[
        text("title").indexed().words(),
        objects("identifiers", "value", &["identifierTypeId"]).indexed().words(),
        array("statisticalCodeIds").indexed(),
    ],
    unique: &[unique(&["hrid"])],
    ..PLAIN
};

static HOLDINGS: RecordType = RecordType {
    name: "holdingsRecord",
    table: "holdings_record",
    shape: "instanceId:string(uuid); callNumber:string",
    fields: &[text("callNumber").keep_accents().indexed()],
    belongs_to: &[to("instanceId", "instance").alias("instance").reverse("holdingsRecords")],
    ..PLAIN
};

static ITEM: RecordType = RecordType {
    name: "item",
    table: "item",
    shape: "barcode:string; status:object; status.name:string; position:integer; holdingsRecordId:string(uuid); \
            lastCheckIn:object; lastCheckIn.dateTime:string(date-time)",
    fields: &[
        text("barcode").indexed(),
        text("status.name").sql("item_state.status_name").keep_case().keep_accents().indexed(),
        text("note").words(),
        number("position").indexed(),
        boolean("discoverySuppress").indexed(),
        date("dueDate").indexed(),
        joined("fullCallNumber", &["prefix", "callNumber"]).indexed(),
    ],
    belongs_to: &[
        to("holdingsRecordId", "holdings_record").alias("holdingsRecords").reverse("item"),
        mentions("loanTypeId", "loan_type"),
    ],
    composed: Some(Composed {
        from: "item JOIN item_state ON item_state.id = item.id",
        document: "item.doc || item_state.doc",
    }),
    ..PLAIN
};

static ALL: &[&RecordType] = &[&INSTANCE, &HOLDINGS, &ITEM];

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
        ("discoverySuppress==TRUE", "(item.doc->>'discoverySuppress') COLLATE \"C\" = $1::text", "true"),
        (
            "dueDate<2020-11-12T03:04:05+0100",
            "carrel.instant((item.doc->>'dueDate')) < $1::timestamptz",
            "2020-11-12T02:04:05Z",
        ),
        ("dueDate<tomorrow", "false", ""),
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
        assert_eq!(built.conditions, conditions.replace("{B}", BARCODE), "{cql}");
        assert_eq!(shown(&built.arguments), *arguments, "{cql}");
    }
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
