//! The five kinds of policy that every rule selects.

use crate::SyntaxError;

/// A kind of policy that a rule selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PolicyKind {
    /// Loan policy, `l`.
    Loan,
    /// Request policy, `r`.
    Request,
    /// Patron notice policy, `n`.
    Notice,
    /// Overdue fine policy, `o`.
    Overdue,
    /// Lost item fee policy, `i`.
    LostItem,
}

impl PolicyKind {
    /// All kinds, in the order in which FOLIO checks them.
    pub const ALL: [PolicyKind; 5] = [
        PolicyKind::Loan,
        PolicyKind::Request,
        PolicyKind::Notice,
        PolicyKind::Overdue,
        PolicyKind::LostItem,
    ];

    /// The letter that stands for this kind in a rules text.
    pub fn letter(self) -> char {
        match self {
            PolicyKind::Loan => 'l',
            PolicyKind::Request => 'r',
            PolicyKind::Notice => 'n',
            PolicyKind::Overdue => 'o',
            PolicyKind::LostItem => 'i',
        }
    }

    pub(crate) fn from_letter(letter: &str) -> Option<PolicyKind> {
        PolicyKind::ALL.into_iter().find(|kind| letter.chars().eq([kind.letter()]))
    }
}

/// A policy in a rules text, with its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyUse<'a> {
    /// The kind of the policy.
    pub kind: PolicyKind,
    /// The policy's name as written, in stored rules its id.
    pub name: &'a str,
    /// The line of the colon that begins the rule's policies, counted from 1.
    pub line: usize,
    /// The column of that colon, counted from 0.
    pub column: usize,
}

impl PolicyUse<'_> {
    /// FOLIO's error for a policy that does not exist.
    pub fn missing(&self) -> SyntaxError {
        SyntaxError::new(format!("The policy {} does not exist", self.kind.letter()), self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found_by_its_letter() {
        for kind in PolicyKind::ALL {
            assert_eq!(PolicyKind::from_letter(&kind.letter().to_string()), Some(kind));
        }
    }

    #[test]
    fn a_criterium_letter_is_no_policy() {
        assert_eq!(PolicyKind::from_letter("t"), None);
        assert_eq!(PolicyKind::from_letter("lr"), None);
    }
}
