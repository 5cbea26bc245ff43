//! Which rule wins, shown with small rule texts.

mod support;

use carrel_circulation_rules::{AppliedConditions, BlankRules, Facts, PolicyKind, Rules};
use support::{BOOK, expand, policies, rules};

const LETTERS: &str = "priority: t, s, c, b, a, m, g";

fn winner(text: &str, facts: &Facts<'_>) -> String {
    let rules = Rules::parse(text).expect("the rules of this test are right");
    rules.matching(facts, PolicyKind::Loan).expect("they are not blank").policy.to_owned()
}

fn all(text: &str, facts: &Facts<'_>) -> Vec<(String, usize)> {
    let rules = Rules::parse(text).expect("the rules of this test are right");
    let matches = rules.all_matching(facts, PolicyKind::Loan).expect("they are not blank");
    matches.into_iter().map(|found| (found.policy.to_owned(), found.line)).collect()
}

fn conditions(text: &str, kind: PolicyKind) -> AppliedConditions {
    let rules = Rules::parse(text).expect("the rules of this test are right");
    rules.matching(&BOOK, kind).expect("they are not blank").conditions
}

/// Each criterium alone, against [`BOOK`].
#[test]
fn a_criterium_fits_or_not() {
    for (criterium, fits) in [
        ("m book", true),
        ("m dvd", false),
        ("m dvd book map", true),
        ("m all", true),
        ("m !book", false),
        ("m !dvd", true),
        ("m !dvd !book", false),
        ("m !dvd !map", true),
        ("m Book", false),
        ("t normal", true),
        ("t book", false),
        ("g student", true),
        ("s reading-room", true),
        ("c main", true),
        ("b city", true),
        ("a university", true),
        ("a !university", false),
        ("m book + g student", true),
        ("m book + g staff", false),
        ("m book + m dvd", false),
        ("m book dvd + m book map", true),
        ("m book+g!staff", true),
    ] {
        let text = rules("priority: last-line", &[&format!("{criterium} => yes")]);
        assert_eq!(winner(&text, &BOOK) == "yes", fits, "{criterium}");
    }
}

/// The header, two lines that both fit, and which of them wins.
#[test]
fn the_header_decides_between_rules_that_fit() {
    let both = "priority: criterium(t, s, c, b, a, m, g), number-of-criteria, ";
    for (header, one, two, wins) in [
        ("priority: last-line", "t all + m all => one", "g all => two", "two"),
        ("priority: number-of-criteria, last-line", "t all + m all => one", "g all => two", "one"),
        ("priority: number-of-criteria, last-line", "t all => one", "g all => two", "two"),
        ("priority: number-of-criteria, first-line", "t all => one", "g all => two", "one"),
        ("priority: number-of-criteria, last-line", "s all + c all + b all => one", "g all => two", "two"),
        ("priority: number-of-criteria, last-line", "m all + m all => one", "g all => two", "two"),
        ("priority: criterium(t s c b a m g), last-line", "t all => one", "m all + g all => two", "one"),
        ("priority: criterium(g m a b c s t), last-line", "t all => one", "m all + g all => two", "two"),
        ("priority: criterium(t s c b a m g), first-line", "m all => one", "m all + g all => two", "one"),
        (&format!("{both}first-line"), "m all => one", "m all + g all => two", "two"),
        (&format!("{both}last-line"), "t all => one", "m all + g all + s all => two", "one"),
        (&format!("{both}first-line"), "t all => one", "t all => two", "one"),
        (&format!("{both}last-line"), "t all => one", "t all => two", "two"),
        (
            "priority: number-of-criteria, criterium(t s c b a m g), last-line",
            "t all => one",
            "m all + g all => two",
            "two",
        ),
        (
            "priority: number-of-criteria, criterium(t s c b a m g), last-line",
            "t all + g all => one",
            "m all + g all => two",
            "one",
        ),
        (LETTERS, "t all => one", "m all + g all => two", "one"),
        (LETTERS, "m all + g all => one", "m all => two", "one"),
        (LETTERS, "m all => one", "m all => two", "two"),
        ("priority: t s c b a m g", "m all => one", "m all => two", "two"),
    ] {
        assert_eq!(winner(&rules(header, &[one, two]), &BOOK), wins, "{header}\n{one}\n{two}");
    }
}

#[test]
fn the_fallback_policies_serve_when_nothing_fits() {
    assert_eq!(winner(&rules(LETTERS, &["m dvd => dvds"]), &BOOK), "never");
}

#[test]
fn the_fallback_policies_of_first_line_rules_stand_last() {
    let lines = ["priority: first-line", "m dvd => dvds", "g student => students", "m book => books"];
    let mut text: Vec<String> = lines.iter().map(|line| expand(line)).collect();
    text.push(format!("fallback-policy{}", policies("never")));
    assert_eq!(
        all(&text.join("\n"), &BOOK),
        [("students".to_owned(), 3), ("books".to_owned(), 4), ("never".to_owned(), 5)]
    );
}

