//! Requests of a harvester: instances changed within a period, or the contents of named instances.

use super::updated::Parts;
use carrel_platform::http::Query;
use carrel_platform::{Bind, Call};
use carrel_records::{Failure, Refusal};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;
use uuid::Uuid;

/// A request for instances that changed within a period.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangesRequest {
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    with_deleted: bool,
    without_suppressed: bool,
    /// Changes of holdings records and items are ignored.
    only_titles: bool,
    source: Option<String>,
}

impl ChangesRequest {
    /// Reads the parameters that FOLIO's five views share.
    pub fn read(query: &Query) -> Result<ChangesRequest, Failure> {
        let harvest = ChangesRequest {
            since: instant(query.get("startDate"))?,
            until: instant(query.get("endDate"))?,
            with_deleted: is_wanted(query.get("deletedRecordSupport")),
            without_suppressed: is_wanted(query.get("skipSuppressedFromDiscoveryRecords")),
            only_titles: is_wanted(query.get("onlyInstanceUpdateDate")),
            source: query.get("source").filter(|source| !source.is_empty()).map(str::to_owned),
        };
        // Without a period every instance matches, so changes of holdings records and items add nothing.
        let is_first = harvest.since.is_none() && harvest.until.is_none();
        Ok(ChangesRequest { only_titles: harvest.only_titles || is_first, ..harvest })
    }

    /// Includes changes of holdings records and items, and instances of every source.
    pub fn of_everything(mut self) -> ChangesRequest {
        let is_first = self.since.is_none() && self.until.is_none();
        self.only_titles = is_first;
        self.source = None;
        self
    }

    /// The statement with its values.
    pub fn statement(&self, parts: &Parts) -> (String, Vec<Bind>) {
        let since = self.since.unwrap_or(Timestamp::UNIX_EPOCH);
        let binds = vec![
            since.into(),
            self.until.unwrap_or(LAST).into(),
            self.without_suppressed.into(),
            self.source.clone().into(),
        ];
        (parts.joined(self.only_titles, self.with_deleted), binds)
    }
}

/// Later than any change.
const LAST: Timestamp = Timestamp::constant(4_102_444_800, 0);

/// FOLIO quirk: only the text `true` is true, and a missing parameter counts as true.
fn is_wanted(text: Option<&str>) -> bool {
    text.is_none_or(|text| text.is_empty() || text.eq_ignore_ascii_case("true"))
}

/// A date (its beginning in UTC) or an instant with an offset.
fn instant(text: Option<&str>) -> Result<Option<Timestamp>, Failure> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let of_day = || {
        // The parser would ignore the time in a longer text.
        let day = text.parse::<Date>().ok().filter(|_| text.len() == 10)?;
        Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    match text.parse::<Timestamp>().ok().or_else(of_day) {
        Some(instant) => Ok(Some(instant)),
        None => Err(Failure::Invalid(format!(
            "java.time.format.DateTimeParseException: Text '{text}' could not be parsed"
        ))),
    }
}

/// A request for the contents of instances.
#[derive(Debug)]
pub struct ContentsRequest {
    ids: Vec<Uuid>,
    without_suppressed: bool,
}

impl ContentsRequest {
    /// Reads the body.
    pub fn read(call: &Call) -> Result<ContentsRequest, Failure> {
        let body = call.object()?;
        let mut refusals = Vec::new();
        let mut missing = |name: &str| refusals.push(Refusal::new("must not be null").with_null(name));
        if body.get("instanceIds").is_none_or(Value::is_null) {
            missing("instanceIds");
        }
        let without_suppressed = body.get("skipSuppressedFromDiscoveryRecords").and_then(Value::as_bool);
        if without_suppressed.is_none() {
            missing("skipSuppressedFromDiscoveryRecords");
        }
        let mut ids = Vec::new();
        for text in body.get("instanceIds").and_then(Value::as_array).into_iter().flatten() {
            match text.as_str().and_then(|text| Uuid::parse_str(text).ok()) {
                Some(id) => ids.push(id),
                None => refusals.push(
                    Refusal::new("must be a UUID")
                        .with("instanceIds", text.as_str().map_or_else(|| text.to_string(), str::to_owned)),
                ),
            }
        }
        match refusals.is_empty() {
            true => Ok(ContentsRequest { ids, without_suppressed: without_suppressed.unwrap_or(true) }),
            false => Err(Failure::Refused(refusals)),
        }
    }

    pub fn binds(&self) -> Vec<Bind> {
        vec![self.ids.clone().into(), self.without_suppressed.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> ChangesRequest {
        ChangesRequest::read(&Query::read(query)).expect("a harvest")
    }

    #[test]
    fn without_parameters_all_titles_are_asked_for_but_the_suppressed_ones() {
        let harvest = read("");
        assert!(harvest.with_deleted && harvest.without_suppressed && harvest.only_titles);
        assert!(harvest.of_everything().only_titles, "there is no time in which holdings could have changed");
    }

    #[test]
    fn holdings_and_items_count_when_asked_for() {
        let harvest = read("startDate=2026-01-01T00:00:00Z&onlyInstanceUpdateDate=false&source=MARC");
        assert!(!harvest.only_titles);
        assert_eq!(harvest.source.as_deref(), Some("MARC"));
        assert!(read("startDate=2026-01-01").only_titles);
        assert!(!read("startDate=2026-01-01").of_everything().only_titles);
    }

    #[test]
    fn a_day_begins_in_utc_and_an_offset_counts() {
        let of =
            |text: &str| instant(Some(text)).expect("a point in time").map(|instant| instant.to_string());
        assert_eq!(of("2026-05-04").as_deref(), Some("2026-05-04T00:00:00Z"));
        assert_eq!(of("2026-05-04T12:00:00+02:00").as_deref(), Some("2026-05-04T10:00:00Z"));
        assert_eq!(of(""), None);
        assert!(instant(Some("yesterday")).is_err());
        assert!(instant(Some("2026-05-04T12:00:00")).is_err(), "a time without offset");
    }
}
