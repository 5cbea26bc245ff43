//! A search term: letters and wildcards. `*` stands for any text, `?` for one letter; a backslash escapes the next
//! character.

/// The searched text, with its wildcards.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Term {
    parts: Vec<Part>,
}

/// A part of a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    /// `*`
    AnyText,
    /// `?`
    AnyLetter,
}

/// A word of a term; the flag says that it is truncated on the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    pub truncated: bool,
}

impl Term {
    /// Parses CQL's spelling, in which a backslash makes the next character a letter.
    pub fn parse(raw: &str) -> Term {
        let mut term = Term::default();
        let mut letters = raw.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '*' => {
                    if term.parts.last() != Some(&Part::AnyText) {
                        term.parts.push(Part::AnyText);
                    }
                }
                '?' => term.parts.push(Part::AnyLetter),
                // A single backslash at the end stands for itself.
                '\\' => term.push(letters.next().unwrap_or('\\')),
                // FOLIO quirk: `^` does not anchor, it is a letter like any other.
                letter => term.push(letter),
            }
        }
        term
    }

    fn push(&mut self, letter: char) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push(letter),
            _ => self.parts.push(Part::Text(letter.to_string())),
        }
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The text, if it contains no wildcard.
    pub fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Only `*`: any text.
    pub fn is_anything(&self) -> bool {
        self.parts == [Part::AnyText]
    }

    /// The text before the first wildcard.
    pub fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Text, then one `*`: right truncation.
    pub fn truncated(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Text(text), Part::AnyText] => Some(text),
            _ => None,
        }
    }

    /// The text with its wildcards as plain characters, for relations without wildcards.
    pub fn literal(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::AnyText => "*",
                Part::AnyLetter => "?",
            })
            .collect()
    }

    /// The term without the hyphens that `carrel.without_hyphens` removes from values.
    pub(crate) fn without_hyphens(&self) -> Term {
        let batcher = |text: &str| {
            let letters: Vec<char> = text.chars().collect();
            let mut kept = String::with_capacity(text.len());
            let mut position = 0;
            while let Some(letter) = letters.get(position) {
                kept.push(*letter);
                position += 1;
                if letter.is_ascii_digit() {
                    let gap =
                        letters[position..].iter().take_while(|c| matches!(c, ' ' | '\t' | '-')).count();
                    let behind = position + gap;
                    let number_goes_on = match letters.get(behind) {
                        Some('x' | 'X') => letters.get(behind + 1).is_none_or(|c| !c.is_alphanumeric()),
                        Some(next) => next.is_ascii_digit(),
                        // A wildcard stands for the rest of the number.
                        None => !self.parts.last().is_some_and(|part| matches!(part, Part::Text(_))),
                    };
                    if gap > 0 && number_goes_on {
                        position = behind;
                    }
                }
            }
            kept
        };
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => Part::Text(batcher(text)),
            mask => mask.clone(),
        });
        Term { parts: parts.collect() }
    }

    /// The pattern for SQL's `LIKE`.
    pub(crate) fn like_pattern(&self) -> String {
        let mut pattern = String::new();
        for part in &self.parts {
            match part {
                Part::AnyText => pattern.push('%'),
                Part::AnyLetter => pattern.push('_'),
                Part::Text(text) => {
                    for letter in text.chars() {
                        if escaped_in_like(letter) {
                            pattern.push('\\');
                        }
                        pattern.push(letter);
                    }
                }
            }
        }
        pattern
    }

    /// The words for word search, each perhaps truncated; a single `*` is ignored. Other wildcards are impossible in a
    /// word search and refused with the returned sentence.
    pub(crate) fn words(&self) -> Result<Vec<Word>, &'static str> {
        let mut words: Vec<Word> = Vec::new();
        let mut open = false;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => {
                    for letter in text.chars() {
                        if letter.is_whitespace() {
                            open = false;
                        } else {
                            if !open {
                                words.push(Word { text: String::new(), truncated: false });
                                open = true;
                            }
                            if let Some(word) = words.last_mut() {
                                word.text.push(letter);
                            }
                        }
                    }
                }
                Part::AnyText => {
                    let ends = match parts.peek() {
                        None => true,
                        Some(Part::Text(text)) => text.starts_with(char::is_whitespace),
                        Some(_) => false,
                    };
                    if !ends {
                        return Err("in a word search, * can only stand at the end of a word");
                    }
                    if let (true, Some(word)) = (open, words.last_mut()) {
                        word.truncated = true;
                    }
                    open = false;
                }
                Part::AnyLetter => return Err("? cannot be used in a word search; use == or write \\?"),
            }
        }
        Ok(words)
    }
}

/// Characters with a meaning in `LIKE`, and letters that unaccenting turns into such characters.
fn escaped_in_like(letter: char) -> bool {
    matches!(letter, '%' | '_' | '\\' | '％' | '＿' | '＼' | '﹪' | '﹨' | '∖')
}

/// Text of an index name or modifier: without escapes, and with wildcards as plain characters.
pub(crate) fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        text.push(if letter == '\\' { letters.next().unwrap_or('\\') } else { letter });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_escapes_wildcards() {
        assert_eq!(Term::parse(r"a\*b").plain(), Some("a*b"));
        assert_eq!(Term::parse(r"\\").plain(), Some("\\"));
        assert_eq!(Term::parse("\\").plain(), Some("\\"));
        assert_eq!(Term::parse("a*").truncated(), Some("a"));
        assert!(Term::parse("**").is_anything());
    }

    #[test]
    fn patterns_keep_letters_that_look_like_masks_of_sql() {
        assert_eq!(Term::parse(r"50%_a*b?").like_pattern(), r"50\%\_a%b_");
        assert_eq!(Term::parse(r"a\?\\").like_pattern(), r"a?\\");
    }

    #[test]
    fn numbers_are_written_together() {
        for (raw, batcher) in [
            ("978-92 8011-565--9", "9789280115659"),
            ("0-8044-2957-X", "080442957X"),
            ("0-8044-2957-X (pbk. 1-2)", "080442957X (pbk. 12)"),
            ("978-xylophone", "978-xylophone"),
            ("978-92-*", "97892*"),
            ("abc - 1", "abc - 1"),
            ("*", "*"),
        ] {
            assert_eq!(Term::parse(raw).without_hyphens(), Term::parse(batcher), "{raw}");
        }
    }

    fn words(raw: &str) -> Result<Vec<String>, &'static str> {
        let words = Term::parse(raw).words()?;
        Ok(words.into_iter().map(|w| if w.truncated { format!("{}*", w.text) } else { w.text }).collect())
    }

    #[test]
    fn words_may_be_truncated_on_the_right_only() {
        assert_eq!(words("Le* Lo*"), Ok(vec!["Le*".into(), "Lo*".into()]));
        assert_eq!(words("Lea *"), Ok(vec!["Lea".into()]));
        assert_eq!(words(" * * "), Ok(vec![]));
        assert!(words("*ea").is_err() && words("L*a").is_err() && words("L?a").is_err());
    }
}