#[test]
fn all_matching_rules_come_best_first_with_their_lines() {
    let text =
        rules(LETTERS, &["# shelves", "g student => group", "", "s reading-room => room", "m dvd => no"]);
    assert_eq!(all(&text, &BOOK), [("room".to_owned(), 6), ("group".to_owned(), 4), ("never".to_owned(), 2)]);
}

#[test]
fn a_deeper_line_inherits_the_criteria_of_all_its_parents() {
    let text = rules(
        "priority: last-line",
        &[
            "m book",
            "  g staff => staff",
            "  g student => student",
            "    t rare => rare",
            "m dvd",
            "  g all => dvd",
        ],
    );
    assert_eq!(all(&text, &BOOK), [("student".to_owned(), 5), ("never".to_owned(), 2)]);
}

#[test]
fn a_line_less_deep_leaves_its_neighbors_criteria() {
    let text = rules("priority: last-line", &["m dvd", "   g staff => no", "m book => yes"]);
    assert_eq!(winner(&text, &BOOK), "yes");
}

#[test]
fn inherited_criteria_count_for_the_rank() {
    let text =
        rules("priority: number-of-criteria, first-line", &["m all => one", "g all", "    t all => two"]);
    assert_eq!(winner(&text, &BOOK), "two");
}

#[test]
fn the_best_inherited_letter_counts_for_the_rank() {
    let text = rules(LETTERS, &["t all", "  g all => nested", "m all + g all => flat"]);
    assert_eq!(winner(&text, &BOOK), "nested");
}

#[test]
fn every_kind_of_policy_is_found_whatever_their_order() {
    let text = "priority: last-line\nfallback-policy: i v o w n x r y l z";
    let rules = Rules::parse(text).expect("the rules of this test are right");
    let found = PolicyKind::ALL.map(|kind| rules.matching(&BOOK, kind).map(|found| found.policy));
    assert_eq!(found, [Ok("z"), Ok("y"), Ok("x"), Ok("w"), Ok("v")]);
}

#[test]
fn the_conditions_are_the_letters_that_the_winning_rule_uses() {
    let text = rules(LETTERS, &["g student", "  m all + s reading-room => nested", "t rare => no"]);
    let expected = AppliedConditions { material_type: true, loan_type: false, patron_group: true };
    assert_eq!(conditions(&text, PolicyKind::Loan), expected);
}

#[test]
fn the_fallback_policies_use_no_conditions() {
    assert_eq!(conditions(&rules(LETTERS, &[]), PolicyKind::Loan), AppliedConditions::default());
}

#[test]
fn only_loan_policies_tell_their_conditions() {
    let text = rules(LETTERS, &["m all + t all + g all => every"]);
    assert_eq!(conditions(&text, PolicyKind::Request), AppliedConditions::default());
}

#[test]
fn no_criterium_about_an_unknown_library_fits() {
    let text = rules("priority: last-line", &["c all => any", "c !other => negated", "m book => book"]);
    assert_eq!(all(&text, &Facts { library: "", ..BOOK }), [("book".to_owned(), 5), ("never".to_owned(), 2)]);
}

#[test]
fn an_unknown_patron_group_fits_all_and_negations() {
    let text = rules("priority: last-line", &["g all => any", "g !staff => negated", "g staff => staff"]);
    let found = all(&text, &Facts { patron_group: "", ..BOOK });
    assert_eq!(found, [("negated".to_owned(), 4), ("any".to_owned(), 3), ("never".to_owned(), 2)]);
}

#[test]
fn blank_rules_refuse_every_lookup() {
    let blank = Rules::parse(" \n\t").expect("a blank text is readable");
    assert!(blank.is_blank());
    assert_eq!(blank.matching(&BOOK, PolicyKind::Loan), Err(BlankRules));
    assert_eq!(blank.all_matching(&BOOK, PolicyKind::Loan), Err(BlankRules));
    assert_eq!(BlankRules.to_string(), "Cannot apply blank circulation rules");
}

#[test]
fn comments_say_nothing() {
    let text =
        rules("# head\npriority: last-line # why", &["# m book => no", "m book / paper", "  g all => yes"]);
    assert_eq!(all(&text, &BOOK), [("yes".to_owned(), 6), ("never".to_owned(), 3)]);
}

#[test]
fn windows_line_ends_are_line_ends() {
    let text = rules("priority: last-line", &["m book", "  g all => yes"]).replace('\n', "\r\n");
    assert_eq!(all(&text, &BOOK), [("yes".to_owned(), 4), ("never".to_owned(), 2)]);
}
