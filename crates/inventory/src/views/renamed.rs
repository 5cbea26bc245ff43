//! Queries of views name the fields of a record behind the name that it has in the view.

use carrel_cql::{Node, Query};

/// The query with another beginning of its fields' names.
pub fn renamed(mut query: Query, from: &str, to: &str) -> Query {
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
    fn fields_lose_the_name_of_the_view_wherever_they_stand() {
        let query = |text: &str| Query::parse(text).expect("CQL");
        assert_eq!(
            renamed(
                query("instance.title=a or (instance.hrid==b and id==c) sortBy instance.title"),
                "instance.",
                ""
            ),
            query("title=a or (hrid==b and id==c) sortBy title")
        );
    }
}
