//! CQL over the timers of a tenant, which are few and not stored as records: `moduleName`, `moduleId` and `type`.

use carrel_cql::{BooleanWord, Clause, Node, Query, Term, Verb};
use carrel_records::Failure;
use serde_json::Value;

/// Selects and sorts the descriptors.
pub fn select(descriptors: &mut Vec<Value>, query: &Query) -> Result<(), Failure> {
    let mut failed = None;
    descriptors.retain(|descriptor| match matches(&query.node, descriptor) {
        Ok(is_match) => is_match,
        Err(failure) => {
            failed = Some(failure);
            false
        }
    });
    // An unknown field is refused even if there are no timers.
    matches(&query.node, &Value::Null)?;
    for key in query.sort.iter().rev() {
        let field = field(&key.index)?;
        let descends = key.modifiers.iter().any(|modifier| modifier.name.ends_with("descending"));
        descriptors.sort_by(|one, other| {
            let order = text(one, field).cmp(&text(other, field));
            if descends { order.reverse() } else { order }
        });
    }
    failed.map_or(Ok(()), Err)
}

fn field(index: &str) -> Result<&'static str, Failure> {
    ["moduleName", "moduleId", "type", "id"].into_iter().find(|field| *field == index).ok_or_else(|| {
        Failure::Invalid(format!("The field {index} cannot be queried: moduleName, moduleId, type"))
    })
}

fn text(descriptor: &Value, field: &str) -> String {
    descriptor[field].as_str().unwrap_or_default().to_lowercase()
}

fn matches(node: &Node, descriptor: &Value) -> Result<bool, Failure> {
    let chain = match node {
        Node::Clause(clause) => return clause_matches(clause, descriptor),
        Node::Chain(chain) => chain,
    };
    let mut is_match = matches(&chain.first, descriptor)?;
    for link in &chain.rest {
        let other = matches(&link.node, descriptor)?;
        is_match = match link.word {
            BooleanWord::And => is_match && other,
            BooleanWord::Or => is_match || other,
            BooleanWord::Not => is_match && !other,
        };
    }
    Ok(is_match)
}

fn clause_matches(clause: &Clause, descriptor: &Value) -> Result<bool, Failure> {
    if clause.index.eq_ignore_ascii_case("cql.allRecords") {
        return Ok(true);
    }
    let value = text(descriptor, field(&clause.index)?);
    match clause.relation.verb {
        Verb::Words | Verb::Equal | Verb::Adjacent | Verb::All | Verb::Any => {
            Ok(is_like(&value, &clause.term))
        }
        Verb::NotEqual => Ok(!is_like(&value, &clause.term)),
        other => Err(Failure::Invalid(format!("The relation {} does not fit a timer", other.sign()))),
    }
}

/// Whether the value equals the term, or matches its wildcards.
fn is_like(value: &str, term: &Term) -> bool {
    let pattern: Vec<char> = term.literal().to_lowercase().chars().collect();
    let letters: Vec<char> = value.chars().collect();
    fits(&letters, &pattern)
}

fn fits(letters: &[char], pattern: &[char]) -> bool {
    let (mut at, mut part, mut star) = (0, 0, None);
    while at < letters.len() {
        if part < pattern.len() && (pattern[part] == '?' || pattern[part] == letters[at]) {
            (at, part) = (at + 1, part + 1);
        } else if part < pattern.len() && pattern[part] == '*' {
            star = Some((part, at));
            part += 1;
        } else if let Some((mask, from)) = star {
            star = Some((mask, from + 1));
            (at, part) = (from + 1, mask + 1);
        } else {
            return false;
        }
    }
    pattern[part..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selected(query: &str) -> Result<Vec<String>, String> {
        let mut descriptors = vec![
            json!({"id": "1", "moduleName": "mod-users", "moduleId": "mod-users-19.6.0", "type": "system"}),
            json!({"id": "2", "moduleName": "mod-circulation", "type": "system"}),
            json!({"id": "3", "moduleName": "mod-users", "type": "user"}),
        ];
        let query = Query::parse(query).map_err(|bad| bad.to_string())?;
        select(&mut descriptors, &query).map_err(|failure| failure.to_string())?;
        Ok(descriptors.iter().map(|timer| timer["id"].as_str().unwrap_or_default().to_owned()).collect())
    }

    #[test]
    fn timers_are_found_by_module_and_type() {
        for (query, expected) in [
            ("cql.allRecords=1", vec!["1", "2", "3"]),
            ("moduleName==mod-users", vec!["1", "3"]),
            ("moduleName==\"mod-users\" and type==USER", vec!["3"]),
            ("moduleId=mod-users*", vec!["1"]),
            ("moduleName==mod-users not type==user", vec!["1"]),
            ("type==user or moduleName==mod-c*n", vec!["2", "3"]),
            ("type<>user sortby moduleName", vec!["2", "1"]),
            ("cql.allRecords=1 sortby moduleName/sort.descending id", vec!["1", "3", "2"]),
        ] {
            assert_eq!(selected(query), Ok(expected.into_iter().map(str::to_owned).collect()), "{query}");
        }
    }

    #[test]
    fn other_fields_are_refused() {
        assert!(
            selected("enabled==true").is_err_and(|text| text.contains("The field enabled cannot be queried"))
        );
        assert!(selected("moduleName > a").is_err());
    }
}
