//! Author and date of circulation notes, set by the server.

use carrel_platform::record_store::write::{Document, uuid_time};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// Signs notes that are new or changed.
pub fn sign(item: &mut Document, stored: Option<&Value>, writer: Option<&Value>, now: Timestamp) {
    let before = stored.and_then(|stored| stored.get("circulationNotes")).and_then(Value::as_array);
    let notes = item.get_mut("circulationNotes").and_then(Value::as_array_mut).into_iter().flatten();
    for note in notes.filter_map(Value::as_object_mut) {
        let id = note.get("id").filter(|id| id.is_string()).cloned();
        let same = id.as_ref().and_then(|id| before?.iter().find(|old| old.get("id") == Some(id)));
        if same.is_some_and(|old| is_unchanged(note, old)) {
            continue;
        }
        if stored.is_none() || id.is_none() {
            note.insert("id".into(), Uuid::new_v7(uuid_time(now)).to_string().into());
        }
        if let Some(writer) = writer {
            note.insert("source".into(), source(writer));
        }
        note.insert("date".into(), carrel_records::time::format(now).replace("+00:00", "+0000").into());
    }
}

fn is_unchanged(note: &Map<String, Value>, old: &Value) -> bool {
    let staff_only = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
    note.get("noteType") == old.get("noteType")
        && note.get("note") == old.get("note")
        && staff_only(note.get("staffOnly")) == staff_only(old.get("staffOnly"))
}

fn source(user: &Value) -> Value {
    let name = |part: &str| user.pointer(&format!("/personal/{part}")).cloned().unwrap_or_default();
    json!({"id": user.get("id"), "personal": {"lastName": name("lastName"), "firstName": name("firstName")}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_signed_when_it_is_new_or_changed() {
        let stored = json!({"circulationNotes": [{"id": "1", "noteType": "Check in", "note": "a", "date": "before"},
            {"id": "2", "noteType": "Check in", "note": "b", "date": "before"}]});
        let user = json!({"id": "u", "personal": {"lastName": "Doe", "firstName": "Jo", "email": "x"}});
        let mut item = json!({"circulationNotes": [
            {"id": "1", "noteType": "Check in", "note": "a", "date": "before"},
            {"id": "2", "noteType": "Check in", "note": "other", "date": "before"},
            {"noteType": "Check out", "note": "new"}]})
        .as_object()
        .cloned()
        .expect("an object");
        sign(&mut item, Some(&stored), Some(&user), Timestamp::UNIX_EPOCH);
        let notes = &item["circulationNotes"];
        assert_eq!(notes[0]["date"], "before");
        assert!(notes[0].get("source").is_none());
        assert_eq!(notes[1]["date"], "1970-01-01T00:00:00.000+0000");
        assert_eq!(notes[1]["id"], "2");
        assert_eq!(
            notes[2]["source"],
            json!({"id": "u", "personal": {"lastName": "Doe", "firstName": "Jo"}})
        );
        assert!(notes[2]["id"].is_string());
    }
}
