//! Rules texts that are refused, with FOLIO's message and position.

mod support;

use carrel_circulation_rules::{PolicyKind, PolicyUse, Rules, SyntaxError};
use proptest::prelude::*;
use support::{BOOK, expand, policies, rules};

fn refusal(text: &str) -> String {
    match Rules::check(text, |_| true) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// A faulty header, alone in its text.
#[test]
fn headers_are_refused() {
    for (text, expected) in [
        ("", "1:1: mismatched input '<EOF>' expecting {'priority', NEWLINE}"),
        ("foo", "1:1: extraneous input 'foo' expecting {'priority', NEWLINE}"),
        ("! x", "1:1: mismatched input '!' expecting {'priority', NEWLINE}"),
        ("  priority: last-line", "1:1: extraneous input 'INDENT2' expecting {'priority', NEWLINE}"),
        ("priority", "1:9: no viable alternative at input 'priorityNEWLINE'"),
        ("priority\n", "1:9: no viable alternative at input 'priority\\n'"),
        ("priority: foo", "1:11: no viable alternative at input 'priority: foo'"),
        ("priority: last-line", "1:20: extraneous input '<EOF>' expecting {'fallback-policy', NEWLINE}"),
        ("priority: last-line\nfoo", "2:1: extraneous input 'foo' expecting {'fallback-policy', NEWLINE}"),
        ("priority: last-line, x", "1:20: mismatched input ',' expecting {'fallback-policy', NEWLINE}"),
        ("priority: first-line\n", "2:1: no viable alternative at input '\\n'"),
        (
            "priority: first-line, x",
            "1:21: mismatched input ',' expecting {'fallback-policy', CRITERIUM_LETTER, NEWLINE}",
        ),
        ("priority: t,", "1:13: missing CRITERIUM_LETTER at 'NEWLINE'"),
        ("priority: t, x", "1:14: mismatched input 'x' expecting CRITERIUM_LETTER"),
        ("priority: t, x s", "1:14: extraneous input 'x' expecting CRITERIUM_LETTER"),
        ("priority: criterium(t)", "1:23: no viable alternative at input 'criterium(t)NEWLINE'"),
        ("priority: number-of-criteria, x", "1:31: no viable alternative at input 'number-of-criteria, x'"),
        (
            "priority: number-of-criteria, criterium(t)",
            "1:43: mismatched input 'NEWLINE' expecting {',', ')', CRITERIUM_LETTER}",
        ),
        (
            "priority: number-of-criteria, criterium(t),",
            "1:44: missing {'first-line', 'last-line'} at 'NEWLINE'",
        ),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

/// A header with right structure and wrong contents, followed by right fallback policies.
#[test]
fn header_contents_are_refused() {
    for (header, expected) in [
        ("priority: t g m a b c", "1:11: 7 letters expected, found only 6"),
        ("priority: t g m a b c s s", "1:11: Only 7 letters expected, found 8"),
        ("priority: t g m a b s s", "1:23: Duplicate letter s"),
        ("priority: number-of-criteria, number-of-criteria, last-line", "1:31: Duplicate priority type"),
        (
            "priority: criterium(t g m a b c s), criterium(t g m a b c s), last-line",
            "1:47: Duplicate letter t",
        ),
    ] {
        assert_eq!(refusal(&rules(header, &[])), expected, "{header}");
    }
}

/// What follows `priority: last-line` and a line end.
#[test]
fn fallback_policies_are_refused() {
    for (fallback, expected) in [
        ("fallback-policy", "2:16: Policy missing"),
        ("fallback-policy:", "2:17: Policy missing after ':'"),
        ("fallback-policy: l", "2:19: Name missing."),
        ("fallback-policy: l :", "2:20: no viable alternative at input ':'"),
        ("fallback-policy x", "2:17: extraneous input 'x' expecting {':', NEWLINE}"),
        ("fallback-policy: l x y", "2:22: extraneous input 'y' expecting NEWLINE"),
        ("fallback-policy: l x + m", "2:22: mismatched input '+' expecting {POLICY_TYPE, NEWLINE}"),
        ("fallback-policy: l x r x o x i x", "2:0: Must have a fallback policy of type n"),
        ("fallback-policy: l x r x n x r x o x i x", "2:0: Only one fallback policy of type r is allowed"),
    ] {
        assert_eq!(refusal(&format!("priority: last-line\n{fallback}")), expected, "{fallback}");
    }
}

/// What follows two right lines of header and fallback policies; `=> x` is a right set of policies.
#[test]
fn statements_are_refused() {
    let enough = "expecting {<EOF>, CRITERIUM_LETTER, NEWLINE}";
    for (lines, expected) in [
        ("foo", format!("3:1: extraneous input 'foo' {enough}")),
        ("fallback-policy => x", format!("3:1: mismatched input 'fallback-policy' {enough}")),
        ("  m x => x", format!("3:1: extraneous input 'INDENT2' {enough}")),
        ("m", "3:2: Name missing.".into()),
        ("m => x", "3:2: Name missing.".into()),
        ("m x + t => x", "3:8: Name missing.".into()),
        ("m x", "3:1: Policy missing".into()),
        ("m x:", "3:5: Policy missing after ':'".into()),
        ("m x: l", "3:7: Name missing.".into()),
        ("m x: l r r x", "3:8: Name missing.".into()),
        ("m x: y", "3:6: no viable alternative at input 'm x: y'".into()),
        ("m all x => x", "3:7: no viable alternative at input 'm all x'".into()),
        ("m a => x", "3:3: no viable alternative at input 'm a'".into()),
        ("m x t y => x", "3:5: no viable alternative at input 'm x t'".into()),
        ("m x + => x", "3:6: no viable alternative at input 'm x +:'".into()),
        ("m ! => x", "3:4: no viable alternative at input 'm !:'".into()),
        ("m x !y => x", "3:6: A '!' must precede each name or no name.".into()),
        ("m !x y !z => x", "3:8: A '!' must precede each name or no name.".into()),
        ("m x: r x n x o x i x", "3:3: Must contain one of each policy type, missing type l".into()),
        ("m x: l x l x r x n x o x i x", "3:3: Only one policy of type l allowed".into()),
        ("m x\n   g y", "4:4: Policy missing".into()),
        ("m x\n  foo", "4:3: mismatched input 'foo' expecting CRITERIUM_LETTER".into()),
        (
            "m x\n  fallback-policy: l x",
            "4:3: mismatched input 'fallback-policy' expecting CRITERIUM_LETTER".into(),
        ),
        ("m x\n    g y:l x\n  g z:l x", format!("5:1: extraneous input 'INDENT2' {enough}")),
        ("m x\t", "3:5: Tabulator character is not allowed, use spaces instead.".into()),
    ] {
        let text = rules("priority: last-line", &[lines]);
        assert_eq!(refusal(&text), expected, "{lines}");
    }
}

#[test]
fn first_line_rules_take_no_rule_below_the_fallback_policies() {
    let fallback = format!("fallback-policy{}", policies("x"));
    let text = ["priority: first-line", &fallback, &expand("m book => x")].join("\n");
    assert_eq!(
        refusal(&text),
        "3:1: For 'priority: first-line' the fallback-policy must be after the last rule."
    );
}

#[test]
fn the_column_of_a_tabulator_is_one_too_far() {
    assert_eq!(refusal("\t"), "1:2: Tabulator character is not allowed, use spaces instead.");
}

#[test]
fn a_blank_text_is_refused_for_storing() {
    assert!(Rules::check(" \n", |_| true).is_err());
}

#[test]
fn a_policy_that_does_not_exist_is_refused_at_its_colon() {
    let text = rules("priority: last-line", &["m book: l gone r hold n courtesy o fine i lost"]);
    let refused = Rules::check(&text, |policy| policy.name != "gone").err();
    let message = "The policy l does not exist".to_owned();
    assert_eq!(refused, Some(SyntaxError { message, line: 3, column: 6 }));
}

#[test]
fn a_missing_policy_comes_before_the_faults_behind_it() {
    let text = rules("priority: last-line", &["m book: l gone l x r hold", "m x"]);
    let refused = Rules::check(&text, |policy| policy.kind != PolicyKind::Notice).err();
    assert_eq!(refused.map(|error| error.to_string()), Some("2:15: The policy n does not exist".to_owned()));
}

#[test]
fn the_policies_named_are_reported_in_the_order_of_the_text() {
    let text = rules("priority: last-line", &["m book => books"]);
    let rules = Rules::parse(&text).expect("the rules of this test are right");
    let loans: Vec<_> = rules.policies().filter(|policy| policy.kind == PolicyKind::Loan).collect();
    let kind = PolicyKind::Loan;
    assert_eq!(
        loans,
        [
            PolicyUse { kind, name: "never", line: 2, column: 15 },
            PolicyUse { kind, name: "books", line: 3, column: 6 }
        ]
    );
    assert_eq!(rules.policies().count(), 10);
}

#[test]
fn very_deep_indentation_is_read() {
    let lines: Vec<String> = (0..2000).map(|depth| format!("{}m x", " ".repeat(depth))).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_eq!(refusal(&rules("priority: last-line", &lines)), "2002:2000: Policy missing");
}

const WORDS: &[&str] = &[
    "priority",
    ":",
    "first-line",
    "last-line",
    ",",
    "criterium",
    "(",
    ")",
    "number-of-criteria",
    "+",
    "!",
    "all",
    "fallback-policy",
    "t",
    "s",
    "c",
    "b",
    "a",
    "m",
    "g",
    "l",
    "r",
    "n",
    "o",
    "i",
    "x",
    " ",
    "\n",
    "\n  ",
    "\n    ",
    "\r",
    "\t",
    "# c",
    "é",
    "priority: last-line\n",
    "fallback-policy: l x r x n x o x i x\n",
    ": l x r x n x o x i x\n",
];

/// Texts made of the language's own words, so that they get far into the reader.
fn likely_texts() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_is_too_strange_to_be_read(text in ".*") {
        let _ = Rules::parse(&text);
    }

    #[test]
    fn accepted_rules_have_an_answer_to_every_lookup(text in likely_texts()) {
        if let Ok(rules) = Rules::check(&text, |_| true) {
            for kind in PolicyKind::ALL {
                let all = rules.all_matching(&BOOK, kind);
                prop_assert_eq!(rules.matching(&BOOK, kind).ok(), all.ok().and_then(|all| all.first().copied()));
            }
        }
    }
}
