//! Manual patron blocks, which staff set.

use carrel_records::time;
use jiff::Timestamp;
use serde_json::Value;

/// The refusal if an unexpired block on the action exists: `borrowing`, `renewals` or `requests`.
///
/// FOLIO quirk: it contains the descriptions of all blocks of the patron, including expired ones and those on other
/// actions.
pub fn manual_reasons(blocks: &[Value], action: &str, now: Timestamp) -> Vec<String> {
    if !blocks.iter().any(|block| is_in_force(block, action, now)) {
        return Vec::new();
    }
    blocks
        .iter()
        .map(|block| block.get("desc").and_then(Value::as_str).unwrap_or_default().to_owned())
        .collect()
}

fn is_in_force(block: &Value, action: &str, now: Timestamp) -> bool {
    let ends = block.get("expirationDate").and_then(Value::as_str).and_then(time::parse);
    block.get(action) == Some(&Value::Bool(true)) && ends.is_none_or(|ends| ends > now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_expired_block_refuses_nothing_but_is_described_with_others() {
        let now = time::parse("2024-05-01").expect("a time");
        let blocks = [
            json!({"borrowing": true, "desc": "lost card", "expirationDate": "2024-04-30"}),
            json!({"borrowing": true, "desc": "rude"}),
            json!({"borrowing": false, "desc": "owes"}),
        ];
        assert_eq!(manual_reasons(&blocks, "borrowing", now), ["lost card", "rude", "owes"]);
        assert!(manual_reasons(&blocks[..1], "borrowing", now).is_empty());
        assert!(manual_reasons(&blocks, "renewals", now).is_empty());
    }
}
