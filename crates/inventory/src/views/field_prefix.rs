//! Queries of views prefix the fields of a record with the record's name in the view.

use carrel_cql::{Node, Query};

/// Replaces the prefix of the fields of a query.
pub fn replace_prefix(mut query: Query, from: &str, to: &str) -> Query {
    let new = |name: &str| name.strip_prefix(from).map(|rest| format!("{to}{rest}"));
    for key in &mut query.sort {
        if let Some(name) = new(&key.index) {
            key.index = name;
        }
    }
    rename(&mut query.node, &new);
    query
}

fn rename(node: &mut Node, new: &impl Fn(&str) -> Option<String>) {
    match node {
        Node::Clause(clause) => {
            if let Some(name) = new(&clause.index) {
                clause.index = name.into();
            }
        }
        Node::Chain(chain) => {
            rename(&mut chain.first, new);
            for link in &mut chain.rest {
                rename(&mut link.node, new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_replaced_in_every_clause() {
        let query = |text: &str| Query::parse(text).expect("CQL");
        assert_eq!(
            replace_prefix(
                query("instance.title=a or (instance.hrid==b and id==c) sortBy instance.title"),
                "instance.",
                ""
            ),
            query("title=a or (hrid==b and id==c) sortBy title")
        );
    }
}
