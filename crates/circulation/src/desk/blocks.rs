//! Manual patron blocks: what staff wrote against a patron.

use carrel_records::time;
use jiff::Timestamp;
use serde_json::Value;

/// The descriptions of the blocks in force against an action: `borrowing`, `renewals` or `requests`.
pub fn manual_reasons(blocks: &[Value], action: &str, now: Timestamp) -> Vec<String> {
    blocks
        .iter()
        .filter(|block| block.get(action) == Some(&Value::Bool(true)))
        .filter(|block| {
            let ends = block.get("expirationDate").and_then(Value::as_str).and_then(time::parse);
            ends.is_none_or(|ends| ends > now)
        })
        .map(|block| block.get("desc").and_then(Value::as_str).unwrap_or_default().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_expired_block_no_longer_stands() {
        let now = time::parse("2024-05-01").expect("a time");
        let blocks = [
            json!({"borrowing": true, "desc": "lost card", "expirationDate": "2024-04-30"}),
            json!({"borrowing": true, "desc": "rude"}),
            json!({"borrowing": false, "desc": "owes"}),
        ];
        assert_eq!(manual_reasons(&blocks, "borrowing", now), ["rude"]);
    }
}
