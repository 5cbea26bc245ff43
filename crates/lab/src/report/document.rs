//! A report as sections of paragraphs, lists, tables and plots, written as Markdown or as one self-contained page.

use super::plot::Plot;
use std::fmt::Write;

/// A report.
#[derive(Debug, Default)]
pub struct Document {
    /// The heading.
    pub title: String,
    /// A line below it.
    pub subtitle: String,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

/// A part with a heading.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// Its content.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Sentences that stand alone.
    List(Vec<String>),
    /// A table.
    Table(Table),
    /// A plot; omitted in Markdown, since a table has the same data.
    Plot(Plot),
    /// A picture as SVG; omitted in Markdown.
    Picture(String),
    /// Text as it is, in a fixed-width font.
    Code(String),
}

/// A table whose first columns are text and whose others are numbers.
#[derive(Debug, Default)]
pub struct Table {
    /// What it shows, with units.
    pub caption: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// How many columns from the left are text.
    pub text_columns: usize,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(caption: &str, text_columns: usize, head: &[&str]) -> Table {
        let head = head.iter().map(|name| name.to_string()).collect();
        Table { caption: caption.into(), head, text_columns, rows: Vec::new() }
    }

    /// The table as a block, or the given sentence if it has no rows.
    pub fn or(self, none: &str) -> Block {
        if self.rows.is_empty() { Block::Text(none.into()) } else { Block::Table(self) }
    }
}

