//! The declaration of a record type: one constant value from which its table, routes, CQL fields, API document and
//! battery of tests are derived.

use crate::Refusal;

/// One kind of stored record, as FOLIO's storage modules define it.
#[derive(Debug)]
pub struct RecordType {
    /// FOLIO's name of the record, such as `item`.
    pub name: &'static str,
    /// The FOLIO module whose storage this is, such as `mod-inventory-storage`.
    pub module: &'static str,
    /// Table in the tenant's schema, FOLIO's own name.
    pub table: &'static str,
    /// Path of the collection, such as `/item-storage/items`.
    pub path: &'static str,
    /// Key of the array in a collection's answer, such as `items`.
    pub collection: &'static str,
    /// Shape of the document in the notation of [`crate::shape`]; `metadata` is added where declared.
    pub shape: &'static str,
    /// Properties that the shape does not have are refused.
    pub closed: bool,
    /// Fields that CQL can search and sort by, in addition to those that the shape implies.
    pub fields: &'static [Field],
    /// Boolean columns of the table beside the document, which the module's statements set.
    pub flags: &'static [&'static str],
    /// Sets of fields whose values must be unique together.
    pub unique: &'static [Unique],
    /// References to other records of the tenant; `to` makes foreign keys of them.
    pub belongs_to: &'static [ForeignKey],
    /// Records reached through a chain of references, for CQL.
    pub reaches: &'static [Reach],
    /// The server maintains `metadata.createdDate` and the other properties of `metadata`.
    pub metadata: bool,
    /// A replacement must contain the current `_version`, otherwise it is refused with 409.
    pub optimistic_locking: bool,
    /// FOLIO's text, built from the record's `name`, for a value that another record has.
    pub taken: Option<fn(&str) -> Refusal>,
    /// Topic of the events, without tenant, such as `inventory.item`; `None` publishes nothing.
    pub events: Option<&'static str>,
    /// How reading composes the record from more than the table's `doc`, if it does.
    pub composed: Option<Composed>,
    /// A collection's answer contains `resultInfo` besides `totalRecords`.
    pub result_info: bool,
    /// What a PUT to an unknown id does.
    pub put: Put,
    /// Which routes are derived from the declaration.
    pub routes: Routes,
}

/// The default values of a declaration: `..PLAIN`.
pub const PLAIN: RecordType = RecordType {
    name: "",
    module: "",
    table: "",
    path: "",
    collection: "",
    shape: "",
    closed: true,
    fields: &[],
    flags: &[],
    unique: &[],
    belongs_to: &[],
    reaches: &[],
    metadata: true,
    optimistic_locking: false,
    taken: None,
    events: None,
    composed: None,
    result_info: false,
    put: Put::ReplacesOnly,
    routes: Routes::Collection,
};

/// What a PUT to an id that is not stored does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// Answers 404.
    ReplacesOnly,
    /// Creates the record, as mod-circulation-storage does for some types.
    CreatesToo,
}

/// Which routes are derived from a declaration; of these only those that FOLIO has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routes {
    /// GET, POST and DELETE of the collection; GET, PUT and DELETE of one record.
    Collection,
    /// One record for the tenant: GET and PUT of the path itself.
    Single,
    /// None: a use case has the routes, and only table and fields are derived.
    ByHand,
}

/// How a record's document is composed from several tables on reading.
#[derive(Debug)]
pub struct Composed {
    /// `FROM` text whose first table is the record's table, under its plain name.
    pub from: &'static str,
    /// SQL expression of the whole document as jsonb.
    pub document: &'static str,
    /// Top-level properties that differ from those of the table's `doc`; if empty, all may differ. A query on another
    /// property reads `doc` alone, since composing costs thirty times as much.
    pub adds: &'static [&'static str],
}

/// A field of CQL.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Name in CQL: usually the path in the document, dots between levels.
    pub name: &'static str,
    pub source: Source,
    pub kind: Kind,
    /// Comparisons respect the case of letters.
    pub keeps_case: bool,
    /// Comparisons respect accents.
    pub keeps_accents: bool,
    /// Hyphens are removed from values and from search terms, as in `isbn`.
    pub ignores_hyphens: bool,
    /// The indexes of the field.
    pub index: Index,
    /// Another field, by name, whose value follows in the index: one index finds by the first and sorts by the second.
    pub index_continues_with: Option<&'static str>,
    /// Values that are frequent and change often are not indexed.
    pub rare_values: Option<RareValues>,
    /// The value is a copy of another record's field, which has an index.
    pub copy_of: Option<CopyOf>,
    /// Another field, by name, of which this one is a part: the words of this field are found by its index.
    pub words_within: Option<&'static str>,
    /// The index leaves out records without the field, and so costs nothing to write them.
    pub index_skips_absent: bool,
}

/// A field that repeats one of a record referred to. Records whose `flag` is set are found by the index of the original,
/// so the copy's own index holds only the others.
#[derive(Debug, Clone, Copy)]
pub struct CopyOf {
    /// The reference to the other record, such as `itemId`.
    pub reference: &'static str,
    /// The other record's field, such as `barcode`.
    pub field: &'static str,
    /// The flag, of [`RecordType::flags`], that says that the copy is kept like the original.
    pub flag: &'static str,
}

