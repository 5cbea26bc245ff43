//! What a caller declares about a field so that queries can compare it.

/// The fields of an entity type.
pub trait Fields {
    /// The field with this name in a query, or the reason why there is none.
    fn find(&self, name: &str) -> Result<Field, String>;
}

/// A field and the SQL of its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub kind: Kind,
    pub source: Source,
    pub fold: Fold,
    /// The value of records that have none.
    pub default: Option<String>,
    /// The value may be absent.
    pub is_nullable: bool,
}

/// How values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Text,
    Uuid,
    Number,
    Boolean,
    /// A day, compared as text.
    Date,
    /// An instant; a value in a query stands for the 24 hours that begin with it.
    DateTime,
}

/// The SQL of a field's value. It must come from declarations.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// An expression of type text.
    Text(String),
    /// An expression of type uuid.
    Uuid(String),
    /// An expression of type jsonb that may be an array, and the keys to the values within its elements; an empty
    /// key stands for each element of an inner array. Without keys the elements themselves are the values.
    Elements { array: String, keys: Vec<String> },
}

/// Which differences between letters are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fold {
    Case,
    CaseAndAccents,
}

impl Fold {
    /// The function of the schema `carrel` that folds a text or an array of texts.
    pub fn function(self) -> &'static str {
        match self {
            Fold::Case => "carrel.f_lower",
            Fold::CaseAndAccents => "carrel.folded",
        }
    }
}

impl Source {
    /// The expression by which a text is compared and indexed: folded, cut, in the collation `C`.
    pub fn key(text: &str, fold: Fold) -> String {
        format!("left({}({text}), 600) COLLATE \"C\"", fold.function())
    }

    /// The values in an array, as an expression of type text[].
    pub fn elements(array: &str, keys: &[String]) -> String {
        match keys {
            [] => format!("carrel.elements({array}, '')"),
            [key] if !key.is_empty() => format!("carrel.elements({array}, {})", literal(key)),
            keys => {
                let mut path = String::from("lax $[*]");
                for key in keys {
                    match key.as_str() {
                        "" => path.push_str("[*]"),
                        key => path.push_str(&format!(".{}", serde_json::Value::from(key))),
                    }
                }
                format!("carrel.elements(jsonb_path_query_array({array}, {}), '')", literal(&path))
            }
        }
    }
}

/// A text constant of SQL; only for text from declarations.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
