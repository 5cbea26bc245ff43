//! `metadata`: when and by which user a record was created and last changed.

use crate::time;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

/// The metadata of a record created now; without a user it has no user ids.
pub fn created(by: Option<Uuid>, now: Timestamp) -> Value {
    let mut metadata = json!({"createdDate": time::format(now), "updatedDate": time::format(now)});
    if let Some(by) = by {
        metadata["createdByUserId"] = by.to_string().into();
        metadata["updatedByUserId"] = by.to_string().into();
    }
    metadata
}

/// The metadata of a document that replaces a stored one: its creator is kept.
pub fn of_replacement(stored: &Value, by: Option<Uuid>, now: Timestamp) -> Value {
    let mut metadata = json!({});
    for key in ["createdDate", "createdByUserId", "createdByUsername"] {
        if let Some(value) = stored.pointer(&format!("/metadata/{key}")) {
            metadata[key] = value.clone();
        }
    }
    change(&mut metadata, by, now);
    metadata
}

/// Records a change now; without a user, the previous user's id is kept.
pub fn change(metadata: &mut Value, by: Option<Uuid>, now: Timestamp) {
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata["updatedDate"] = time::format(now).into();
    if let Some(by) = by {
        metadata["updatedByUserId"] = by.to_string().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKER: Uuid = Uuid::from_u128(1);
    const CLERK: Uuid = Uuid::from_u128(2);

    fn day(day: u8) -> Timestamp {
        time::parse(&format!("2024-05-{day:02}T10:00:00Z")).expect("a time")
    }

    #[test]
    fn a_replacement_keeps_who_made_the_record_and_nothing_else() {
        let stored = json!({"metadata": created(Some(MAKER), day(1))});
        assert_eq!(
            of_replacement(&stored, None, day(2)),
            json!({"createdDate": "2024-05-01T10:00:00.000+00:00", "createdByUserId": MAKER,
                "updatedDate": "2024-05-02T10:00:00.000+00:00"})
        );
    }

    #[test]
    fn a_change_without_a_user_keeps_the_last_name() {
        let mut metadata = created(Some(MAKER), day(1));
        change(&mut metadata, Some(CLERK), day(2));
        change(&mut metadata, None, day(3));
        assert_eq!(metadata["updatedByUserId"], json!(CLERK));
        assert_eq!(metadata["updatedDate"], "2024-05-03T10:00:00.000+00:00");
    }

    #[test]
    fn malformed_metadata_are_replaced() {
        let mut metadata = json!("nonsense");
        change(&mut metadata, None, day(1));
        assert_eq!(metadata, json!({"updatedDate": "2024-05-01T10:00:00.000+00:00"}));
    }
}
