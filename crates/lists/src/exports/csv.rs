//! Lines of CSV for spreadsheets.

use crate::entity_types::Column;
use crate::entity_types::entity_type::Shown;
use serde_json::Value;

/// The byte order mark by which a spreadsheet recognizes UTF-8, and the names of the columns.
pub fn beginning<'a>(labels: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::from("\u{feff}");
    for (index, label) in labels.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_cell(&label.replace(['—', '–'], "-"), &mut out);
    }
    out.push('\n');
    out
}

/// A record.
pub fn line<'a>(cells: impl Iterator<Item = (&'a Column, &'a Option<String>)>, out: &mut String) {
    for (index, (column, value)) in cells.enumerate() {
        if index > 0 {
            out.push(',');
        }
        let Some(value) = value else { continue };
        match &column.shown {
            Shown::Array(_) => write_cell(&joined(value), out),
            _ => write_cell(value, out),
        }
    }
    out.push('\n');
}

/// The elements of a JSON array, separated by semicolons.
fn joined(array: &str) -> String {
    match serde_json::from_str(array) {
        Ok(Value::Array(elements)) => {
            let texts = elements.iter().filter_map(|element| match element {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            });
            texts.collect::<Vec<_>>().join(";")
        }
        _ => array.to_owned(),
    }
}

/// A cell, quoted if necessary. Text that a spreadsheet would execute as a formula gets an apostrophe before it.
fn write_cell(text: &str, out: &mut String) {
    let guard = match text.chars().next() {
        Some('=' | '@' | '\t' | '\r') => true,
        Some('+' | '-') => text.parse::<f64>().is_err(),
        _ => false,
    };
    if !guard && !text.contains([',', '"', '\n', '\r']) {
        out.push_str(text);
        return;
    }
    out.push('"');
    if guard {
        out.push('\'');
    }
    out.push_str(&text.replace('"', "\"\""));
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> String {
        let mut out = String::new();
        write_cell(text, &mut out);
        out
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (text, written) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"so\"", "\"say \"\"so\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("", ""),
        ] {
            assert_eq!(cell(text), written);
        }
    }

    #[test]
    fn formulas_are_guarded_and_numbers_are_not() {
        for (text, written) in [
            ("=1+1", "\"'=1+1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\""),
            ("-2+3", "\"'-2+3\""),
            ("-12.5", "-12.5"),
        ] {
            assert_eq!(cell(text), written);
        }
    }

    #[test]
    fn arrays_are_joined_and_labels_have_plain_dashes() {
        assert_eq!(joined(r#"["a",null,"b",3]"#), "a;b;3");
        assert_eq!(beginning(["Item — Barcode", "b"].into_iter()), "\u{feff}Item - Barcode,b\n");
    }
}
