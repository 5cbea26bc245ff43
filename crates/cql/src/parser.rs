//! From text to tree.
//!
//! An index and relation before a bracket apply to the bare terms inside: `id==(a or b)`. Boolean operators have equal
//! rank and are read from left to right. Proximity, prefixes and the relations `within` and `encloses` are refused with
//! their names, as FOLIO's storage does.

use crate::BadQuery;
use crate::lexer::{Lexer, Token};
use crate::term::{Term, unescaped};
use crate::tree::{BooleanWord, Chain, Clause, Link, Modifier, Node, Offset, Query, Relation, SortKey, Verb};
use std::sync::Arc;

/// Bytes of a query, at most.
const MAX_BYTES: usize = 512 * 1024;
/// Levels of nested brackets, at most.
const MAX_DEPTH: usize = 150;
/// Clauses in one query, at most.
const MAX_CLAUSES: usize = 10_000;
/// Bytes of an index name, at most.
const MAX_INDEX_NAME_BYTES: usize = 500;
/// Modifiers of one relation, and sort keys, at most.
const MAX_MODIFIERS: usize = 20;

impl Query {
    /// Reads CQL.
    pub fn parse(text: &str) -> Result<Query, BadQuery> {
        if text.len() > MAX_BYTES {
            return Err(BadQuery::at(
                format!("the query is longer than {MAX_BYTES} bytes"),
                text,
                (MAX_BYTES..).find(|position| text.is_char_boundary(*position)).unwrap_or(0),
            ));
        }
        if let Some(position) = text.find('\0') {
            return Err(BadQuery::at("a NUL character cannot be searched for", text, position));
        }
        let mut parser = Parser { lexer: Lexer::new(text)?, clauses: 0 };
        if parser.lexer.token == Token::Sign(Verb::Greater) {
            return parser.lexer.refuse("prefix assignment (> name = …) is not supported");
        }
        let scope = Scope {
            index: SERVER_CHOICE.into(),
            relation: Arc::new(Relation { verb: Verb::Words, modifiers: Vec::new() }),
        };
        let node = parser.chain(&scope, 0)?;
        let sort = parser.sort_keys()?;
        match parser.lexer.token {
            Token::End => Ok(Query { node, sort }),
            Token::Close => parser.lexer.refuse("a closing bracket has no opening one"),
            _ => parser.lexer.refuse("the query should end"),
        }
    }
}

/// The index of a term without an index.
pub(crate) const SERVER_CHOICE: &str = "cql.serverChoice";

/// Index and relation of bare terms.
#[derive(Clone)]
struct Scope {
    index: Arc<str>,
    relation: Arc<Relation>,
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    clauses: usize,
}

impl<'t> Parser<'t> {
    fn chain(&mut self, scope: &Scope, depth: usize) -> Result<Node, BadQuery> {
        let first = self.operand(scope, depth)?;
        let mut rest = Vec::new();
        loop {
            let word = match self.lexer.token {
                Token::End | Token::Close => break,
                Token::Word(word) => match Keyword::of(word) {
                    Some(Keyword::SortBy) => break,
                    Some(Keyword::Prox) => return self.lexer.refuse("prox is not supported"),
                    Some(Keyword::Boolean(word)) => word,
                    None => return self.lexer.refuse("and, or, or not is expected"),
                },
                _ => return self.lexer.refuse("and, or, or not is expected"),
            };
            self.lexer.advance()?;
            let modifiers = self.modifiers()?;
            let node = self.operand(scope, depth)?;
            rest.push(Link { word, modifiers, node });
        }
        Ok(chained(first, rest))
    }

    fn operand(&mut self, scope: &Scope, depth: usize) -> Result<Node, BadQuery> {
        let mut scope = scope.clone();
        loop {
            match self.lexer.token {
                Token::Open => {
                    if depth == MAX_DEPTH {
                        return self
                            .lexer
                            .refuse(format!("more than {MAX_DEPTH} brackets inside each other"));
                    }
                    self.lexer.advance()?;
                    let node = self.chain(&scope, depth + 1)?;
                    if self.lexer.token != Token::Close {
                        return self.lexer.refuse("a closing bracket is expected");
                    }
                    self.lexer.advance()?;
                    return Ok(node);
                }
                Token::Sign(Verb::Greater) => {
                    return self.lexer.refuse("prefix assignment (> name = …) is not supported");
                }
                _ => {}
            }
            let position = self.lexer.position;
            let (symbol, more) = self.symbols()?;
            let Some(verb) = self.verb()? else {
                self.clauses += 1;
                if self.clauses > MAX_CLAUSES {
                    return self.lexer.refuse(format!("the query has more than {MAX_CLAUSES} clauses"));
                }
                let raw = more.as_deref().unwrap_or(symbol);
                let term = Term::parse(raw);
                return Ok(Node::Clause(Clause {
                    index: scope.index,
                    relation: scope.relation,
                    term,
                    position: Offset(position),
                }));
            };
            if more.is_some() {
                return self.lexer.refuse("one index, not several words, must stand before a relation");
            }
            if symbol.len() > MAX_INDEX_NAME_BYTES {
                return self.lexer.refuse("the name of the index is too long");
            }
            self.lexer.advance()?;
            let modifiers = self.modifiers()?;
            scope =
                Scope { index: unescaped(symbol).into(), relation: Arc::new(Relation { verb, modifiers }) };
        }
    }

