//! The payload of an event about a record, in FOLIO's form: `{"type": …, "tenant": …, "old": …, "new": …}`.

use std::fmt::{Display, Formatter, Result};

/// JSON, as text or as a value.
pub type Document<'a> = &'a (dyn Display + Sync);

/// A record before and after a change, as JSON; the presence of each determines the type of the event.
#[derive(Clone, Copy)]
pub struct Event<'a> {
    tenant: &'a str,
    cause: Option<&'a str>,
    old: Option<Document<'a>>,
    new: Option<Document<'a>>,
}

impl<'a> Event<'a> {
    pub fn created(tenant: &'a str, new: Document<'a>) -> Event<'a> {
        Event::between(tenant, None, Some(new))
    }

    pub fn updated(tenant: &'a str, old: Document<'a>, new: Document<'a>) -> Event<'a> {
        Event::between(tenant, Some(old), Some(new))
    }

    pub fn deleted(tenant: &'a str, old: Document<'a>) -> Event<'a> {
        Event::between(tenant, Some(old), None)
    }

    /// Without both documents, the event means that all records of the type were deleted.
    pub fn between(tenant: &'a str, old: Option<Document<'a>>, new: Option<Document<'a>>) -> Event<'a> {
        Event { tenant, cause: None, old, new }
    }

    /// Adds the cause of the event for readers of the outbox.
    pub fn because(self, cause: &'a str) -> Event<'a> {
        Event { cause: Some(cause), ..self }
    }
}

impl Display for Event<'_> {
    fn fmt(&self, to: &mut Formatter<'_>) -> Result {
        let kind = match (self.old, self.new) {
            (None, Some(_)) => "CREATE",
            (Some(_), Some(_)) => "UPDATE",
            (Some(_), None) => "DELETE",
            (None, None) => "DELETE_ALL",
        };
        write!(to, "{{\"type\":\"{kind}\",\"tenant\":\"{}\"", self.tenant)?;
        if let Some(cause) = self.cause {
            write!(to, ",\"cause\":\"{cause}\"")?;
        }
        if let Some(old) = self.old {
            write!(to, ",\"old\":{old}")?;
        }
        if let Some(new) = self.new {
            write!(to, ",\"new\":{new}")?;
        }
        to.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_an_event_follows_from_its_documents() {
        let (old, new) = (r#"{"a":1}"#, r#"{"a":2}"#);
        assert_eq!(Event::created("t", &new).to_string(), r#"{"type":"CREATE","tenant":"t","new":{"a":2}}"#);
        assert_eq!(
            Event::updated("t", &old, &new).because("age").to_string(),
            r#"{"type":"UPDATE","tenant":"t","cause":"age","old":{"a":1},"new":{"a":2}}"#
        );
        assert_eq!(Event::deleted("t", &old).to_string(), r#"{"type":"DELETE","tenant":"t","old":{"a":1}}"#);
        assert_eq!(Event::between("t", None, None).to_string(), r#"{"type":"DELETE_ALL","tenant":"t"}"#);
    }
}
