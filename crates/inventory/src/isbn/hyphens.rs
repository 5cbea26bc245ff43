//! The parts of an ISBN: group, publisher, title. Their lengths follow the agency's table. Values only.

/// A line per prefix and group: the ranges of publishers' numbers.
const GROUPS: &str = include_str!("groups.txt");

/// The number with hyphens between its parts. If the table lacks the group or the publisher, only prefix and check digit
/// are separated.
pub fn inserted(digits: &str) -> String {
    let (prefix, ten) = digits.split_at(digits.len().saturating_sub(10));
    let (body, check) = ten.split_at(ten.len().saturating_sub(1));
    let mut parts = Vec::with_capacity(5);
    if !prefix.is_empty() {
        parts.push(prefix);
    }
    let known = if prefix.is_empty() { "978" } else { prefix };
    match GROUPS.lines().find_map(|line| parted(body, line, known)) {
        Some(found) => parts.extend(found),
        None => parts.push(body),
    }
    parts.push(check);
    parts.join("-")
}

/// Group, publisher and title, if the line is of this group.
fn parted<'a>(body: &'a str, line: &str, prefix: &str) -> Option<[&'a str; 3]> {
    let (group, ranges) = line.strip_prefix(prefix)?.strip_prefix('-')?.split_once(' ')?;
    let rest = body.strip_prefix(group)?;
    ranges.split(' ').find_map(|range| {
        let (least, most) = range.split_once('-').unwrap_or((range, range));
        let (publisher, title) = rest.split_at_checked(least.len())?;
        let is_here = !title.is_empty() && (least..=most).contains(&publisher);
        is_here.then_some([&body[..group.len()], publisher, title])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_the_agency_says() {
        for parts in [
            "1-930110-99-5",
            "978-1-930110-99-1",
            "0-19-852663-6",
            "3-16-148410-0",
            "978-99921-58-10-4",
            "979-10-90636-07-1",
            "979-8-88645-174-0",
        ] {
            assert_eq!(inserted(&parts.replace('-', "")), parts);
        }
    }

    #[test]
    fn what_the_table_does_not_know_is_left_together() {
        assert_eq!(inserted("9999999999"), "999999999-9");
        assert_eq!(inserted("9799999999990"), "979-999999999-0");
    }

    #[test]
    fn every_line_of_the_table_can_be_read() {
        let lines: Vec<&str> = GROUPS.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.len() > 200);
        for line in lines {
            let (name, ranges) = line.split_once(' ').expect("a group and its ranges");
            assert!(name.starts_with("978-") || name.starts_with("979-"), "{line}");
            for range in ranges.split(' ') {
                let (least, most) = range.split_once('-').unwrap_or((range, range));
                assert!(least.len() == most.len() && least <= most, "{line}: {range}");
            }
        }
    }
}
