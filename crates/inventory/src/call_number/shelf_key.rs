//! Shelving keys of call numbers by scheme. The rules are those of the MARC library that FOLIO uses, so that both sort
//! alike.

use crate::call_number::sortable::{push_number, push_words};

/// Library of Congress, and the National Library of Medicine, whose numbers are built the same way.
pub fn library_of_congress(number: &str) -> String {
    let number = number.trim();
    let mut key = String::new();
    let letters = number.len() - number.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    let mut rest = number;
    if letters > 0 {
        key.push_str(&number[..letters].to_ascii_uppercase());
        rest = number[letters..].trim_start_matches(' ');
        let digits = leading(rest, |c| c.is_ascii_digit());
        if digits > 0 {
            key.push(' ');
            key.push_str(&digits.to_string());
            key.push_str(&rest[..digits]);
            rest = &rest[digits..];
            let decimals = rest.strip_prefix('.').map_or(0, |rest| leading(rest, |c| c.is_ascii_digit()));
            if decimals > 0 {
                key.push_str(&rest[..=decimals]);
                rest = &rest[decimals + 1..];
            }
        }
    }
    let rest = rest.trim();
    let cutter = first_cutter(rest).unwrap_or(rest.len());
    let suffix = rest[..cutter].trim();
    if let Some(first) = suffix.chars().next() {
        if !key.is_empty() {
            key.push(' ');
            // Words after the class sort after its cutters.
            if first.is_alphabetic() {
                key.push('_');
            }
        }
        push_words(&mut key, suffix);
    }
    push_cutters(&mut key, &rest[cutter..].trim().to_uppercase());
    if key.ends_with(' ') {
        key.pop();
    }
    key
}

/// Dewey: class, one cutter, and the rest.
pub fn dewey(number: &str) -> String {
    let mut key = String::new();
    let digits = leading(number, |c| c.is_ascii_digit());
    if digits == 0 {
        push_words(&mut key, number);
        return key;
    }
    push_number(&mut key, &number[..digits]);
    let mut rest = &number[digits..];
    let decimals = rest.strip_prefix('.').map_or(0, |rest| leading(rest, |c| c.is_ascii_digit()));
    if decimals > 0 {
        key.push_str(&rest[..=decimals]);
        rest = &rest[decimals + 1..];
    }
    let (cutter, suffix) = dewey_cutter(rest);
    if let Some(cutter) = cutter {
        key.push(' ');
        key.push_str(cutter);
    }
    if let Some(suffix) = suffix {
        key.push(' ');
        push_words(&mut key, suffix);
    }
    key
}

/// The United States' Superintendent of Documents: author, office, series, and the rest.
pub fn superintendent_of_documents(number: &str) -> String {
    let number = number.trim();
    let mut key = String::new();
    let mut rest = number;
    if let Some((author, parts, behind)) = document_stem(number) {
        key.push_str(author);
        for part in parts {
            push_document_part(&mut key, part);
        }
        rest = behind;
    }
    push_document_part(&mut key, rest.strip_prefix(':').unwrap_or(rest));
    key
}

fn leading(text: &str, fits: impl Fn(char) -> bool) -> usize {
    text.find(|letter: char| !fits(letter)).unwrap_or(text.len())
}

/// Index of the first cutter: a letter followed by a digit, perhaps after a point, or a point with a letter at the
/// beginning or after a blank.
fn first_cutter(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let letter = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_alphabetic);
    let digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).find(|&place| match bytes[place] {
        b'.' => letter(place + 1) && (digit(place + 2) || place == 0),
        b' ' => bytes.get(place + 1) == Some(&b'.') && letter(place + 2),
        _ => letter(place) && digit(place + 1),
    })
}

/// Cutters unchanged, the text between them in sortable form.
fn push_cutters(key: &mut String, text: &str) {
    let bytes = text.as_bytes();
    let mut rest = 0;
    while rest < text.len() {
        let found = (rest..bytes.len()).find(|&place| {
            bytes[place].is_ascii_alphabetic() && bytes.get(place + 1).is_some_and(u8::is_ascii_digit)
        });
        push_gap(key);
        let Some(start) = found else {
            push_words(key, &text[rest..]);
            return;
        };
        push_words(key, &text[rest..start]);
        push_gap(key);
        let end = start + 1 + leading(&text[start + 1..], |c| c.is_ascii_digit());
        key.push_str(&text[start..end]);
        rest = end;
    }
}

fn push_gap(key: &mut String) {
    if !key.is_empty() && !key.ends_with(' ') {
        key.push(' ');
    }
}

