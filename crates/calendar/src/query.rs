//! Parameters of the calendar's routes.

use super::error::CalendarFailure;
use carrel_loan_rules::opening_hours::WhichDays;
use carrel_platform::http::Query;
use jiff::civil::Date;
use std::fmt::Display;
use std::str::FromStr;
use uuid::Uuid;

/// Days of a listed period, at most (some hundred years): each day is computed.
const MAX_SPAN_DAYS: i32 = 36_600;

/// The parameters of a search for calendars.
#[derive(Debug, PartialEq, Eq)]
pub struct Search {
    pub ids: Option<Vec<Uuid>>,
    pub service_points: Option<Vec<Uuid>>,
    pub start_date: Option<Date>,
    pub end_date: Option<Date>,
    pub offset: i64,
    pub limit: i64,
}

impl Search {
    pub fn read(query: &Query) -> Result<Search, CalendarFailure> {
        Ok(Search {
            ids: ids(query, "id")?,
            service_points: ids(query, "servicePointId")?,
            start_date: read(query, "startDate")?,
            end_date: read(query, "endDate")?,
            offset: number(query, "offset", 0)?,
            limit: number(query, "limit", 10)?,
        })
    }
}

/// The ids of a parameter that may be repeated, or contain several ids separated by commas.
pub fn ids(query: &Query, name: &str) -> Result<Option<Vec<Uuid>>, CalendarFailure> {
    let texts: Vec<&str> =
        query.all(name).flat_map(|text| text.split(',')).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        return Ok(None);
    }
    let mut ids = texts
        .into_iter()
        .map(|text| {
            Uuid::parse_str(text).map_err(|error| CalendarFailure::unreadable(format!("{name}: {error}")))
        })
        .collect::<Result<Vec<Uuid>, CalendarFailure>>()?;
    ids.sort_unstable();
    ids.dedup();
    Ok(Some(ids))
}

pub fn date(query: &Query, name: &str) -> Result<Date, CalendarFailure> {
    required(query, name)
}

pub fn which_days(query: &Query) -> Result<WhichDays, CalendarFailure> {
    let which = WhichDays {
        start_date: date(query, "startDate")?,
        end_date: date(query, "endDate")?,
        include_closed: required(query, "includeClosed")?,
        offset: number(query, "offset", 0)? as usize,
        limit: number(query, "limit", 10)? as usize,
    };
    let days = which.start_date.until(which.end_date).map(|span| span.get_days()).unwrap_or(i32::MAX);
    if days > MAX_SPAN_DAYS {
        return Err(CalendarFailure::unreadable(format!("no more than {MAX_SPAN_DAYS} days can be listed")));
    }
    Ok(which)
}

fn read<T: FromStr<Err: Display>>(query: &Query, name: &str) -> Result<Option<T>, CalendarFailure> {
    match query.get(name).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => {
            text.parse().map(Some).map_err(|error| CalendarFailure::unreadable(format!("{name}: {error}")))
        }
    }
}

fn required<T: FromStr<Err: Display>>(query: &Query, name: &str) -> Result<T, CalendarFailure> {
    read(query, name)?.ok_or_else(|| CalendarFailure::unreadable(format!("{name} is required")))
}

fn number(query: &Query, name: &str, default: i64) -> Result<i64, CalendarFailure> {
    match read::<i64>(query, name)? {
        None => Ok(default),
        Some(number) if (0..=i64::from(i32::MAX)).contains(&number) => Ok(number),
        Some(number) => Err(CalendarFailure::unreadable(format!("{name}: {number} is out of bounds"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date as day;

    #[test]
    fn ids_come_one_by_one_or_with_commas() {
        let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let query = Query::read(&format!("id={two}&id={one},{two}"));
        assert_eq!(ids(&query, "id"), Ok(Some(vec![one, two])));
        assert_eq!(ids(&query, "servicePointId"), Ok(None));
        assert!(ids(&Query::read("id=x"), "id").is_err());
    }

    #[test]
    fn days_are_asked_for_with_both_ends_and_a_word_about_closed_ones() {
        let which = which_days(&Query::read("startDate=2022-01-01&endDate=2022-12-31&includeClosed=false"))
            .expect("read");
        assert_eq!((which.start_date, which.limit), (day(2022, 1, 1), 10));
        assert!(which_days(&Query::read("startDate=2022-01-01&endDate=2022-12-31")).is_err());
        assert!(
            which_days(&Query::read("startDate=2022-13-01&endDate=2022-12-31&includeClosed=true")).is_err()
        );
    }

    #[test]
    fn a_span_of_thousands_of_years_is_not_listed() {
        let query = Query::read("startDate=0001-01-01&endDate=9999-12-31&includeClosed=true");
        assert!(which_days(&query).is_err());
    }
}
