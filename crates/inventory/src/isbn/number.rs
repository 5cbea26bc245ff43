//! The digits of an ISBN, of either length. Values only.

/// The ten digits of an ISBN of the old length, with or without hyphens or blanks between its four parts.
pub fn isbn_10(text: &str) -> Option<String> {
    let digits = ten(text.trim())?;
    let sum: u32 = digits.chars().rev().zip(1..).map(|(digit, weight)| value(digit) * weight).sum();
    sum.is_multiple_of(11).then_some(digits)
}

/// The thirteen digits of an ISBN of the new length.
pub fn isbn_13(text: &str) -> Option<String> {
    let text = text.trim();
    let rest = ["978", "979"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    // In one part, or in five.
    let ten = match rest.strip_prefix(is_separator) {
        Some(parts) => ten(parts).filter(|_| parts.len() > 10)?,
        None => ten(rest).filter(|_| rest.len() == 10)?,
    };
    let digits = format!("{}{ten}", &text[..3]);
    let is_right = !ten.ends_with('X') && check_13(&digits[..12]) == digits.chars().next_back();
    is_right.then_some(digits)
}

/// The same number in the new length.
pub fn to_13(isbn_10: &str) -> String {
    let digits = format!("978{}", &isbn_10[..9]);
    let check = check_13(&digits).unwrap_or_default();
    format!("{digits}{check}")
}

/// The same number in the old length, which only numbers of the prefix 978 have.
pub fn to_10(isbn_13: &str) -> Option<String> {
    let digits = &isbn_13.strip_prefix("978")?[..9];
    let sum: u32 = digits.chars().zip((2..=10).rev()).map(|(digit, weight)| value(digit) * weight).sum();
    let check = match (11 - sum % 11) % 11 {
        10 => 'X',
        check => char::from_digit(check, 10)?,
    };
    Some(format!("{digits}{check}"))
}

fn check_13(twelve: &str) -> Option<char> {
    let sum: u32 =
        twelve.chars().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| value(digit) * weight).sum();
    char::from_digit((10 - sum % 10) % 10, 10)
}

fn value(digit: char) -> u32 {
    digit.to_digit(10).unwrap_or(10)
}

fn is_separator(letter: char) -> bool {
    letter == '-' || letter.is_ascii_whitespace()
}

/// Nine digits and a check digit, in one or in four parts.
fn ten(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split(is_separator).collect();
    let fits = match parts[..] {
        [all] => all.len() == 10,
        [group, publisher, title, check] => {
            (1..=5).contains(&group.len())
                && (1..=7).contains(&publisher.len())
                && (1..=6).contains(&title.len())
                && check.len() == 1
        }
        _ => false,
    };
    let digits = parts.concat();
    let (body, check) = digits.split_at_checked(9)?;
    let is_number =
        body.bytes().all(|byte| byte.is_ascii_digit()) && matches!(check.as_bytes(), [b'0'..=b'9' | b'X']);
    (fits && is_number).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_isbn_is_known_by_its_check_digit() {
        for right in ["1930110995", "1-930110-99-5", "1 930110 99 5", "080442957X", " 0-8044-2957-X "] {
            assert!(isbn_10(right).is_some(), "{right}");
        }
        for wrong in [
            "1930110994",
            "1930211099",
            "0318Y40648",
            "080442957x",
            "1-930110-99--5",
            "19301109955",
            "é930110995",
            "",
        ] {
            assert_eq!(isbn_10(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_new_length_has_a_prefix() {
        for right in ["9781930110991", "978-1-930110-99-1", "978 1 930110 99 1", "979-10-90636-07-1"] {
            assert!(isbn_13(right).is_some(), "{right}");
        }
        for wrong in [
            "9781930110990",
            "1930110995",
            "9771930110992",
            "9781930a10991",
            "978-1930110991",
            "9781-930110-99-1",
            "97819301109911",
        ] {
            assert_eq!(isbn_13(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_number_is_the_same_in_both_lengths() {
        assert_eq!(to_13("1930110995"), "9781930110991");
        assert_eq!(to_10("9781930110991").as_deref(), Some("1930110995"));
        assert_eq!(to_13("080442957X"), "9780804429573");
        assert_eq!(to_10("9780804429573").as_deref(), Some("080442957X"));
        assert_eq!(to_10("9791090636071"), None, "there were ten digits for 978 alone");
    }
}