/// The cutter after a Dewey class (a capital, up to three digits, perhaps capitals) and the rest.
fn dewey_cutter(text: &str) -> (Option<&str>, Option<&str>) {
    let start = text.trim_start_matches(' ');
    let start = start.strip_prefix('.').unwrap_or(start);
    let digits = start.get(1..).map_or(0, |rest| leading(rest, |c| c.is_ascii_digit()).min(3));
    if !start.starts_with(|c: char| c.is_ascii_uppercase()) || digits == 0 {
        return (None, Some(text));
    }
    let end = 1 + digits;
    let end = end + leading(&start[end..], |c| c.is_ascii_uppercase());
    let suffix = start[end..].trim_start_matches(' ');
    (Some(&start[..end]), (!suffix.is_empty()).then_some(suffix))
}

/// Author symbol, parts of the stem, and the rest; `None` where the number does not begin with a whole stem.
fn document_stem(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    let letters = leading(text, |c| c.is_ascii_alphabetic());
    let office = letters + leading(&text[letters..], |c: char| c.is_ascii_whitespace());
    let office_end = office + leading(&text[office..], |c| c.is_ascii_digit());
    let series = text[office_end..].strip_prefix('.')?;
    if letters == 0 || office_end == office {
        return None;
    }
    let series_letters = leading(series, |c| c.is_ascii_alphabetic());
    let series_length = series_letters + leading(&series[series_letters..], |c| c.is_ascii_digit());
    if series_length == 0 {
        return None;
    }
    let rest = &series[series_length..];
    let mut parts = vec![&text[office..office_end], &series[..series_length]];
    let sub = rest.strip_prefix('/').map_or(0, sub_series);
    if sub > 0 {
        parts.push(&rest[1..=sub]);
        return Some((&text[..letters], parts, &rest[sub + 1..]));
    }
    Some((&text[..letters], parts, rest))
}

/// Length of letters, digits, or both, with perhaps a hyphen and more digits.
fn sub_series(text: &str) -> usize {
    let letters = leading(text, |c| c.is_ascii_alphabetic());
    let digits = leading(&text[letters..], |c| c.is_ascii_digit());
    let end = letters + digits;
    let more = text[end..].strip_prefix('-').map_or(0, |rest| leading(rest, |c| c.is_ascii_digit()));
    if digits > 0 && more > 0 { end + 1 + more } else { end }
}

fn push_document_part(key: &mut String, part: &str) {
    if part.trim().is_empty() {
        return;
    }
    let part = part.strip_prefix(['.', '/', '-', ':']).unwrap_or(part);
    let pieces: Vec<&str> = part.trim_end_matches(['.', '/', ' ', '-']).split(['.', '/', ' ', '-']).collect();
    for piece in pieces {
        if !key.is_empty() {
            key.push(' ');
        }
        let piece = piece.trim();
        let Some(first) = piece.chars().next() else { continue };
        // Letters sort before numbers, and numbers of few digits before those of many.
        if first.is_alphabetic() {
            key.push_str(" !");
        } else if piece.chars().count() >= 3 {
            key.push('!');
        }
        push_words(key, piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_of_congress_numbers_sort_by_class_then_cutter() {
        for (number, key) in [
            ("HD1691 .I5 1967", "HD 41691 I5 41967"),
            ("PR 9199.3 1920 L33 1475 .A6", "PR 49199.3 41920 L33 41475 A6"),
            ("QA76", "QA 276"),
            ("BF199.", "BF 3199"),
            ("G3841.C2 S5 1776 .S4 v.1", "G 43841 C2 S5 41776 S4 V 11"),
            ("TX519", "TX 3519"),
            ("KF 4558 15th .G6", "KF 44558 215TH G6"),
            ("12 abc", "212 ABC"),
        ] {
            assert_eq!(library_of_congress(number), key, "{number}");
        }
        assert!(library_of_congress("QA9 .B5") < library_of_congress("QA76 .A1"));
    }

    #[test]
    fn dewey_numbers_sort_by_class_then_cutter() {
        for (number, key) in [
            ("324.6 A75CT 2008", "3324.6 A75CT 42008"),
            ("84.1 M22c", "284.1 M22 C"),
            ("1 .I39", "11 I39"),
            ("322.44 .F816 V.1 NO.1 1974", "3322.44 F816 V 11 NO 11 41974"),
            ("Fiction", "FICTION"),
        ] {
            assert_eq!(dewey(number), key, "{number}");
        }
    }

    #[test]
    fn government_documents_sort_by_author_then_office_then_series() {
        for (number, key) in [
            ("T22.19:M54", "T 222 219  !M 254"),
            ("A 13.28:F 61/2/981", "A 213 228  !F 261 12 !3981"),
            ("ABBA", " !ABBA"),
        ] {
            assert_eq!(superintendent_of_documents(number), key, "{number}");
        }
    }
}