    /// An index, or the words of a term: the first, and all of them if there are several.
    fn symbols(&mut self) -> Result<(&'t str, Option<String>), BadQuery> {
        let first = self.symbol("an index or a term")?;
        let mut all: Option<String> = None;
        loop {
            let next = match self.lexer.token {
                Token::Quoted(text) => text,
                Token::Word(word) if Keyword::of(word).is_some() => break,
                // A relation can follow one word; after several words it is part of the term.
                Token::Word(_) if all.is_none() && self.verb()?.is_some() => break,
                Token::Word(word) => word,
                _ => break,
            };
            let all = all.get_or_insert_with(|| first.to_owned());
            all.push(' ');
            all.push_str(next);
            self.lexer.advance()?;
        }
        Ok((first, all))
    }

    /// A word or quoted text; a keyword counts as a word here.
    fn symbol(&mut self, expected: &str) -> Result<&'t str, BadQuery> {
        match self.lexer.token {
            Token::Word(text) | Token::Quoted(text) => {
                self.lexer.advance()?;
                Ok(text)
            }
            Token::Open | Token::Close | Token::Slash | Token::Sign(_) | Token::End => {
                self.lexer.refuse(format!("{expected} is expected"))
            }
        }
    }

    /// The relation that the current token is, if it is one.
    fn verb(&self) -> Result<Option<Verb>, BadQuery> {
        let word = match self.lexer.token {
            Token::Sign(verb) => return Ok(Some(verb)),
            Token::Word(word) => word.to_ascii_lowercase(),
            _ => return Ok(None),
        };
        Ok(Some(match word.strip_prefix("cql.").unwrap_or(&word) {
            "all" => Verb::All,
            "any" => Verb::Any,
            "adj" => Verb::Adjacent,
            "exact" => Verb::Equal,
            "within" | "encloses" => {
                return self.lexer.refuse(format!("the relation {word} is not supported"));
            }
            other if other.contains('.') || word.starts_with("cql.") => {
                return self.lexer.refuse(format!("{word} is not a relation; put words of a term in quotes"));
            }
            _ => return Ok(None),
        }))
    }

    fn modifiers(&mut self) -> Result<Vec<Modifier>, BadQuery> {
        let mut modifiers = Vec::new();
        while self.lexer.token == Token::Slash {
            self.lexer.advance()?;
            let name = match self.lexer.token {
                Token::Word(word) if Keyword::of(word).is_none() => word.to_lowercase(),
                _ => return self.lexer.refuse("the name of a modifier is expected"),
            };
            self.lexer.advance()?;
            let mut value = None;
            if let Token::Sign(verb) = self.lexer.token {
                self.lexer.advance()?;
                value = Some((verb, Term::parse(self.symbol("the value of a modifier")?)));
            }
            if modifiers.len() == MAX_MODIFIERS {
                return self.lexer.refuse("too many modifiers");
            }
            modifiers.push(Modifier { name, value });
        }
        Ok(modifiers)
    }

    fn sort_keys(&mut self) -> Result<Vec<SortKey>, BadQuery> {
        let mut keys = Vec::new();
        let Token::Word(word) = self.lexer.token else { return Ok(keys) };
        if Keyword::of(word) != Some(Keyword::SortBy) {
            return Ok(keys);
        }
        self.lexer.advance()?;
        loop {
            let position = Offset(self.lexer.position);
            let index = unescaped(self.symbol("the index to sort by")?);
            let modifiers = self.modifiers()?;
            keys.push(SortKey { index, modifiers, position });
            if self.lexer.token == Token::End {
                return Ok(keys);
            }
            if keys.len() == MAX_MODIFIERS {
                return self.lexer.refuse("too many indexes to sort by");
            }
        }
    }
}

/// `(a or b) and c` means the same as `a or b and c`: both get the same tree.
fn chained(first: Node, mut rest: Vec<Link>) -> Node {
    if rest.is_empty() {
        return first;
    }
    match first {
        Node::Chain(mut chain) => {
            chain.rest.append(&mut rest);
            Node::Chain(chain)
        }
        first => Node::Chain(Chain { first: Box::new(first), rest }),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keyword {
    Boolean(BooleanWord),
    Prox,
    SortBy,
}

impl Keyword {
    pub(crate) fn of(word: &str) -> Option<Keyword> {
        if word.len() > 6 {
            return None;
        }
        match word.to_ascii_lowercase().as_str() {
            "and" => Some(Keyword::Boolean(BooleanWord::And)),
            "or" => Some(Keyword::Boolean(BooleanWord::Or)),
            "not" => Some(Keyword::Boolean(BooleanWord::Not)),
            "prox" => Some(Keyword::Prox),
            "sortby" => Some(Keyword::SortBy),
            _ => None,
        }
    }
}
