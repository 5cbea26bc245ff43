//! Facts and rules texts that the tests start from.

use carrel_circulation_rules::Facts;

/// A rule's five policies, the loan policy's name given.
pub fn policies(loan: &str) -> String {
    format!(": l {loan} r hold n courtesy o fine i lost")
}

/// The given header line, fallback policies `never`, and the lines, in which `=> name` stands for
/// all five policies.
pub fn rules(header: &str, lines: &[&str]) -> String {
    let mut text = vec![header.to_owned(), format!("fallback-policy{}", policies("never"))];
    text.extend(lines.iter().map(|line| expand(line)));
    text.join("\n")
}

/// Writes out `=> name`.
pub fn expand(line: &str) -> String {
    match line.split_once("=> ") {
        Some((criteria, loan)) => format!("{}{}", criteria.trim_end(), policies(loan)),
        None => line.to_owned(),
    }
}

/// A book for the main reading room, wanted by a student.
pub const BOOK: Facts<'static> = Facts {
    material_type: "book",
    loan_type: "normal",
    patron_group: "student",
    location: "reading-room",
    library: "main",
    campus: "city",
    institution: "university",
};
