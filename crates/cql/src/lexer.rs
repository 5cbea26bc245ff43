//! Splits CQL text into tokens, like the parsers of the Z39.50 community: `( ) / < > =` and blanks end a word, and a
//! quotation mark counts only at the beginning of a word.

use crate::BadQuery;
use crate::tree::Verb;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    Open,
    Close,
    Slash,
    /// A relation of operator characters.
    Sign(Verb),
    Word(&'t str),
    /// The text between quotation marks, with its escapes.
    Quoted(&'t str),
    End,
}

pub(crate) struct Lexer<'t> {
    text: &'t str,
    /// Byte offset at which the next token begins.
    next: usize,
    pub token: Token<'t>,
    /// Byte offset at which the current token begins.
    pub position: usize,
}

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
const WORD_ENDS: [char; 10] = ['(', ')', '/', '<', '>', '=', ' ', '\t', '\r', '\n'];

impl<'t> Lexer<'t> {
    /// A lexer at the first token.
    pub fn new(text: &'t str) -> Result<Self, BadQuery> {
        let mut lexer = Lexer { text, next: 0, token: Token::End, position: 0 };
        lexer.advance()?;
        Ok(lexer)
    }

    pub fn refuse<T>(&self, message: impl Into<String>) -> Result<T, BadQuery> {
        Err(BadQuery::at(message, self.text, self.position))
    }

    pub fn advance(&mut self) -> Result<(), BadQuery> {
        let rest = self.text[self.next..].trim_start_matches(BLANKS);
        self.position = self.text.len() - rest.len();
        let (token, length) = match rest.as_bytes() {
            [] => (Token::End, 0),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b'/', ..] => (Token::Slash, 1),
            [b'=', b'=', ..] => (Token::Sign(Verb::Equal), 2),
            [b'<', b'=', ..] => (Token::Sign(Verb::LessOrEqual), 2),
            [b'>', b'=', ..] => (Token::Sign(Verb::GreaterOrEqual), 2),
            [b'<', b'>', ..] => (Token::Sign(Verb::NotEqual), 2),
            [b'=', ..] => (Token::Sign(Verb::Words), 1),
            [b'<', ..] => (Token::Sign(Verb::Less), 1),
            [b'>', ..] => (Token::Sign(Verb::Greater), 1),
            [b'"', ..] => match closing_quote(rest) {
                Some(close) => (Token::Quoted(&rest[1..close]), close + 1),
                None => return self.refuse("a quotation mark is not closed"),
            },
            _ => {
                let end = rest.find(WORD_ENDS).unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
        };
        self.token = token;
        self.next = self.position + length;
        Ok(())
    }
}

fn closing_quote(rest: &str) -> Option<usize> {
    let mut escaped = false;
    rest.bytes().enumerate().skip(1).find_map(|(position, byte)| match byte {
        _ if escaped => {
            escaped = false;
            None
        }
        b'\\' => {
            escaped = true;
            None
        }
        b'"' => Some(position),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text).expect("a text that can be cut");
        let mut tokens = Vec::new();
        while lexer.token != Token::End {
            tokens.push(lexer.token);
            lexer.advance().expect("a text that can be cut");
        }
        tokens
    }

    #[test]
    fn signs_end_words_and_two_of_them_make_one() {
        assert_eq!(
            tokens("a<=b ==(c)/x"),
            [
                Token::Word("a"),
                Token::Sign(Verb::LessOrEqual),
                Token::Word("b"),
                Token::Sign(Verb::Equal),
                Token::Open,
                Token::Word("c"),
                Token::Close,
                Token::Slash,
                Token::Word("x"),
            ]
        );
    }

    #[test]
    fn quoted_text_keeps_its_escapes_and_a_quote_inside_a_word_is_a_letter() {
        assert_eq!(tokens(r#""a \" b" c"d"#), [Token::Quoted(r#"a \" b"#), Token::Word("c\"d")]);
    }

    #[test]
    fn an_open_quotation_is_refused_where_it_begins() {
        let refusal = Lexer::new(r#"  "abc\""#).err().expect("refused");
        assert_eq!(refusal.position, 2);
    }
}
