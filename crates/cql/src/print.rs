//! From tree to text; parsing the text gives the same tree.

use crate::parser::Keyword;
use crate::term::{Part, Term};
use crate::tree::{Chain, Clause, Modifier, Node, Query, SortKey, Verb};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)?;
        if !self.sort.is_empty() {
            f.write_str(" sortBy")?;
        }
        self.sort.iter().try_for_each(|key| write!(f, " {key}"))
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Node::Clause(clause) => clause.fmt(f),
            Node::Chain(chain) => chain.fmt(f),
        }
    }
}

impl Display for Chain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        for link in &self.rest {
            write!(f, " {}", link.word.name())?;
            modifiers(f, &link.modifiers)?;
            match &link.node {
                Node::Clause(clause) => write!(f, " {clause}")?,
                Node::Chain(chain) => write!(f, " ({chain})")?,
            }
        }
        Ok(())
    }
}

impl Display for Clause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        symbol(f, &self.index)?;
        match self.relation.verb {
            verb @ (Verb::All | Verb::Any | Verb::Adjacent) => write!(f, " {}", verb.sign())?,
            verb => f.write_str(verb.sign())?,
        }
        modifiers(f, &self.relation.modifiers)?;
        // The blank separates the term from a word before it.
        if self.relation.verb.sign().len() > 2 || !self.relation.modifiers.is_empty() {
            f.write_char(' ')?;
        }
        self.term.fmt(f)
    }
}

impl Display for SortKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        symbol(f, &self.index)?;
        modifiers(f, &self.modifiers)
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bare = self.parts().iter().all(|part| match part {
            Part::Text(text) => is_bare(text),
            Part::AnyText | Part::AnyLetter => true,
        });
        let bare = bare && !self.is_empty() && self.plain().is_none_or(|word| Keyword::of(word).is_none());
        if !bare {
            f.write_char('"')?;
        }
        for part in self.parts() {
            match part {
                Part::AnyText => f.write_char('*')?,
                Part::AnyLetter => f.write_char('?')?,
                Part::Text(text) => escaped(f, text)?,
            }
        }
        if !bare {
            f.write_char('"')?;
        }
        Ok(())
    }
}

fn modifiers(f: &mut Formatter<'_>, modifiers: &[Modifier]) -> fmt::Result {
    for modifier in modifiers {
        write!(f, "/{}", modifier.name)?;
        if let Some((verb, value)) = &modifier.value {
            write!(f, "{}{value}", verb.sign())?;
        }
    }
    Ok(())
}

/// The name of an index.
fn symbol(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    if is_bare(text) && Keyword::of(text).is_none() {
        return f.write_str(text);
    }
    f.write_char('"')?;
    escaped(f, text)?;
    f.write_char('"')
}

/// Text that needs no quotation marks.
fn is_bare(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'@'))
}

fn escaped(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    for letter in text.chars() {
        if matches!(letter, '\\' | '"' | '*' | '?') {
            f.write_char('\\')?;
        }
        f.write_char(letter)?;
    }
    Ok(())
}