impl Document {
    /// Adds a section.
    pub fn section(&mut self, heading: &str, blocks: Vec<Block>) {
        self.sections.push(Section { heading: heading.into(), blocks });
    }

    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n{}\n", self.title, self.subtitle);
        for section in &self.sections {
            let _ = write!(text, "\n## {}\n", section.heading);
            for block in &section.blocks {
                match block {
                    Block::Text(sentence) => {
                        let _ = write!(text, "\n{sentence}\n");
                    }
                    Block::List(sentences) => {
                        text.push('\n');
                        sentences.iter().for_each(|sentence| {
                            let _ = writeln!(text, "- {sentence}");
                        });
                    }
                    Block::Table(table) => markdown_table(&mut text, table),
                    Block::Code(code) => {
                        let _ = write!(text, "\n```\n{}\n```\n", code.trim_end());
                    }
                    Block::Plot(_) | Block::Picture(_) => {}
                }
            }
        }
        text
    }

    /// The report as one self-contained page, readable when printed.
    pub fn html(&self) -> String {
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{0}</title><style>{STYLE}</style></head>\
             <body><main><h1>{0}</h1><p>{1}</p>\n",
            escaped(&self.title),
            escaped(&self.subtitle)
        );
        for section in &self.sections {
            let _ = writeln!(page, "<section><h2>{}</h2>", escaped(&section.heading));
            for block in &section.blocks {
                match block {
                    Block::Text(sentence) => {
                        let _ = writeln!(page, "<p>{}</p>", inline(sentence));
                    }
                    Block::List(sentences) => {
                        page.push_str("<ul>");
                        sentences.iter().for_each(|sentence| {
                            let _ = write!(page, "<li>{}</li>", inline(sentence));
                        });
                        page.push_str("</ul>\n");
                    }
                    Block::Table(table) => html_table(&mut page, table),
                    Block::Plot(plot) => {
                        let _ = writeln!(page, "<figure>{}</figure>", plot.svg());
                    }
                    Block::Picture(svg) => {
                        // As an image, so that its styles and scripts do not affect the page.
                        let svg = svg
                            .replace('%', "%25")
                            .replace('&', "%26")
                            .replace('#', "%23")
                            .replace('"', "%22");
                        let svg = svg.replace('<', "%3C").replace('>', "%3E").replace('\n', " ");
                        let _ = writeln!(
                            page,
                            "<figure><img alt=\"flame graph\" src=\"data:image/svg+xml,{svg}\"></figure>"
                        );
                    }
                    Block::Code(code) => {
                        let _ = writeln!(page, "<pre>{}</pre>", escaped(code));
                    }
                }
            }
            page.push_str("</section>\n");
        }
        page.push_str("</main></body></html>\n");
        page
    }
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;color:#1d2327;margin:0}main{max-width:72rem;margin:auto;\
padding:1rem 2rem}h1{font-size:1.6rem}h2{font-size:1.2rem;border-bottom:1px solid #c3c4c7;margin-top:2rem}\
table{border-collapse:collapse;margin:1rem 0;font-size:.85rem}caption{text-align:left;font-weight:600;padding:.3rem 0}\
th,td{padding:.2rem .6rem;border-bottom:1px solid #dcdcde;text-align:right;vertical-align:top;font-variant-numeric:\
tabular-nums}th.t,td.t{text-align:left;overflow-wrap:anywhere;min-width:6rem}thead th{border-bottom:2px solid #8c8f94}\
figure{margin:1rem 0;display:inline-block}pre{background:#f6f7f7;padding:.6rem;overflow:auto;white-space:pre-wrap}\
img{max-width:100%}code{background:#f0f0f1;padding:0 .2em}@media print{main{max-width:none;padding:0}section{break-inside:avoid-page}}";

fn markdown_table(text: &mut String, table: &Table) {
    let _ = write!(text, "\n{}:\n\n|", table.caption);
    table.head.iter().for_each(|name| {
        let _ = write!(text, " {name} |");
    });
    text.push_str("\n|");
    for column in 0..table.head.len() {
        text.push_str(if column < table.text_columns { "---|" } else { "---:|" });
    }
    text.push('\n');
    for row in &table.rows {
        text.push('|');
        row.iter().for_each(|cell| {
            let _ = write!(text, " {} |", cell.replace('|', "\\|"));
        });
        text.push('\n');
    }
}

fn html_table(page: &mut String, table: &Table) {
    let class = |column: usize| if column < table.text_columns { " class=\"t\"" } else { "" };
    let _ = write!(page, "<table><caption>{}</caption><thead><tr>", escaped(&table.caption));
    for (column, name) in table.head.iter().enumerate() {
        let _ = write!(page, "<th{}>{}</th>", class(column), escaped(name));
    }
    page.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        page.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(page, "<td{}>{}</td>", class(column), inline(cell));
        }
        page.push_str("</tr>");
    }
    page.push_str("</tbody></table>\n");
}

/// Text with the parts between backquotes in a fixed-width font.
fn inline(text: &str) -> String {
    let mut parts = escaped(text).split('`').map(str::to_owned).collect::<Vec<_>>();
    if parts.len().is_multiple_of(2) {
        // A backquote without its pair is a character like others.
        let last = parts.pop().unwrap_or_default();
        if let Some(before) = parts.last_mut() {
            *before = format!("{before}`{last}");
        }
    }
    let marked = parts.into_iter().enumerate().map(|(index, part)| match index % 2 {
        0 => part,
        _ => format!("<code>{part}</code>"),
    });
    marked.collect()
}

/// Text escaped for HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A number with three significant digits, without an exponent.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "–".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let mut table = Table::new("Times, ms", 1, &["call", "p95"]);
        table.rows.push(vec!["a|b <c>".into(), "1.5".into()]);
        let mut document = Document { title: "T & T".into(), ..Document::default() };
        document.section("One", vec![Block::Text("say `x<y`".into()), Block::Table(table)]);
        document
    }

    #[test]
    fn markdown_has_the_table_with_its_alignment() {
        let text = document().markdown();
        assert!(text.contains("| call | p95 |\n|---|---:|\n| a\\|b <c> | 1.5 |"), "{text}");
    }

    #[test]
    fn the_page_escapes_server_texts_and_needs_no_other_file() {
        let page = document().html();
        assert!(page.contains("<title>T &amp; T</title>") && page.contains("a|b &lt;c&gt;"));
        assert!(page.contains("<code>x&lt;y</code>"));
        assert!(!page.contains("http://") && !page.contains("<script"));
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [1234.5, 12.34, 1.234, 0.0123, 0.0].map(number),
            ["1234", "12.3", "1.23", "0.012", "0.00"]
        );
    }
}
