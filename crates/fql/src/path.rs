//! The name of a field in a query: a column, and the path to a property within its value.

/// `items.notes[*]->note` is column `items.notes`, each element, property `note`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath<'a> {
    pub column: &'a str,
    pub steps: Vec<Step<'a>>,
}

/// One step into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Into each element of an array.
    Each,
    /// Into a property of an object.
    Property(&'a str),
}

impl<'a> FieldPath<'a> {
    /// Parses a name; `None` if its brackets and arrows are misplaced.
    pub fn parse(name: &'a str) -> Option<FieldPath<'a>> {
        let end = name.find("[*]").unwrap_or(name.len()).min(name.find("->").unwrap_or(name.len()));
        let (column, mut rest) = name.split_at(end);
        if column.is_empty() {
            return None;
        }
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("[*]") {
                // Elements of an array, and of an array within it, are compared by one of their properties.
                if !after.starts_with("->") && !after.starts_with("[*]") {
                    return None;
                }
                steps.push(Step::Each);
                rest = after;
            } else {
                let after = rest.strip_prefix("->")?;
                let end =
                    after.find("[*]").unwrap_or(after.len()).min(after.find("->").unwrap_or(after.len()));
                let (property, after) = after.split_at(end);
                if property.is_empty() {
                    return None;
                }
                steps.push(Step::Property(property));
                rest = after;
            }
        }
        Some(FieldPath { column, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_step_by_step() {
        let path = |name| FieldPath::parse(name).map(|path| (path.column, path.steps));
        assert_eq!(path("items.barcode"), Some(("items.barcode", vec![])));
        assert_eq!(
            path("items.notes[*]->note"),
            Some(("items.notes", vec![Step::Each, Step::Property("note")]))
        );
        assert_eq!(
            path("a[*]->b[*]->c->d"),
            Some((
                "a",
                vec![Step::Each, Step::Property("b"), Step::Each, Step::Property("c"), Step::Property("d")]
            ))
        );
        assert_eq!(path("a[*][*]->b"), Some(("a", vec![Step::Each, Step::Each, Step::Property("b")])));
        for wrong in ["", "[*]", "a[*]", "a[*]b", "->b", "a->", "a->[*]->c", "a[*][*]"] {
            assert_eq!(path(wrong), None, "{wrong}");
        }
    }
}