/// An index of a field's rare values only, over a separate column: a row that changes from one frequent value to
/// another changes no indexed column, so PostgreSQL can update it in place (HOT).
#[derive(Debug, Clone, Copy)]
pub struct RareValues {
    /// SQL expression of the value, null for a frequent one. The table's SQL file creates column and index.
    pub sql: &'static str,
    /// The frequent values, folded as the field is.
    pub frequent: &'static [&'static str],
}

/// The source of a field's value.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// The document, at the path that is the field's name.
    Document,
    /// The document, at another path.
    Path(&'static str),
    /// Several paths of the document, joined with blanks, absent ones skipped.
    Paths(&'static [&'static str]),
    /// An SQL expression over the record's `FROM` text; of type text, boolean, timestamptz or uuid as the kind says.
    Sql(&'static str),
}

/// How a field's values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text; `=` finds words, `==` the whole value with wildcards.
    Text,
    /// A UUID in a generated column (or the key).
    Uuid,
    /// A number; also compares by size.
    Number,
    Boolean,
    /// A point in time in ISO 8601, compared as text if stored in UTC, otherwise as an instant.
    Date,
    /// An array of texts, or of objects whose `subfield` is compared; `modifiers` are the names allowed after `@`.
    Array {
        subfield: &'static str,
        modifiers: &'static [&'static str],
    },
}

/// The indexes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// None: a query scans the table and is reported.
    None,
    /// B-tree over the expression, for `==`, comparisons, right truncation and sorting.
    Value,
    /// Inverted index over the words, for `=`, `all`, `any`, `adj`.
    Words,
    /// Both.
    ValueAndWords,
}

const fn field(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        source: Source::Document,
        kind,
        keeps_case: false,
        keeps_accents: false,
        ignores_hyphens: false,
        index: Index::None,
        index_continues_with: None,
        rare_values: None,
        copy_of: None,
        words_within: None,
        index_skips_absent: false,
    }
}

/// A text field.
pub const fn text(name: &'static str) -> Field {
    field(name, Kind::Text)
}
/// A UUID field with a generated column of the table.
pub const fn uuid(name: &'static str) -> Field {
    field(name, Kind::Uuid)
}
/// A numeric field.
pub const fn number(name: &'static str) -> Field {
    field(name, Kind::Number)
}
/// A true-or-false field.
pub const fn boolean(name: &'static str) -> Field {
    field(name, Kind::Boolean)
}
/// A point in time.
pub const fn date(name: &'static str) -> Field {
    field(name, Kind::Date)
}
/// An array of plain values.
pub const fn array(name: &'static str) -> Field {
    field(name, Kind::Array { subfield: "", modifiers: &[] })
}
/// An array of objects; the subfield is compared, the modifiers narrow the elements.
pub const fn objects(
    name: &'static str,
    subfield: &'static str,
    modifiers: &'static [&'static str],
) -> Field {
    field(name, Kind::Array { subfield, modifiers })
}
/// Several paths searched as one text.
pub const fn joined(name: &'static str, paths: &'static [&'static str]) -> Field {
    Field { source: Source::Paths(paths), ..field(name, Kind::Text) }
}

impl Field {
    pub const fn indexed(mut self) -> Self {
        self.index = match self.index {
            Index::None | Index::Value => Index::Value,
            Index::Words | Index::ValueAndWords => Index::ValueAndWords,
        };
        self
    }
    pub const fn words(mut self) -> Self {
        self.index = match self.index {
            Index::None | Index::Words => Index::Words,
            Index::Value | Index::ValueAndWords => Index::ValueAndWords,
        };
        self
    }
    /// Words are found by the index over the words of another field of the record, which contains this one.
    pub const fn words_within(mut self, field: &'static str) -> Self {
        self.words_within = Some(field);
        self.words()
    }
    /// The index continues with another field of the record.
    pub const fn then(mut self, field: &'static str) -> Self {
        self.index_continues_with = Some(field);
        self
    }
    /// Indexes only rare values, by the expression `sql`; `frequent` values are folded like the field.
    pub const fn rare_values(mut self, sql: &'static str, frequent: &'static [&'static str]) -> Self {
        self.rare_values = Some(RareValues { sql, frequent });
        self
    }
    /// The value repeats a field of the record that `reference` refers to, where the record's `flag` is set.
    pub const fn copy_of(mut self, reference: &'static str, field: &'static str, flag: &'static str) -> Self {
        self.copy_of = Some(CopyOf { reference, field, flag });
        self
    }
    /// The index holds only records that have the field; it does not sort.
    pub const fn skip_absent(mut self) -> Self {
        self.index_skips_absent = true;
        self
    }
    pub const fn keep_case(mut self) -> Self {
        self.keeps_case = true;
        self
    }
    pub const fn keep_accents(mut self) -> Self {
        self.keeps_accents = true;
        self
    }
    pub const fn ignore_hyphens(mut self) -> Self {
        self.ignores_hyphens = true;
        self
    }
    pub const fn at(mut self, path: &'static str) -> Self {
        self.source = Source::Path(path);
        self
    }
    pub const fn sql(mut self, expression: &'static str) -> Self {
        self.source = Source::Sql(expression);
        self
    }
}

/// Values that may occur only once in a table.
#[derive(Debug, Clone, Copy)]
pub struct Unique {
    /// Paths in the document.
    pub fields: &'static [&'static str],
    pub keeps_case: bool,
    pub keeps_accents: bool,
    /// An absent value counts as a value: two records without it collide.
    pub absent_counts: bool,
    /// SQL condition over `doc`; only records that meet it are compared.
    pub when: Option<&'static str>,
    /// A tenant whose profile allows repeated values takes the same value again.
    pub is_relaxable: bool,
}

/// One field, compared without case and accents.
pub const fn unique(fields: &'static [&'static str]) -> Unique {
    Unique {
        fields,
        keeps_case: false,
        keeps_accents: false,
        absent_counts: false,
        when: None,
        is_relaxable: false,
    }
}
impl Unique {
    pub const fn absent_too(mut self) -> Self {
        self.absent_counts = true;
        self
    }
    pub const fn when(mut self, condition: &'static str) -> Self {
        self.when = Some(condition);
        self
    }
    pub const fn exact(mut self) -> Self {
        self.keeps_case = true;
        self.keeps_accents = true;
        self
    }
    pub const fn keep_accents(mut self) -> Self {
        self.keeps_accents = true;
        self
    }
    pub const fn relaxable(mut self) -> Self {
        self.is_relaxable = true;
        self
    }
}

