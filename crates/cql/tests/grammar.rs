//! CQL text → tree → text.

use carrel_cql::Query;

fn printed(cql: &str) -> String {
    Query::parse(cql).unwrap_or_else(|refusal| panic!("{cql}: {refusal}")).to_string()
}

#[test]
fn texts_are_understood() {
    for (cql, meaning) in [
        ("name=Long", "name=Long"),
        ("Long", "cql.serverChoice=Long"),
        ("lea long", "cql.serverChoice=\"lea long\""),
        ("name = lea long", "name=\"lea long\""),
        ("name==\"Lea Long\"", "name==\"Lea Long\""),
        ("name==/string/@type=\"a b\" x", "name==/string/@type=\"a b\" x"),
        ("name ALL \"a b\"", "name all \"a b\""),
        ("name any a", "name any a"),
        ("name adj a", "name adj a"),
        ("name exact a", "name==a"),
        ("a=1 AND b=2 Or c=3 nOt d=4", "a=1 and b=2 or c=3 not d=4"),
        ("(a=1 or b=2) and c=3", "a=1 or b=2 and c=3"),
        ("a=1 or (b=2 and c=3)", "a=1 or (b=2 and c=3)"),
        ("a=1 and/x/y=z b=2", "a=1 and/x/y=z b=2"),
        ("id==(a or b or c)", "id==a or id==b or id==c"),
        ("id==(a or name=(b not c))", "id==a or (name=b not name=c)"),
        ("query=(userId==U)", "userId==U"),
        ("(userId==U and     status.name<>Closed)", "userId==U and status.name<>Closed"),
        ("name=or", "name=\"or\""),
        ("name==a*b?c\\*\\?", "name==\"a*b?c\\*\\?\""),
        ("name==\\\\", "name==\"\\\\\""),
        ("name==\\", "name==\"\\\\\""),
        ("name==\"\"", "name==\"\""),
        ("name==^a^", "name==\"^a^\""),
        ("\"odd' index\"=x", "\"odd' index\"=x"),
        ("a=1 sortBy b", "a=1 sortBy b"),
        ("a=1 sortby b/sort.descending/number c", "a=1 sortBy b/sort.descending/number c"),
        ("cql.allRecords=1 SORTBY name", "cql.allRecords=1 sortBy name"),
        ("x<1 and x<=2 and x>3 and x>=4 and x<>5", "x<1 and x<=2 and x>3 and x>=4 and x<>5"),
        ("a=b\r\n\tand c=d", "a=b and c=d"),
        ("email==jo@example.com", "email==jo@example.com"),
        ("name==\"Zoë 東京\"", "name==\"Zoë 東京\""),
    ] {
        assert_eq!(printed(cql), meaning, "{cql}");
        assert_eq!(Query::parse(meaning), Query::parse(cql), "{cql}");
    }
}

#[test]
fn a_refusal_points_at_the_place() {
    for (cql, position, message) in [
        ("", 0, "an index or a term is expected"),
        ("name==", 6, "an index or a term is expected"),
        ("name==a and", 11, "an index or a term is expected"),
        ("or name=a", 7, "one index, not several words"),
        ("(name==a", 8, "a closing bracket is expected"),
        ("name==a)", 7, "a closing bracket has no opening one"),
        ("name==\"a", 6, "not closed"),
        ("name==a (b)", 8, "and, or, or not is expected"),
        ("a=Lea prox/unit=word b=Long", 6, "prox is not supported"),
        ("> n = name n=Ka", 0, "prefix assignment"),
        ("zip encloses 12", 4, "encloses is not supported"),
        ("zip within \"1 2\"", 4, "within is not supported"),
        ("a=1 sortBy", 10, "the index to sort by"),
        ("a=1 sortBy b (c)", 13, "the index to sort by"),
        ("a=1 and/ (b)", 9, "the name of a modifier"),
        ("name==a\0b", 7, "NUL"),
        ("name foo.bar x", 5, "is not a relation"),
    ] {
        let refusal = Query::parse(cql).expect_err(cql);
        assert_eq!(refusal.position, position, "{cql}: {refusal}");
        assert!(refusal.message.contains(message), "{cql}: {refusal}");
    }
    assert_eq!(
        Query::parse("name==a) or x").expect_err("refused").to_string(),
        "CQL: a closing bracket has no opening one, at position 7 before: ) or x"
    );
}

#[test]
fn depth_and_length_are_bounded() {
    let brackets = |depth: usize| format!("{}a=b{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Query::parse(&brackets(100)).is_ok());
    assert!(Query::parse(&brackets(100_000)).expect_err("refused").message.contains("inside each other"));
    assert!(Query::parse(&"(".repeat(100_000)).is_err());
    assert!(
        Query::parse(&format!("a=\"{}\"", "é".repeat(400_000)))
            .expect_err("refused")
            .message
            .contains("longer")
    );
    let many = |terms: usize| vec!["barcode==1234567890"; terms].join(" or ");
    assert!(Query::parse(&many(5_000)).is_ok());
    assert!(Query::parse(&many(12_000)).expect_err("refused").message.contains("clauses"));
}
