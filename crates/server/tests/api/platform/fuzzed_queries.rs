//! Random queries, from a grammar and from bytes, against every collection on a real PostgreSQL: valid ones are
//! answered, invalid ones refused with the position, and none ends in a 500.

use carrel_platform::record_store::shape_of;
use carrel_records::{Kind, RecordType, Routes};
use carrel_testkit::sample::{Extent, storable};
use carrel_testkit::{Client, Reply, TestServer};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::Value;
use std::cell::Cell;
use std::fmt::Write;
use tokio::runtime::Runtime;

/// The vocabulary of a collection's queries.
#[derive(Debug, Clone, Default)]
struct Words {
    indexes: Vec<String>,
    /// Indexes with relations and modifiers that only they have.
    heads: Vec<String>,
}

/// Collections with queries, and their vocabularies.
fn collections() -> Vec<(&'static str, Words)> {
    let router = carrel_server::modules::router();
    let mut collections = Vec::new();
    for record in carrel_server::modules::modules().iter().flat_map(|module| module.records.iter().copied()) {
        if record.routes == Routes::Collection && router.answers("GET", record.path) {
            collections.push((record.path, words(record)));
        }
    }
    for view in ["/inventory/items", "/inventory/instances", "/circulation/loans", "/circulation/requests"] {
        let stored =
            collections.iter().find(|(path, _)| path.ends_with(view.rsplit('/').next().unwrap_or(view)));
        let words = stored.map(|(_, words)| words.clone()).unwrap_or_default();
        collections.push((view, words));
    }
    collections
}

fn words(record: &'static RecordType) -> Words {
    let mut words = Words::default();
    let indexes = &mut words.indexes;
    indexes.extend(["id", "metadata.createdDate", "cql.allRecords", "no.such", "\"a b\""].map(str::to_owned));
    indexes.extend(shape_of(record).properties.keys().cloned());
    indexes.extend(record.belongs_to.iter().map(|key| key.field.to_owned()));
    let aliases = record.belongs_to.iter().flat_map(|key| [key.alias, key.reverse]);
    let aliases = aliases.chain(record.reaches.iter().flat_map(|reach| [reach.alias, reach.reverse]));
    for alias in aliases.flatten() {
        indexes.extend(["id", "name", "title", "barcode", "nothing"].map(|field| format!("{alias}.{field}")));
    }
    indexes.extend(record.fields.iter().map(|field| field.name.to_owned()));
    for field in record.fields {
        let Kind::Array { subfield, modifiers } = field.kind else { continue };
        for modifier in modifiers.iter().copied().chain([subfield]).filter(|name| !name.is_empty()) {
            for relation in ["=", "==", "<>", "<", " all ", " any "] {
                words.heads.push(format!("{}{relation}/@{modifier} ", field.name));
                words.heads.push(format!("{}{relation}/@{modifier}=\"a b\"/@{modifier} ", field.name));
            }
        }
    }
    words.heads.push("cql.allRecords=".to_owned());
    words
}

fn relation() -> impl Strategy<Value = String> {
    prop_oneof![
        60 => "( ?= ?| ?== ?| ?<> ?| ?< ?| ?> ?| ?<= ?| ?>= ?| all | any | adj | exact )",
        10 => "(=/ignoreCase |==/respectCase |=/respectAccents |==/ignoreAccents |==/number |=/string |>/number |=/masked )",
        1 => "( within |=/no.such | =/@a=b )",
    ]
}

/// Terms; those with wildcards that a word search refuses are rare.
fn term() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-zA-Z0-9.-]{1,8}\\*?",
        8 => "\"[a-z é%_'\\-/&|!:()<>]{0,12}\"",
        4 => "\"(\\\\[\"\\\\*?^a])?[a-z]{1,3}\\*\"",
        1 => "[a-zA-Z0-9.*?-]{1,8}",
        1 => "\"\\PC{0,6}\"",
        4 => "-?[0-9]{1,30}(\\.[0-9]{0,30})?(e[0-9]{1,4})?",
        4 => "\"[0-9]{4}(-[0-9]{2}){0,2}(T[0-9:.]{0,12}(Z|[+]0000)?)?\\*?\"",
        2 => Just("\"\"".to_owned()),
        2 => Just("*".to_owned()),
        2 => Just("53cf956f-c1df-410b-8bea-27f712cca7c0".to_owned()),
        2 => Just("53cf956f-c1*".to_owned()),
        1 => Just("\"[]\"".to_owned()),
        1 => Just("\"*\\\"en\\\"*\"".to_owned()),
        2 => Just("true".to_owned()),
        1 => Just("(a or \"b c\" not d*)".to_owned()),
        2 => "(' OR 1=1 --|\"\\); DROP TABLE x; --\"|\\$1|%s|\\{\\})",
    ]
}