/// A reference to another record of the tenant.
#[derive(Debug, Clone, Copy)]
pub struct ForeignKey {
    /// Path in the document, such as `holdingsRecordId`.
    pub field: &'static str,
    /// Table referred to.
    pub to: &'static str,
    /// Name by which CQL of this type refers to the other record's fields (`instance.title`).
    pub alias: Option<&'static str>,
    /// Name by which CQL of the other type refers to this type's fields (`item.barcode`).
    pub reverse: Option<&'static str>,
    /// The column stands, but the other record need not exist.
    pub loose: bool,
    pub index: ReferenceIndex,
}

/// The index of a reference's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceIndex {
    /// Made from the declaration.
    Declared,
    /// The same, without the records that lack the reference.
    SkipsAbsent,
    /// The module's SQL creates an index that begins with the column.
    Module,
    /// None: the records are written at every scan and hardly ever looked for by the reference.
    Missing,
}

/// A reference that the database enforces.
pub const fn to(field: &'static str, table: &'static str) -> ForeignKey {
    ForeignKey { field, to: table, alias: None, reverse: None, loose: false, index: ReferenceIndex::Declared }
}
/// A reference kept as a column only: FOLIO keeps the two records in different modules.
pub const fn mentions(field: &'static str, table: &'static str) -> ForeignKey {
    ForeignKey { loose: true, ..to(field, table) }
}
impl ForeignKey {
    pub const fn alias(mut self, name: &'static str) -> Self {
        self.alias = Some(name);
        self
    }
    pub const fn reverse(mut self, name: &'static str) -> Self {
        self.reverse = Some(name);
        self
    }
    pub const fn indexed_by_module(mut self) -> Self {
        self.index = ReferenceIndex::Module;
        self
    }
    pub const fn unindexed(mut self) -> Self {
        self.index = ReferenceIndex::Missing;
        self
    }
    pub const fn skip_absent(mut self) -> Self {
        self.index = ReferenceIndex::SkipsAbsent;
        self
    }
}

/// A record that CQL reaches through several references: an item's instance through its holdings record.
#[derive(Debug, Clone, Copy)]
pub struct Reach {
    /// Paths to follow; the first in this type's document, the next in the document of the referenced record, and so
    /// on.
    pub path: &'static [&'static str],
    /// Table of the last reference.
    pub to: &'static str,
    /// Name by which CQL of this type refers to the other record's fields.
    pub alias: Option<&'static str>,
    /// Name by which CQL of the other type refers to this type's fields.
    pub reverse: Option<&'static str>,
}

/// A record reached through several references.
pub const fn through(path: &'static [&'static str], table: &'static str) -> Reach {
    Reach { path, to: table, alias: None, reverse: None }
}
impl Reach {
    pub const fn alias(mut self, name: &'static str) -> Self {
        self.alias = Some(name);
        self
    }
    pub const fn reverse(mut self, name: &'static str) -> Self {
        self.reverse = Some(name);
        self
    }
}

/// Column of the reference at `path`: `dates.dateTypeId` is `dates_date_type_id`.
pub fn column_name(path: &str) -> String {
    let mut name = String::with_capacity(path.len() + 4);
    for letter in path.chars() {
        match letter {
            '.' => name.push('_'),
            c if c.is_ascii_uppercase() => {
                name.push('_');
                name.push(c.to_ascii_lowercase());
            }
            c => name.push(c),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_kept_in_a_column_named_like_its_path() {
        assert_eq!(column_name("holdingsRecordId"), "holdings_record_id");
        assert_eq!(column_name("dates.dateTypeId"), "dates_date_type_id");
    }
}
