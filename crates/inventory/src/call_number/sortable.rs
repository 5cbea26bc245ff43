//! Sortable text: letters sort as text and numbers by size. A number is prefixed with the count of its digits, so that
//! `9` (`19`) comes before `10` (`210`).

/// Adds a number without leading zeros, prefixed with the count of the digits before its point.
pub fn push_number(key: &mut String, number: &str) {
    let whole = number.bytes().take_while(u8::is_ascii_digit).count();
    let zeros = number.bytes().take_while(|digit| *digit == b'0').count();
    key.push_str(&(whole - zeros).to_string());
    key.push_str(&number[zeros..]);
}

/// Adds the words and numbers of a text, separated by one blank.
pub fn push_words(key: &mut String, text: &str) {
    let mut rest = text.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_digit() {
            // A point belongs to the number, also after its last digit.
            let end =
                rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
            push_number(key, &rest[..end]);
            rest = &rest[end..];
            if rest.is_empty() || rest.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
                continue;
            }
        } else {
            let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
            key.push_str(&rest[..end].to_ascii_uppercase());
            rest = &rest[end..];
            if rest.is_empty() {
                continue;
            }
        }
        key.push(' ');
        rest = rest.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let mut key = String::new();
        push_words(&mut key, text);
        key
    }

    #[test]
    fn numbers_sort_by_their_size() {
        assert!(words("v.9") < words("v.10"));
        assert_eq!(words("v.10"), "V 210");
        assert_eq!(words("007"), "17");
        assert_eq!(words("0.5"), "0.5");
        assert_eq!(words("000"), "0");
    }

    #[test]
    fn a_gap_is_one_blank() {
        assert_eq!(words(" -- a, (b) 12c"), "A B 212C");
        assert_eq!(words("abc12"), "ABC 212");
        assert_eq!(words("12 -"), "212 ");
        assert_eq!(words(""), "");
        assert_eq!(words("été"), "T ");
    }
}