fn grammatical(words: Words) -> BoxedStrategy<String> {
    let index = prop::sample::select(words.indexes);
    let sort = (index.clone(), "(|/sort.descending|/sort.ascending|/number|/ignoreCase)")
        .prop_map(|(index, modifier)| format!("{index}{modifier}"));
    let head = prop_oneof![
        5 => (index, relation()).prop_map(|(index, relation)| format!("{index}{relation}")),
        1 => prop::sample::select(words.heads),
    ];
    let clause = (head, term()).prop_map(|(head, term)| format!("{head}{term}"));
    let boolean = prop_oneof![30 => "( and | or | not | AND | OR/x=1 )", 1 => Just(" prox ".to_owned())];
    let chain = clause.prop_recursive(3, 8, 3, move |inner| {
        (prop::collection::vec(inner, 1..4), boolean.clone())
            .prop_map(|(parts, word)| format!("({})", parts.join(&word)))
    });
    (chain, prop::collection::vec(sort, 0..3))
        .prop_map(|(chain, keys)| match keys.is_empty() {
            true => chain,
            false => format!("{chain} sortby {}", keys.join(" ")),
        })
        .boxed()
}

/// One call: a collection, the bytes of its query, and the page.
fn calls() -> impl Strategy<Value = (&'static str, Vec<u8>, &'static str)> {
    prop::sample::select(collections()).prop_flat_map(|(path, words)| {
        let query = prop_oneof![
            12 => grammatical(words).prop_map(String::into_bytes),
            1 => "[()/<>=\"\\\\*?^@. a-z]{0,40}".prop_map(String::into_bytes),
            1 => prop::collection::vec(any::<u8>(), 0..40),
        ];
        let page = prop::sample::select(vec![
            "",
            "&limit=0",
            "&limit=3&offset=1",
            "&limit=1001",
            "&totalRecords=none",
            "&totalRecords=estimated",
        ]);
        (Just(path), query, page)
    })
}

fn percent_encoded(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "%{byte:02X}");
        text
    })
}

/// Whether the answer is allowed for a query.
fn verdict(status: u16, body: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(body);
    match status {
        200 => match serde_json::from_slice::<Value>(body) {
            Ok(page) if page.as_object().is_some_and(|page| page.contains_key("totalRecords")) => Ok(()),
            _ => Err(format!("200 without a page: {text}")),
        },
        400 if text.starts_with("CQL: ") => Ok(()),
        status => Err(format!("{status} {text}")),
    }
}

async fn send_query(client: &Client, path: &str, query: &[u8], page: &str) -> Result<u16, String> {
    // mod-notes refuses pages without records, and answers 422 where the others answer 400.
    let is_of_notes = path.starts_with("/note");
    let page = if is_of_notes { page.replace("limit=0", "limit=1") } else { page.to_owned() };
    let address = format!("{path}?query={}{page}", percent_encoded(query));
    let Reply { status, body, .. } = client.try_call("GET", &address, None).await?;
    if is_of_notes && status == 422 && String::from_utf8_lossy(&body).contains("\"CQL: ") {
        return Ok(status);
    }
    verdict(status, &body).map(|()| status)
}

/// A library with one record of each type, so that conditions are evaluated.
async fn furnished() -> TestServer {
    let server = TestServer::start().await;
    for record in carrel_server::modules::modules().iter().flat_map(|module| module.records.iter().copied()) {
        if record.routes == Routes::Collection
            && let Ok(document) = storable(&server, record, Extent::Full).await
        {
            // Refusals of use cases do not matter here.
            server.post(record.path, &Value::Object(document)).await;
        }
    }
    server
}

#[test]
fn no_query_ends_in_a_500() {
    let runtime = Runtime::new().expect("a runtime can be started");
    let server = runtime.block_on(furnished());
    let cases = std::env::var("CARREL_FUZZ").ok().and_then(|text| text.parse().ok()).unwrap_or(1_500);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let understood = Cell::new(0_u32);
    let outcome = runner.run(&calls(), |(path, query, page)| {
        let answered = runtime.block_on(send_query(&server.admin, path, &query, page));
        let answered = answered.map(|status| understood.set(understood.get() + u32::from(status == 200)));
        answered.map_err(|words| {
            TestCaseError::fail(format!(
                "{path}{page} asked for {:?}: {words}",
                String::from_utf8_lossy(&query)
            ))
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    // If the parser refused most queries, the test would not cover the SQL.
    assert!(understood.get() > cases / 3 && understood.get() < cases, "{} of {cases}", understood.get());
    // Dropped inside the runtime, as its server is.
    runtime.block_on(async move { drop(server) });
}

#[test]
fn the_verdict_can_be_negative() {
    assert_eq!(verdict(200, b"{\"users\":[],\"totalRecords\":0}"), Ok(()));
    assert_eq!(verdict(400, b"CQL: a quotation mark is not closed, at position 0 before: \""), Ok(()));
    for (status, body) in [(500, "Internal Server Error"), (200, "{}"), (400, "no"), (422, "{}"), (503, "")] {
        assert!(verdict(status, body.as_bytes()).is_err(), "{status} {body}");
    }
}
