//! English names of countries and languages by their codes.

use std::collections::HashMap;
use std::sync::LazyLock;

static COUNTRIES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    include_str!("countries.tsv").lines().filter_map(|line| line.split_once('\t')).collect()
});

static LANGUAGES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let mut names = HashMap::new();
    for line in include_str!("languages.tsv").lines() {
        let mut cells = line.split('\t');
        if let (Some(three), Some(two), Some(name)) = (cells.next(), cells.next(), cells.next()) {
            names.insert(three, name);
            if !two.is_empty() {
                names.insert(two, name);
            }
        }
    }
    names
});

/// The name of a country by its code of two letters (ISO 3166-1).
pub fn country(code: &str) -> Option<&'static str> {
    COUNTRIES.get(code).copied()
}

/// Codes and names of all countries.
pub fn countries() -> impl Iterator<Item = (&'static str, &'static str)> {
    COUNTRIES.iter().map(|(code, name)| (*code, *name))
}

/// The name of a language by its bibliographic code of three letters (ISO 639-2) or its code of two letters.
pub fn language(code: &str) -> Option<&'static str> {
    LANGUAGES.get(code).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_and_languages_are_named_in_english() {
        assert_eq!(country("US"), Some("United States"));
        assert_eq!(country("us"), None);
        assert_eq!((language("ger"), language("de")), (Some("German"), Some("German")));
        assert_eq!(language("deu"), None);
    }
}
