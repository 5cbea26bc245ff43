//! Dates, times and lists in the English of mod-calendar's error messages.

use jiff::civil::{Date, Time, Weekday};

use super::record::{Exception, ExceptionOpening, NormalOpening};

/// "Jan 3, 2022".
pub(super) fn date(date: Date) -> String {
    date.strftime("%b %-d, %Y").to_string()
}

/// "7:00 AM", with the narrow space that Unicode's locale data puts before AM and PM.
fn time(time: Time) -> String {
    format!("{}\u{202f}{}", time.strftime("%-I:%M"), if time.hour() < 12 { "AM" } else { "PM" })
}

fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Sunday => "Sun",
        Weekday::Monday => "Mon",
        Weekday::Tuesday => "Tue",
        Weekday::Wednesday => "Wed",
        Weekday::Thursday => "Thu",
        Weekday::Friday => "Fri",
        Weekday::Saturday => "Sat",
    }
}

/// "Mon 12:00 AM - Mon 12:30 PM".
pub(super) fn normal_opening(opening: &NormalOpening) -> String {
    format!(
        "{} {} - {} {}",
        weekday(opening.start_day),
        time(opening.start_time),
        weekday(opening.end_day),
        time(opening.end_time)
    )
}

/// "Jan 1, 2021 12:00 AM to Jan 2, 2021 2:59 PM".
pub(super) fn exception_opening(opening: &ExceptionOpening) -> String {
    format!(
        "{} {} to {} {}",
        date(opening.start_date),
        time(opening.start_time),
        date(opening.end_date),
        time(opening.end_time)
    )
}

/// "“Break” on Jan 1, 2021" or "“Break” from Jan 1, 2021 to Jan 2, 2021".
pub(super) fn exception(exception: &Exception) -> String {
    let (name, start, end) = (&exception.name, exception.start_date, exception.end_date);
    if start == end {
        format!("“{name}” on {}", date(start))
    } else {
        format!("“{name}” from {} to {}", date(start), date(end))
    }
}

/// "a", "a and b", "a, b, and c".
pub(super) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date as day;

    #[test]
    fn dates_times_and_lists_read_as_in_english() {
        assert_eq!(date(day(2022, 1, 3)), "Jan 3, 2022");
        assert_eq!(time(Time::constant(0, 0, 0, 0)), "12:00\u{202f}AM");
        assert_eq!(time(Time::constant(12, 30, 0, 0)), "12:30\u{202f}PM");
        assert_eq!(time(Time::constant(9, 5, 0, 0)), "9:05\u{202f}AM");
        let words = |n: usize| ["a", "b", "c"].map(String::from)[..n].to_vec();
        assert_eq!([list(&words(1)), list(&words(2)), list(&words(3))], ["a", "a and b", "a, b, and c"]);
    }
}
