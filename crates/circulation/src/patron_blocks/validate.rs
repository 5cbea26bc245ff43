//! Validation of conditions and limits.

use crate::policies::check_before_saving;
use crate::records::patron_blocks::{PATRON_BLOCK_CONDITION, PATRON_BLOCK_LIMIT};
use carrel_platform::Router;
use carrel_platform::record_store::write::Document;
use carrel_records::Refusal;
use serde_json::Value;

/// The condition whose limit is an amount of money; the others are numbers.
const FEE_FINE_BALANCE: &str = "cf7a0d5f-a327-4ca1-aa9e-dc55ec006b8a";

pub(super) fn connect(router: &mut Router) {
    check_before_saving(router, &PATRON_BLOCK_CONDITION, |condition| {
        refuse_if_flags_and_message_differ(condition).into_iter().collect()
    });
    check_before_saving(router, &PATRON_BLOCK_LIMIT, |limit| {
        refuse_if_out_of_bounds(limit).into_iter().collect()
    });
}

/// A condition has a message if and only if it blocks something.
fn refuse_if_flags_and_message_differ(condition: &Document) -> Option<Refusal> {
    let says = condition.get("message").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
    let blocks = ["blockBorrowing", "blockRenewals", "blockRequests"]
        .into_iter()
        .any(|flag| condition.get(flag) == Some(&Value::Bool(true)));
    let message = match (blocks, says) {
        (true, false) => {
            "Message to be displayed is a required field if one or more blocked actions selected"
        }
        (false, true) => {
            "One or more blocked actions must be selected for message to be displayed to be used"
        }
        (true, true) | (false, false) => return None,
    };
    let id = condition.get("id").and_then(Value::as_str).unwrap_or_default();
    Some(Refusal::new(message).with("patron block condition id", id))
}

fn refuse_if_out_of_bounds(limit: &Document) -> Option<Refusal> {
    let value = limit.get("value").and_then(Value::as_f64)?;
    let (fits, message) = if limit.get("conditionId").and_then(Value::as_str) == Some(FEE_FINE_BALANCE) {
        ((0.0..=999_999.99).contains(&value), "Must be blank or a number from 0.00 to 999999.99")
    } else {
        (
            value.fract() == 0.0 && (0.0..=999_999.0).contains(&value),
            "Must be blank or an integer from 0 to 999999",
        )
    };
    (!fits).then(|| Refusal::new(message).with("value", format!("{value:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(value: Value) -> Document {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_condition_has_a_message_if_and_only_if_it_blocks() {
        let refused_value = |condition: Value| {
            refuse_if_flags_and_message_differ(&document(condition)).map(|refusal| refusal.message)
        };
        assert_eq!(refused_value(json!({"blockRenewals": true, "message": "Stop"})), None);
        assert_eq!(refused_value(json!({"blockRenewals": false, "message": ""})), None);
        assert!(
            refused_value(json!({"blockRenewals": true, "message": " "}))
                .is_some_and(|text| text.starts_with("Message"))
        );
        assert!(
            refused_value(json!({"message": "Stop"})).is_some_and(|text| text.starts_with("One or more"))
        );
    }

    #[test]
    fn limits_are_whole_numbers_except_amounts() {
        let items = "3d7c52dc-c732-4223-8bf8-e5917801386f";
        let refused_value = |condition: &str, value: f64| {
            let limit = json!({"conditionId": condition, "value": value});
            refuse_if_out_of_bounds(&document(limit)).map(|refusal| refusal.parameters[0].1.clone())
        };
        assert_eq!(refused_value(items, 0.0), None);
        assert_eq!(refused_value(items, 1.5), Some(Some("1.5".into())));
        assert_eq!(refused_value(items, -1.0), Some(Some("-1.0".into())));
        assert_eq!(refused_value(FEE_FINE_BALANCE, 999_999.99), None);
        assert_eq!(refused_value(FEE_FINE_BALANCE, 1_000_000.0), Some(Some("1000000.0".into())));
    }
}
